"""How good a model is for active and for new queries, for popular and for rare targets."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fmfkit.data.dataset import Dataset
from fmfkit.recommend.evaluation import AnyMetric, Judged, measurable
from fmfkit.recommend.resampling import LEVEL, RESAMPLES, Estimate, estimates, judged_by
from fmfkit.typing import SideName

if TYPE_CHECKING:
    from fmfkit.recommend.recommender import Recommender

GROUPS = 4
"""Into so many the pairs are divided, those of cold instances apart."""


@attrs.frozen(eq=False)
class Some(Judged):
    """Some pairs of what was judged: nothing is scored or ranked again."""

    of: Judged
    pairs: NDArray[np.int64]

    @functools.cached_property
    def score(self) -> NDArray[Any]:
        """The scores of the pairs."""
        return self.of.score[self.pairs]

    def _rank(self, k: int) -> NDArray[np.int32]:
        return self.of.ranked(k)[np.searchsorted(self.of.rows, self.rows)]


@attrs.frozen
class Stratum:
    """Held-out pairs whose query, or target, occurs about equally often in training."""

    side: SideName
    """By whose training pairs the pairs were chosen."""
    least: int
    """The least number of training pairs."""
    most: int
    pairs: NDArray[np.int64] = attrs.field(eq=False, repr=False)
    """The places of the held-out pairs."""
    metrics: dict[str, Estimate] = attrs.field(factory=dict)

    def __len__(self) -> int:
        """Return the number of held-out pairs."""
        return len(self.pairs)

    @property
    def label(self) -> str:
        """What people read."""
        if self.most == 0:
            return "none (cold)"
        return f"{self.least:,}" if self.least == self.most else f"{self.least:,} to {self.most:,}"

    def __str__(self) -> str:
        """Return it in a line."""
        told = ", ".join(f"{name} {value}" for name, value in self.metrics.items())
        return f"{self.side} with {self.label} training pairs: {len(self)} pairs, {told}"


def strata(on: Judged) -> list[Stratum]:
    """Divide held-out pairs by how often their query, and by how often their target, occurs in training."""
    assert on.seen is not None
    often = np.diff(on.seen.indptr)[on.data.query], np.bincount(on.seen.indices, minlength=on.data.shape[1])
    return [*_divided("query", often[0]), *_divided("target", often[1][on.data.target])]


def _divided(side: SideName, often: NDArray[np.int64]) -> list[Stratum]:
    """Divide pairs into those of cold instances, and groups of about one size; the rarest first."""
    known = np.sort(often[often > 0])
    ends = np.unique(known[[(n * len(known)) // GROUPS - 1 for n in range(1, GROUPS + 1)]]) if len(known) else known
    group = np.searchsorted(ends, often) + (often > 0)
    found = []
    for n in np.unique(group):
        pairs = np.flatnonzero(group == n)
        found.append(Stratum(side, int(often[pairs].min()), int(often[pairs].max()), pairs))
    return found


def part(on: Judged, stratum: Stratum) -> Judged:
    """Return a model on the pairs of a stratum."""
    return Some(on.model, on.data.only(stratum.pairs), on.seen, on, stratum.pairs)


def by_strata(
    trained: Recommender,
    data: Dataset,
    metric: AnyMetric | Sequence[AnyMetric] | None = None,
    *,
    level: float = LEVEL,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> list[Stratum]:
    """Return metrics of a model on held-out pairs by how often their query, or their target, occurs in training.

    The rarest come first. Of rankings by targets, those of a stratum alone count as relevant. The arguments are those
    of ``fmfkit.estimate``. A metric that cannot be measured on a stratum is left out there.

    Args:
        trained: the model.
        data: held-out pairs.
        metric: one or several, by name or as a ``Metric``; those that suit if left out.
        level: how often such an interval holds the value.
        resamples: how often queries are drawn.
        seed: of the draws.
    """
    on = judged_by(trained, data)
    wanted = measurable(on, metric, positives=trained.positives)
    found = []
    for stratum in strata(on):
        some = part(on, stratum)
        able = [one for one in wanted if one.refusal(some.y) is None]
        values = estimates(some, able, level=level, resamples=resamples, seed=seed)
        found.append(attrs.evolve(stratum, metrics=values))
    return found


__all__ = ["Stratum", "by_strata"]
