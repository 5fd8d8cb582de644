"""Metrics as objects: what each is called, which direction is better, what it needs; and which suit a loss and data."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import attrs
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from fmfkit import metrics
from fmfkit.arguments import whole
from fmfkit.data.dataset import Dataset
from fmfkit.data.positives import all_positive, as_positives
from fmfkit.errors import PluginLoadError
from fmfkit.interfaces import Loss
from fmfkit.model.answers import Ranked
from fmfkit.model.model import Model
from fmfkit.plugins.registry import get_registry

RANKINGS = ("precision", "recall", "map", "ndcg", "mrr")
"""The metrics of ours that are measured on the first k targets."""
POSITIVES = ("ndcg@10", "recall@20")
"""The metrics of positives; the first decides."""


class Scorer(Protocol):
    """What can be judged: a ``Model``, or a baseline."""

    @property
    def loss(self) -> Loss:
        """What turns scores into predictions."""

    def score(self, queries: NDArray[np.int32], targets: NDArray[np.int32]) -> NDArray[Any]:
        """Return the scores of pairs."""

    def recommend(self, queries: NDArray[np.int32], k: int, *, exclude: sp.csr_array | None) -> Ranked:
        """Return the best targets of queries."""


@attrs.frozen(eq=False)
class Judged:
    """A model on held-out pairs: what metrics are measured on."""

    model: Scorer
    data: Dataset
    """Its row numbers are the model's."""
    seen: sp.csr_array | None
    """The training pairs, which rankings leave out."""

    @property
    def y(self) -> NDArray[np.float64]:
        """The given values."""
        return self.data.y

    @functools.cached_property
    def score(self) -> NDArray[Any]:
        """The scores of the pairs."""
        return self.model.score(self.data.query, self.data.target)

    @property
    def prediction(self) -> NDArray[Any]:
        """What the loss predicts for the pairs."""
        return self.model.loss.link(self.score)

    def ranking(self, k: int) -> metrics.Ranking:
        """Rank all targets for each query that has a relevant one: a pair with y above 0.

        Args:
            k: how many targets of each query.
        """
        relevant = self.data.only(self.data.y > 0).matrix
        rows = np.flatnonzero(np.diff(relevant.indptr)).astype(np.int32)
        ranked = self.model.recommend(rows, min(k, self.data.shape[1]), exclude=self.seen)
        return metrics.Ranking.of(ranked.targets, relevant[rows])


@attrs.frozen
class Metric:
    """A way to judge a model on held-out pairs."""

    name: str
    """What it is reported as."""
    measure: Callable[[Judged], float] = attrs.field(eq=False, repr=False)
    """What measures it: a function of a ``Judged``."""
    larger: bool = False
    """Whether larger values are better."""
    ranks: bool = False
    """Whether it ranks all targets, so that it needs no negatives."""
    refusal: Callable[[NDArray[np.float64]], str | None] = attrs.field(default=lambda y: None, eq=False, repr=False)
    """Why it cannot be measured on pairs with these y; None if it can."""


def _not_two_classes(y: NDArray[np.float64]) -> str | None:
    if not np.isin(y, (0, 1)).all():
        return "it needs y of 0 and 1"
    return None if len(np.unique(y)) == 2 else "it needs at least one positive and one negative"


def _not_probabilities(y: NDArray[np.float64]) -> str | None:
    return None if y.min(initial=0) >= 0 and y.max(initial=1) <= 1 else "it needs y from 0 to 1"


def _nothing_relevant(y: NDArray[np.float64]) -> str | None:
    return None if (y > 0).any() else "no pair has y above 0"


def rmse() -> Metric:
    """Return the root mean square error."""
    return Metric("rmse", lambda on: metrics.rmse(on.y, on.prediction, on.data.weight))


def mae() -> Metric:
    """Return the mean absolute error."""
    return Metric("mae", lambda on: metrics.mae(on.y, on.prediction, on.data.weight))


def log_loss() -> Metric:
    """Return the mean negative logarithm of probabilities."""
    return Metric(
        "log_loss", lambda on: metrics.log_loss(on.y, on.prediction, on.data.weight), refusal=_not_probabilities
    )


def auc() -> Metric:
    """Return the chance that a positive has a higher score than a negative."""
    return Metric("auc", lambda on: metrics.auc(on.y, on.score, on.data.weight), larger=True, refusal=_not_two_classes)


def of_ranking(name: str, function: Callable[[metrics.Ranking, int], float], k: int) -> Metric:
    """Return a metric of the first ``k`` targets, ranked for each query.

    Args:
        name: what it is called, without the depth.
        function: takes a ``metrics.Ranking`` and k.
        k: the depth.
    """
    k = whole("k", k, least=1)

    def measure(on: Judged) -> float:
        return function(on.ranking(k), min(k, on.data.shape[1]))

    return Metric(f"{name}@{k}", measure, larger=True, ranks=True, refusal=_nothing_relevant)


def precision(k: int) -> Metric:
    """Return the share of relevant targets among the first k."""
    return of_ranking("precision", lambda ranking, k: ranking.precision(k), k)


def recall(k: int) -> Metric:
    """Return the share of relevant targets that are among the first k."""
    return of_ranking("recall", lambda ranking, k: ranking.recall(k), k)


def average_precision(k: int) -> Metric:
    """Return MAP@k."""
    return of_ranking("map", lambda ranking, k: ranking.map(k), k)


def ndcg(k: int) -> Metric:
    """Return NDCG@k."""
    return of_ranking("ndcg", lambda ranking, k: ranking.ndcg(k), k)


def mrr(k: int) -> Metric:
    """Return the mean of 1 / rank of the first relevant target, 0 where it is not among the first k."""
    return of_ranking("mrr", lambda ranking, k: ranking.mrr(), k)


AnyMetric = str | Metric | Callable[..., float]
"""A metric: itself, by name, or a function of y, predictions and weights."""


def metric_of(given: AnyMetric) -> Metric:
    """Return a metric: itself, by name, or a function of y, predictions and weights (larger is taken as better).

    A name may have options, "within:tolerance=0.5"; "ndcg@10" is short for "ndcg:k=10". The metric is called as it was
    asked for.

    Args:
        given: a name, a ``Metric``, or a function of y, predictions and weights.
    """
    if isinstance(given, Metric):
        return given
    if callable(given):
        return _of_function(given)
    if not isinstance(given, str):
        raise TypeError(f"metric: expected a name, a Metric or a function, got {given!r}")
    name, depth = given, {}
    if "@" in given and "=" not in given:
        name, _, k = given.partition("@")
        if not k.isdecimal() or not int(k):
            raise ValueError(f"metric {given!r}: expected a whole number from 1 on after @, as in {name + '@10'!r}")
        depth = {"k": int(k)}
    elif given in RANKINGS:
        raise ValueError(f"metric {given!r}: it needs a depth, as in {given + '@10'!r}")
    made = get_registry().create("metric", name, **depth)
    if not isinstance(made, Metric):
        raise PluginLoadError(f"metric {name!r}: it made {made!r}, which is no Metric")
    return attrs.evolve(made, name=given)


def _of_function(function: Callable[..., float]) -> Metric:
    """Return the metric that a function of y, predictions and weights is; larger values are taken as better."""
    name = getattr(function, "__name__", repr(function))
    try:
        inspect.signature(function).bind(0, 0, 0)
    except TypeError:
        raise TypeError(
            f"metric {name!r}: expected a function of y, predictions and weights whose larger values are better; wrap "
            f"another one: Metric({name!r}, lambda on: {name}(on.y, on.prediction), larger=False)"
        ) from None
    except ValueError:  # some functions in C do not tell
        pass
    return Metric(name, lambda on: float(function(on.y, on.prediction, on.data.weight)), larger=True)


def suitable_metrics(loss: Loss, y: NDArray[np.float64], *, positives: bool = False) -> list[Metric]:
    """Return the metrics that suit a loss and pairs with these y, the one that decides first.

    For a model of positives, and where all y are one number above 0, nothing but a ranking says how good a model is;
    else the loss's own metrics, of those that can be measured.

    Args:
        loss: the model's.
        y: of the pairs it is judged on.
        positives: whether it was trained on positives only.
    """
    if positives or all_positive(y):
        return [metric_of(name) for name in POSITIVES]
    named = [metric_of(name) for name in loss.metrics]
    return [metric for metric in named if metric.refusal(y) is None] or [metric_of("rmse")]


def evaluate(
    model: Model, data: Dataset, chosen: Sequence[AnyMetric] | None, seen: Any, *, positives: bool = False
) -> dict[str, float]:
    """Return metrics of a model on the pairs of a data set with its row numbers, by name.

    A model of ``positives`` is judged by whether y is above 0, whatever it is.

    Args:
        model: the model.
        data: pairs by its row numbers.
        chosen: the metrics; None means those that suit.
        seen: the training pairs, a sparse matrix: they are not ranked.
        positives: whether it was trained on positives only.
    """
    data = as_positives(data) if positives else data
    suitable = suitable_metrics(model.loss, data.y, positives=positives)
    wanted = suitable if chosen is None else [metric_of(metric) for metric in chosen]
    for metric in wanted:
        if (reason := metric.refusal(data.y)) is not None:
            raise ValueError(f"{metric.name}: {reason}")
    judged = Judged(model, data, seen)
    return {metric.name: float(metric.measure(judged)) for metric in wanted}


__all__ = ["Judged", "Metric", "evaluate", "metric_of", "of_ranking", "suitable_metrics"]
