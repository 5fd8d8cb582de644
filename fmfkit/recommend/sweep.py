"""The penalties for data that has positives only, chosen from the data by a few short fits.

Which penalty is best differs from data to data by more than one default can bridge. Too strong a penalty turns all
factors off: the model *collapses*, and its ranking is that of popularity. So small models are trained for two rounds
each, with a stronger or a weaker penalty as long as that is better on held-out positives; then with a stronger or a
weaker penalty of the features beside the ids, which some data has much use for and some none. All of it takes less time
than the fit that follows, and nothing is laid out twice.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import TextIO, TypeVar

import attrs
import numpy as np

from fmfkit.data.dataset import Dataset
from fmfkit.model.model import Model
from fmfkit.recommend.evaluation import POSITIVES, Judged, Metric, metric_of
from fmfkit.recommend.positives import Settled
from fmfkit.recommend.prepared import Prepared, with_features
from fmfkit.recommend.settings import Settings
from fmfkit.search import Number, Search
from fmfkit.training.loop import fit

AnySettings = TypeVar("AnySettings", bound=Settings)

STRIDE, FEATURES_STRIDE = 2.0, 4.0
"""What l2, and the strengths of features, are multiplied or divided by."""
MOST_TRIALS, MOST_FEATURES_TRIALS = 6, 3
"""The one that each begins with counts."""
LEAST_GAIN = 0.01
"""The part by which another strength of features must be better to be chosen."""
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
    features: float
    """What the strengths of features are multiplied by."""
    trials: int

    def __str__(self) -> str:
        """Return it in a line."""
        features = "" if self.features == 1 else f", and {self.features:g} times the penalty of features,"
        return f"l2 {self.l2:.3g}{features} chosen on held-out positives, by {self.trials} short fits"


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


@attrs.define(eq=False)
class Trials:
    """Short fits of small models, judged on the validation part."""

    prepared: Prepared
    metric: Metric
    count: int = 0

    def model(self, settings: Settings) -> Model:
        """Train a small model for a few rounds."""
        small = settings.replace(rank=min(settings.rank, MOST_DIMENSIONS))
        problem = self.prepared.problem(small)
        return fit(problem, solver=small.solver, rounds=ROUNDS, seed=settings.seed, threads=settings.threads)

    def value(self, settings: Settings, model: Model | None = None) -> float:
        """Return how good settings are; ``model`` is what they made, where it is there."""
        self.count += 1
        judged = Judged(model or self.model(settings), self.prepared.judged, self.prepared.seen)
        return self.metric.measure(judged)

    def along(
        self, begin: float, stride: float, most: int, value: Callable[[float], float], now: float
    ) -> tuple[float, float]:
        """Multiply or divide a number as long as that is better than ``now``; return the best, and its value."""
        search = Search({"it": Number(begin, stride=stride)}, np.random.default_rng(0), larger=self.metric.larger)
        for values in itertools.islice(search.lines(), most):
            search.tell(values, now if values["it"] == begin else value(values["it"]))
        assert search.best.item is not None
        return search.best.item["it"], search.best.value


def sweep(settings: AnySettings, prepared: Prepared, metric: Metric) -> tuple[AnySettings, Swept]:
    """Choose l2 on the validation part, and how strong features are; the other settings stay as they are."""
    trials = Trials(prepared, metric)
    model = trials.model(settings)
    if has_collapsed(model, prepared.train):
        settings = settings.replace(l2=settings.l2 / WEAKER)
        model = trials.model(settings)
    now, factor = trials.value(settings, model), 1.0
    with_l2 = settings.replace
    l2, now = trials.along(settings.l2, STRIDE, MOST_TRIALS, lambda l2: trials.value(with_l2(l2=l2)), now)
    settings = settings.replace(l2=l2)
    if prepared.encoder.described() and not settings.strengths:
        handicap = 1 - LEAST_GAIN if metric.larger else 1 + LEAST_GAIN

        def value(by: float) -> float:
            return handicap * trials.value(with_features(settings, prepared.encoder, by))

        factor, _ = trials.along(factor, FEATURES_STRIDE, MOST_FEATURES_TRIALS, value, now)
    chosen = settings if factor == 1 else with_features(settings, prepared.encoder, factor)
    return chosen, Swept(l2, factor, trials.count)


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


__all__ = ["Swept", "Trials", "chosen", "factor_share", "has_collapsed", "sweep"]
