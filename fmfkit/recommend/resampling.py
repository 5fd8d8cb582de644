"""How sure measurements are: queries of held-out pairs are drawn again and again, with repetition (the bootstrap)."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fmfkit import metrics
from fmfkit.arguments import whole
from fmfkit.data.dataset import Dataset
from fmfkit.data.positives import as_positives
from fmfkit.recommend.evaluation import AnyMetric, Judged, Metric, measurable, warn_of_known_pairs

if TYPE_CHECKING:
    from fmfkit.recommend.recommender import Recommender

RESAMPLES = 500
LEVEL = 0.95


@attrs.frozen
class Estimate:
    """A measurement, and the interval in which it would lie with other queries of the same kind."""

    value: float
    low: float
    """The lower end of the interval; NaN where nothing can be said: of coverage, and where there is one query."""
    high: float

    @classmethod
    def of(cls, value: float, drawn: NDArray[np.float64], level: float) -> Estimate:
        """Take the interval that holds the share ``level`` of what was measured on draws."""
        if len(drawn) < 2:
            return cls(value, np.nan, np.nan)
        low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2])
        return cls(value, float(low), float(high))

    @property
    def interval(self) -> tuple[float, float] | None:
        """Both ends; None where nothing can be said."""
        return None if np.isnan(self.low) else (self.low, self.high)

    def to_json(self) -> dict[str, float | None]:
        """Return it without NaN, which JSON does not know."""
        return {name: None if np.isnan(number) else number for name, number in attrs.asdict(self).items()}

    def __str__(self) -> str:
        """Return it in a few words."""
        return f"{self.value:.4f}" + ("" if self.interval is None else f" ({self.low:.4f} to {self.high:.4f})")


@attrs.frozen(eq=False)
class Drawn(Judged):
    """Some queries of what was judged, perhaps several times: nothing is scored or ranked again."""

    of: Judged
    pairs: NDArray[np.int64]
    places: NDArray[np.int64]
    """Of the queries, among those that are ranked for."""

    @functools.cached_property
    def score(self) -> NDArray[Any]:
        """The scores of the pairs."""
        return self.of.score[self.pairs]

    def ranked(self, k: int) -> NDArray[np.int32]:
        """Return the first ``k`` targets of each of the queries."""
        return self.of.ranked(k)[self.places]

    def ranking(self, k: int) -> metrics.Ranking:
        """Return which of them are relevant."""
        return self.of.ranking(k).some(self.places)


@attrs.frozen(eq=False)
class Queries:
    """The queries of held-out pairs, to be drawn."""

    order: NDArray[np.int64]
    """The places of the pairs, query by query."""
    ptr: NDArray[np.int64]

    @classmethod
    def of(cls, data: Dataset) -> Queries:
        """Find the pairs of each query."""
        order = np.argsort(data.query, kind="stable")
        return cls(order, np.append(np.unique(data.query[order], return_index=True)[1], len(order)).astype(np.int64))

    def draws(self, count: int, seed: int) -> Iterator[NDArray[np.int64]]:
        """Return, again and again, as many queries as there are, with repetition; none if there is only one."""
        rng, queries = np.random.default_rng(seed), len(self.ptr) - 1
        return (rng.integers(0, queries, queries) for _ in range(count if queries > 1 else 0))

    def pairs(self, chosen: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the places of the pairs of some queries."""
        lengths = np.diff(self.ptr)[chosen]
        ends = np.cumsum(lengths)
        starts = np.repeat(self.ptr[chosen] - (ends - lengths), lengths)
        return np.asarray(self.order[np.arange(ends[-1]) + starts])

    def places(self, on: Judged) -> NDArray[np.int64]:
        """Return the place of each query among those that are ranked for, -1 where it is not; ``on`` has the same
        pairs in the same order."""
        mine = on.data.query[self.order[self.ptr[:-1]]]
        places = np.searchsorted(on.rows, mine)
        return np.where(np.append(on.rows, -1)[places] == mine, places, -1)

    def drawn(self, several: Sequence[Judged], count: int, seed: int) -> Iterator[list[Judged]]:
        """Return some models, again and again, on queries that are drawn, the same for all."""
        ranked = [self.places(on) for on in several]
        for chosen in self.draws(count, seed):
            pairs = self.pairs(chosen)
            data = {id(on.data): on.data for on in several}
            some = {key: one.only(pairs) for key, one in data.items()}
            yield [
                Drawn(on.model, some[id(on.data)], on.seen, on, pairs, places[chosen][places[chosen] >= 0])
                for on, places in zip(several, ranked, strict=True)
            ]


def judged_by(trained: Recommender, data: Dataset) -> Judged:
    """Return a trained model on the pairs of a data set, which are found by their ids."""
    mine = trained.pairs(data)
    return Judged(trained.model, as_positives(mine) if trained.positives else mine, trained.seen)


def on_draws(
    several: Sequence[Judged], wanted: Sequence[Metric], resamples: int, seed: int
) -> dict[str, NDArray[np.float64]]:
    """Return metrics of some models on the same pairs, on draws of their queries, by name: (draws, models)."""
    queries = Queries.of(several[0].data)
    averages = [metric for metric in wanted if metric.averages]
    found: dict[str, list[list[float]]] = {metric.name: [] for metric in wanted}
    for parts in queries.drawn(several, resamples if averages else 0, seed):
        for metric in averages:
            if metric.refusal(parts[0].y) is None:
                found[metric.name].append([metric.measure(part) for part in parts])
    return {name: np.array(drawn, float).reshape(-1, len(several)) for name, drawn in found.items()}


def estimates(
    on: Judged, wanted: Sequence[Metric], *, level: float = LEVEL, resamples: int = RESAMPLES, seed: int = 0
) -> dict[str, Estimate]:
    """Return metrics with intervals, by name; see ``estimate``."""
    drawn = on_draws([on], wanted, resamples, seed)
    return {one.name: Estimate.of(float(one.measure(on)), drawn[one.name][:, 0], level) for one in wanted}


def estimate(
    trained: Recommender,
    data: Dataset,
    metric: AnyMetric | Sequence[AnyMetric] | None = None,
    *,
    level: float = LEVEL,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> dict[str, Estimate]:
    """Return metrics of a model on held-out pairs with intervals, by name.

    Args:
        trained: the model.
        data: pairs that it was not trained on.
        metric: as for ``Recommender.evaluate``.
        level: how often an interval holds the value that all queries of this kind would give.
        resamples: how often queries are drawn.
        seed: of the draws.
    """
    on, wanted = _asked([trained], data, metric, level, resamples)
    return estimates(on[0], wanted, level=level, resamples=resamples, seed=seed)


@attrs.frozen
class Paired:
    """Two models on the same held-out pairs."""

    metric: str
    larger: bool
    """Whether larger values are better."""
    first: Estimate
    second: Estimate
    difference: Estimate
    """The second less the first."""
    p: float
    """How often so large a difference would be seen where there is none; NaN where the difference has no interval."""

    @property
    def better(self) -> str | None:
        """Which is better, "first" or "second"; None where the interval of the difference holds 0."""
        if not (self.difference.low > 0 or self.difference.high < 0):
            return None
        return "second" if (self.difference.value > 0) == self.larger else "first"

    def __str__(self) -> str:
        """Return it in a line."""
        chance = "" if np.isnan(self.p) else f", p = {self.p:.3g}"
        return f"{self.metric} {self.first} and {self.second}: difference {self.difference}{chance}"


def compare_models(
    first: Recommender,
    second: Recommender,
    data: Dataset,
    metric: AnyMetric | Sequence[AnyMetric] | None = None,
    *,
    level: float = LEVEL,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> dict[str, Paired]:
    """Compare two models on the same held-out pairs, by metrics: which is better, and whether that may be chance.

    Queries are drawn again and again, the same for both models: what makes some queries hard for both cancels out. The
    arguments are those of ``estimate``. ``data`` must hold ids that both know.

    Args:
        first: a model.
        second: another one.
        data: held-out pairs.
        metric: one or several, by name or as a ``Metric``; those that suit if left out.
        level: how often such an interval holds the value.
        resamples: how often queries are drawn.
        seed: of the draws.
    """
    on, wanted = _asked([first, second], data, metric, level, resamples)
    if not np.array_equal(on[0].y, on[1].y):
        raise ValueError(
            "compare: one model was trained on positives only, the other on ratings; they cannot be compared"
        )
    drawn, found = on_draws(on, wanted, resamples, seed), {}
    for one in wanted:
        (before, after), draws = (float(one.measure(judged)) for judged in on), drawn[one.name]
        apart = draws[:, 1] - draws[:, 0]
        found[one.name] = Paired(
            one.name,
            one.larger,
            Estimate.of(before, draws[:, 0], level),
            Estimate.of(after, draws[:, 1], level),
            Estimate.of(after - before, apart, level),
            _chance(apart),
        )
    return found


def _chance(apart: NDArray[np.float64]) -> float:
    """Return twice the share of draws in which a difference has the sign that is rarer."""
    if len(apart) < 2:
        return float("nan")
    rarer = min(np.count_nonzero(apart <= 0), np.count_nonzero(apart >= 0))
    return float(min(1.0, 2 * (rarer + 1) / (len(apart) + 1)))


def _asked(
    models: Sequence[Recommender],
    data: Dataset,
    metric: AnyMetric | Sequence[AnyMetric] | None,
    level: float,
    resamples: int,
) -> tuple[list[Judged], list[Metric]]:
    """Return the models on the pairs, and the metrics that are asked for, or suit all of them."""
    whole("resamples", resamples, least=2)
    if not 0 < level < 1:
        raise ValueError(f"level: expected a number between 0 and 1, such as 0.95, got {level!r}")
    on = [judged_by(trained, data) for trained in models]
    each = [measurable(one, metric, positives=trained.positives) for one, trained in zip(on, models, strict=True)]
    for one in on:
        warn_of_known_pairs(one)
    suits = {metric.name for metric in each[-1]}
    wanted = [metric for metric in each[0] if metric.name in suits]
    if not wanted:
        raise ValueError("compare: no metric suits both models; name one, such as ndcg@10")
    return on, wanted


__all__ = ["Estimate", "Paired", "compare_models", "estimate"]
