"""Metrics as objects: what each is called, which direction is better, what it needs; and which suit a loss and data."""

from __future__ import annotations

import functools
import inspect
import warnings
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

RANKINGS = ("precision", "recall", "map", "ndcg", "mrr", "coverage", "gini", "novelty")
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
    _ranked: tuple[NDArray[np.int32], metrics.Ranking] | None = attrs.field(default=None, init=False, repr=False)

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

    @functools.cached_property
    def rows(self) -> NDArray[np.int32]:
        """The queries that targets are ranked for: those that have a relevant pair, one with y above 0."""
        return np.unique(self.data.query[self.data.y > 0])

    def ranked(self, k: int) -> NDArray[np.int32]:
        """Return the first ``k`` of all targets for each of ``rows``, without training pairs; -1 past the last."""
        return self._deep(k)[0][:, :k]

    def ranking(self, k: int) -> metrics.Ranking:
        """Return which of the first ``k`` targets are relevant.

        Args:
            k: how many targets of each query.
        """
        return self._deep(k)[1].first(min(k, self.data.shape[1]))

    def _deep(self, k: int) -> tuple[NDArray[np.int32], metrics.Ranking]:
        """Return at least the first ``k`` targets, ranked once for all metrics, and which of them are relevant."""
        if self._ranked is None or self._ranked[0].shape[1] < min(k, self.data.shape[1]):
            ranked = self._rank(min(k, self.data.shape[1]))
            relevant = self.data.only(self.data.y > 0).matrix[self.rows]
            object.__setattr__(self, "_ranked", (ranked, metrics.Ranking.of(ranked, relevant)))
        assert self._ranked is not None
        return self._ranked

    def _rank(self, k: int) -> NDArray[np.int32]:
        return self.model.recommend(self.rows, k, exclude=self.seen).targets


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
    averages: bool = True
    """Whether it is made of means over pairs or queries, so that more of the same kind give the same value; only then
    has it an interval."""
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
    """Return a metric of how relevant the first ``k`` targets are, ranked for each query.

    Args:
        name: what it is called, without the depth.
        function: takes a ``metrics.Ranking`` and k.
        k: the depth.
    """
    return _of_lists(name, lambda on, k: function(on.ranking(k), min(k, on.data.shape[1])), k)


def _of_lists(name: str, function: Callable[[Judged, int], float], k: int, **about: bool) -> Metric:
    """Return a metric of the first ``k`` targets, relevant or not; larger is better unless ``about`` says not."""
    k = whole("k", k, least=1)
    about = {"larger": True, "ranks": True, **about}
    return Metric(f"{name}@{k}", lambda on: function(on, k), refusal=_nothing_relevant, **about)


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


def coverage(k: int) -> Metric:
    """Return the share of all targets that are among the first k of some query."""
    return _of_lists("coverage", lambda on, k: metrics.coverage(on.ranked(k), on.data.shape[1]), k, averages=False)


def gini(k: int) -> Metric:
    """Return how unequally often targets are among the first k: 0 if all are as often."""
    about = {"larger": False, "averages": False}
    return _of_lists("gini", lambda on, k: metrics.gini(on.ranked(k), on.data.shape[1]), k, **about)


def novelty(k: int) -> Metric:
    """Return how rare the first k targets are in the training pairs, in bits."""
    return _of_lists("novelty", lambda on, k: metrics.novelty(on.ranked(k), _popularity(on), on.data.shape[0]), k)


def _popularity(on: Judged) -> NDArray[np.int64]:
    """Return in how many training pairs each target is."""
    if on.seen is None:
        raise ValueError("novelty: it needs the training pairs, to tell what is rare")
    return np.bincount(on.seen.indices, minlength=on.data.shape[1])


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
    model: Model, data: Dataset, chosen: AnyMetric | Sequence[AnyMetric] | None, seen: Any, *, positives: bool = False
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
    judged = Judged(model, as_positives(data) if positives else data, seen)
    wanted = measurable(judged, chosen, positives=positives)
    warn_of_known_pairs(judged)
    return {metric.name: float(metric.measure(judged)) for metric in wanted}


def measurable(on: Judged, chosen: AnyMetric | Sequence[AnyMetric] | None, *, positives: bool) -> list[Metric]:
    """Return one metric or several, by default those that suit; refuse those that cannot be measured."""
    if chosen is None:
        wanted = suitable_metrics(on.model.loss, on.y, positives=positives)
    else:
        several = [chosen] if isinstance(chosen, str | Metric) or callable(chosen) else chosen
        wanted = [metric_of(metric) for metric in several]
    for metric in wanted:
        if (reason := metric.refusal(on.y)) is not None:
            raise ValueError(f"{metric.name}: {reason}")
    return wanted


def warn_of_known_pairs(on: Judged) -> None:
    """Warn the caller's caller's caller of pairs that the model was trained on: it looks better on them than it is."""
    if on.seen is None:
        return
    known = sp.csr_array((np.ones(on.seen.nnz, np.int8), on.seen.indices, on.seen.indptr), shape=on.seen.shape)
    rows, columns = np.array(on.data.query), np.array(on.data.target)  # older scipy refuses arrays of polars
    if count := int(np.count_nonzero(known[rows, columns])):
        text = (
            f"{count:,} of {len(on.data):,} pairs are among those that the model was trained on: it looks better on "
            "them than it is; hold pairs out before training, such as by --test 0.1 or data.split_random()"
        )
        warnings.warn(text, UserWarning, stacklevel=4)


__all__ = ["Judged", "Metric", "evaluate", "metric_of", "of_ranking", "suitable_metrics"]
