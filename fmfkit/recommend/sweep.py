"""The penalties for data that has positives only, chosen from the data by a few short fits.

Which penalty is best differs from data to data by more than one default can bridge. Too strong a penalty turns all
factors off: the model *collapses*, and its ranking is that of popularity. So small models are trained for two rounds
each, with a stronger or a weaker penalty as long as that is better on held-out positives; then with a stronger or a
weaker penalty of the features beside the ids, which some data has much use for and some none. With the usual number of
rounds all of it takes less time than the fit that follows.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, TextIO

import attrs
import numpy as np
import scipy.sparse as sp

from fmfkit.data.dataset import Dataset
from fmfkit.model.model import Model
from fmfkit.recommend.evaluation import POSITIVES, Judged, Metric, metric_of
from fmfkit.recommend.positives import Settled
from fmfkit.recommend.prepared import Prepared, with_features
from fmfkit.recommend.settings import AnySettings, Settings
from fmfkit.search import Number, Search, better
from fmfkit.training.checkpoint import Checkpoint, tried
from fmfkit.training.loop import fit
from fmfkit.training.progress import log

STRIDE, FEATURES_STRIDE = 2.0, 4.0
"""What l2, and the strengths of features, are multiplied or divided by."""
MOST_TRIALS, MOST_FEATURES_TRIALS = 6, 3
"""The one that each begins with counts."""
LEAST_GAIN = 0.01
"""The part by which another strength of features must be better to be chosen."""
ROUNDS, MORE_ROUNDS = 2, 8
"""Of a trial: which penalty is better mostly shows from the second round on. A model that would lose to one that has
collapsed gets more of them, because factors that grow slowly rank worse than popularity at first."""
LEAST_DIMENSIONS, MOST_DIMENSIONS = 8, 32
"""A trial has half of the dimensions, within these bounds."""
SHARE = 0.1
"""The share of the pairs that is held out for the choice where no validation part is given."""
LEAST_QUERIES = 200
"""With held-out positives of fewer queries that a model can know nothing is chosen: the default is better than
chance."""
WEAKER, MOST_WEAKER = 4.0, 3
"""What l2 is divided by where the first trial collapses, and how often."""
PAIRS_LOOKED_AT = 10_000
LEAST_SHARE = 0.02
"""What factors add to the score of a training pair, as a share of it, below which a model has collapsed to its
biases."""


@attrs.frozen
class Swept:
    """What a sweep found."""

    l2: float
    features: float
    """What the strengths of features are multiplied by."""
    trials: int

    def __str__(self) -> str:
        """Return it in a line."""
        features = "" if self.features == 1 else f", and {self.features:g} times the penalty of features,"
        return f"l2 {self.l2:.3g}{features} chosen on held-out positives, by {self.trials} short fits"


def factor_share(model: Model, seen: sp.csr_array) -> float:
    """Return what factors add to the scores of training pairs, as a share of all that is added to the offset."""
    some = slice(None, None, max(1, seen.nnz // PAIRS_LOOKED_AT))
    query = np.repeat(np.arange(seen.shape[0], dtype=np.int32), np.diff(seen.indptr))[some]
    target = seen.indices[some]
    U, V = model.query_embedding[query], model.target_embedding[target]
    added = float(np.mean(model.score(query, target), dtype=np.float64)) - model.offset
    return float(np.mean(np.sum(U * V, axis=1, dtype=np.float64))) / max(added, float(np.finfo(np.float32).tiny))


def has_collapsed(model: Model, seen: sp.csr_array) -> bool:
    """Return whether a model's factors add next to nothing to the scores of positives: it ranks by popularity."""
    return factor_share(model, seen) < LEAST_SHARE


@attrs.define(eq=False)
class Trials:
    """Short fits of small models, judged on the validation part."""

    prepared: Prepared
    metric: Metric
    checkpoint: Checkpoint | None = None
    count: int = 0
    collapsed: dict[float, bool] = attrs.field(factory=dict)
    """By l2."""

    def value(self, settings: Settings, rounds: int = ROUNDS) -> float:
        """Train a small model for a few rounds; return how good it is."""
        self.count += 1
        found = tried(self.checkpoint, lambda: self._tried(settings, rounds))
        self.collapsed[settings.fixed_l2] = found["collapsed"]
        return float(found["value"])

    def _tried(self, settings: Settings, rounds: int) -> dict[str, Any]:
        small = settings.replace(rank=min(max(settings.rank // 2, LEAST_DIMENSIONS), MOST_DIMENSIONS, settings.rank))
        problem, seen = self.prepared.problem(small), self.prepared.seen
        options: Any = {"solver": small.solver, "seed": settings.seed, "threads": settings.threads}
        model = fit(problem, rounds=rounds, callbacks=self.checkpoint or (), **options)
        value = self.metric.measure(Judged(model, self.prepared.judged, seen))
        return {"value": float(value), "collapsed": has_collapsed(model, seen)}

    def along(
        self, begin: float, stride: float, most: int, value: Callable[[float], float], now: float
    ) -> tuple[float, float]:
        """Multiply or divide a number as long as that is better than ``now``; return the best, and its value."""
        search = Search({"it": Number(begin, stride=stride)}, np.random.default_rng(0), larger=self.metric.larger)
        for values in itertools.islice(search.lines(), most):
            search.tell(values, now if values["it"] == begin else value(values["it"]))
        assert search.best.item is not None
        return search.best.item["it"], search.best.value


def _l2(settings: Settings, trials: Trials) -> tuple[float, float]:
    """Return the best l2, and how good it is."""

    def value(l2: float, rounds: int = ROUNDS) -> float:
        return trials.value(settings.replace(l2=l2), rounds)

    begin = settings.fixed_l2
    now = value(begin)
    for _ in range(MOST_WEAKER):
        if trials.collapsed[begin]:
            begin /= WEAKER
            now = value(begin)
    best, now = trials.along(begin, STRIDE, MOST_TRIALS, value, now)
    alive = [l2 for l2, collapsed in trials.collapsed.items() if not collapsed]
    if not trials.collapsed[best] or not alive:
        return best, now
    grown = value(max(alive), MORE_ROUNDS)
    return (max(alive), grown) if better(grown, now, larger=trials.metric.larger) else (best, now)


def sweep(
    settings: AnySettings, prepared: Prepared, metric: Metric, checkpoint: Checkpoint | None = None
) -> tuple[AnySettings, Swept]:
    """Choose l2 on the validation part, and how strong features are; the other settings stay as they are."""
    trials = Trials(prepared, metric, checkpoint)
    l2, now = _l2(settings, trials)
    settings, factor = settings.replace(l2=l2), 1.0
    if prepared.encoder.described() and not settings.strengths:
        handicap = 1 - LEAST_GAIN if metric.larger else 1 + LEAST_GAIN

        def value(by: float) -> float:
            return handicap * trials.value(with_features(settings, prepared.encoder, by))

        factor, _ = trials.along(factor, FEATURES_STRIDE, MOST_FEATURES_TRIALS, value, now)
    best = settings if factor == 1 else with_features(settings, prepared.encoder, factor)
    return best, Swept(l2, factor, trials.count)


def chosen(
    decided: Settled[AnySettings],
    data: Dataset,
    prepared: Prepared,
    metric: str | Metric | None,
    stream: TextIO | None,
    checkpoint: Checkpoint | None = None,
) -> AnySettings:
    """Return settings with what is left to the data chosen, on the validation part or on a part of ``data``."""
    settings = decided.settings
    if not decided.choose:
        return settings
    if prepared.held_out is None and np.count_nonzero(np.bincount(data.query) > 1) >= LEAST_QUERIES:
        prepared = Prepared.of(data, SHARE, settings, None)
    if _judgeable(prepared) < LEAST_QUERIES:
        return settings
    asked = None if metric is None else metric_of(metric)
    judge = asked if asked is not None and asked.ranks else metric_of(POSITIVES[0])
    settings, found = sweep(settings, prepared, judge, checkpoint)
    log.info("%s", found)
    if stream is not None:
        print(found, file=stream)
    return settings


def _judgeable(prepared: Prepared) -> int:
    """Return how many queries with held-out positives have training pairs, or features that tell them apart."""
    if prepared.held_out is None:
        return 0
    queries = np.unique(prepared.held_out.query)
    described = bool(prepared.encoder.queries.blocks)
    return len(queries) if described else int(np.isin(queries, prepared.train.query).sum())


__all__ = ["Swept", "Trials", "chosen", "factor_share", "has_collapsed", "sweep"]
