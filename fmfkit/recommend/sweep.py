"""The penalty for data that has positives only, chosen from the data by a few short fits.

Which penalty is best differs from data to data by more than one default can bridge. Too strong a penalty turns all
factors off: the model *collapses*, and its ranking is that of popularity. So small models are trained for two rounds
each, with a stronger or a weaker penalty as long as that is better on held-out positives. All of it takes less time
than the fit that follows, and nothing is laid out twice.
"""

from __future__ import annotations

import itertools
from typing import TextIO, TypeVar

import attrs
import numpy as np

from fmfkit.data.dataset import Dataset
from fmfkit.model.model import Model
from fmfkit.recommend.evaluation import POSITIVES, Judged, Metric, metric_of
from fmfkit.recommend.positives import Settled
from fmfkit.recommend.prepared import Prepared
from fmfkit.recommend.settings import Settings
from fmfkit.search import Number, Search
from fmfkit.training.loop import fit

AnySettings = TypeVar("AnySettings", bound=Settings)

STRIDE = 2.0
"""What l2 is multiplied or divided by."""
MOST_TRIALS = 7
ROUNDS = 2
"""Of each trial: which penalty is better shows from the second round on."""
MOST_DIMENSIONS = 32
SHARE = 0.1
"""The share of the pairs that is held out for the choice where no validation part is given."""
LEAST_QUERIES = 200
"""With held-out positives of fewer queries nothing is chosen: the default is better than chance."""
WEAKER = 4.0
"""What l2 is divided by where the first trial collapses."""
PAIRS_LOOKED_AT = 10_000
LEAST_SHARE = 0.02
"""What factors add to the score of a training pair, as a share of it, below which a model has collapsed to its
biases."""


@attrs.frozen
class Swept:
    """What a sweep found."""

    l2: float
    metric: str
    value: float
    """Of a small model, on the held-out positives."""
    trials: int

    def __str__(self) -> str:
        """Return it in a line."""
        return f"l2 {self.l2:.3g} chosen on held-out positives, by {self.trials} short fits ({self.metric})"


def factor_share(model: Model, data: Dataset) -> float:
    """Return what factors add to the scores of training pairs, as a share of all that is added to the offset."""
    some = slice(None, None, max(1, len(data) // PAIRS_LOOKED_AT))
    query, target = data.query[some], data.target[some]
    U, V = model.query_embedding[query], model.target_embedding[target]
    added = float(np.mean(model.score(query, target), dtype=np.float64)) - model.offset
    return float(np.mean(np.sum(U * V, axis=1, dtype=np.float64))) / max(added, float(np.finfo(np.float32).tiny))


def has_collapsed(model: Model, data: Dataset) -> bool:
    """Return whether a model's factors add next to nothing to the scores of positives: it ranks by popularity."""
    return factor_share(model, data) < LEAST_SHARE


def short_fit(settings: Settings, prepared: Prepared) -> Model:
    """Train a small model for a few rounds."""
    small = settings.replace(rank=min(settings.rank, MOST_DIMENSIONS))
    return fit(
        prepared.problem(small), solver=small.solver, rounds=ROUNDS, seed=settings.seed, threads=settings.threads
    )


def sweep(settings: AnySettings, prepared: Prepared, metric: Metric) -> tuple[AnySettings, Swept]:
    """Choose l2 on the validation part; the other settings stay as they are."""
    model = short_fit(settings, prepared)
    if has_collapsed(model, prepared.train):
        settings = settings.replace(l2=settings.l2 / WEAKER)
        model = short_fit(settings, prepared)
    search = Search({"l2": Number(settings.l2, stride=STRIDE)}, np.random.default_rng(0), larger=metric.larger)
    for n, values in enumerate(itertools.islice(search.lines(), MOST_TRIALS)):
        if n > 0:
            model = short_fit(settings.replace(**values), prepared)
        search.tell(values, metric.measure(Judged(model, prepared.judged, prepared.seen)))
    best = search.best
    assert best.item is not None
    return settings.replace(**best.item), Swept(best.item["l2"], metric.name, best.value, best.seen)


def chosen(
    decided: Settled[AnySettings],
    data: Dataset,
    prepared: Prepared,
    metric: str | Metric | None,
    stream: TextIO | None,
) -> AnySettings:
    """Return settings with what is left to the data chosen, on the validation part or on a part of ``data``."""
    settings = decided.settings
    if not decided.choose:
        return settings
    if prepared.held_out is None and _queries(data) >= LEAST_QUERIES:
        prepared = Prepared.of(data, SHARE, settings, None)
    if prepared.held_out is None or _queries(prepared.held_out) < LEAST_QUERIES:
        return settings
    asked = None if metric is None else metric_of(metric)
    judge = asked if asked is not None and asked.ranks else metric_of(POSITIVES[0])
    settings, found = sweep(settings, prepared, judge)
    if stream is not None:
        print(found, file=stream)
    return settings


def _queries(data: Dataset) -> int:
    return len(np.unique(data.query))


__all__ = ["Swept", "chosen", "factor_share", "has_collapsed", "sweep"]
