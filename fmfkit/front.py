"""The friendly front: from a data set to a model that speaks in ids, in one call."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import attrs
import numpy as np
import polars as pl
from attrs import validators
from numpy.typing import NDArray

from fmfkit import metrics
from fmfkit.checks import whole
from fmfkit.data.dataset import Attributes, Dataset
from fmfkit.data.encoder import Encoder
from fmfkit.errors import DataError
from fmfkit.fitting import RoundEvent, fit
from fmfkit.interfaces import Loss, Reals, Regularizer, Solver
from fmfkit.losses import Logistic
from fmfkit.model import Explanation, Model
from fmfkit.problem import Problem
from fmfkit.registry import resolve
from fmfkit.regularizers import ElasticNet, Regularization


@attrs.frozen(eq=False)
class Recommender:
    """A trained model, with the ids and feature blocks of the data it was trained on."""

    model: Model
    encoder: Encoder
    seen: Any = attrs.field(repr=False)
    """Sparse matrix of the training pairs: what ``recommend`` leaves out."""
    validation: tuple[float, ...] = ()
    """The metric on the validation part after each round, from the start on, if there was one."""
    metric: str | None = None
    columns: Mapping[str, str | None] = attrs.field(factory=dict)
    """The columns of the table of pairs it was trained on."""

    def pairs(self, source: Any, *, scores: bool = True) -> Dataset:
        """Return the pairs of another table, with the same columns, as a data set with the ids of this model."""
        sides = []
        for side in (self.encoder.queries, self.encoder.targets):
            sides.append(Attributes(side.ids, pl.DataFrame({"id": side.ids.values}), (), side.indicator, None))
        none = np.zeros(0, np.int32)
        empty = Dataset(none, none, np.zeros(0), None, None, sides[0], sides[1], self.columns)
        return empty.with_pairs(source, scores=scores)

    def score(self, queries: Any, targets: Any) -> NDArray[Any]:
        """Return the scores of pairs of ids."""
        return self.model.score(self._rows("queries", queries), self._rows("targets", targets))

    def predict(self, queries: Any, targets: Any) -> NDArray[Any]:
        """Return what the loss predicts for pairs of ids: scores, or for the logistic loss probabilities."""
        return self.model.predict(self._rows("queries", queries), self._rows("targets", targets))

    def _rows(self, side: Literal["queries", "targets"], given: Any) -> NDArray[np.int32]:
        ids = (self.encoder.queries if side == "queries" else self.encoder.targets).ids
        return ids.known_rows(given, side)

    def recommend(self, queries: Any = None, k: int = 10, *, seen: bool = False) -> pl.DataFrame:
        """Return the best targets for some queries' ids, or all: query, rank, target, label, score.

        Pairs of the training data are left out unless ``seen``.
        """
        side = self.encoder.queries
        rows = np.arange(len(side.ids), dtype=np.int32) if queries is None else self._rows("queries", queries)
        best = self.model.recommend(rows, k, exclude=None if seen else self.seen)
        return self._answer(side.ids.at(np.repeat(rows, best.targets.shape[1])), best.targets, best.scores)

    def recommend_new(self, table: Any, k: int = 10) -> pl.DataFrame:
        """Return the best targets for queries that training has not seen, given by a table of their attributes."""
        from fmfkit.data.tables import read_table

        frame = read_table(table, "queries")
        matrices = self.encoder.queries.matrices(frame)
        if not matrices:
            raise DataError(
                "recommend_new: the model has no features of queries but their ids; train with a table of them"
            )
        best = self.model.recommend(k=k, features=matrices)
        return self._answer(
            np.repeat(np.arange(frame.height), best.targets.shape[1]).tolist(), best.targets, best.scores
        )

    def _answer(self, queries: Sequence[Any], targets: NDArray[np.int32], scores: NDArray[Any]) -> pl.DataFrame:
        side, k = self.encoder.targets, targets.shape[1]
        flat = targets.ravel()
        frame = pl.DataFrame({
            "query": pl.Series(queries, strict=False),
            "rank": np.tile(np.arange(1, k + 1), len(targets)),
            "target": pl.Series(side.ids.at(flat), dtype=side.ids.values.dtype),
            "label": [side.labels[row] if row >= 0 else "" for row in flat],
            "score": scores.ravel().astype(np.float64),
        })  # fmt: skip
        return frame.filter(pl.Series(flat >= 0))

    def similar(self, targets: Any, k: int = 10) -> pl.DataFrame:
        """Return the targets most like some, by the cosine of their embeddings."""
        rows = self._rows("targets", targets)
        best = self.model.similar(rows, k)
        return self._answer(
            self.encoder.targets.ids.at(np.repeat(rows, best.targets.shape[1])), best.targets, best.scores
        )

    def explain(self, query: Any, target: Any) -> Explanation:
        """Return what each feature adds to the score of a pair; ``encoder`` has the features' names."""
        return self.model.explain(int(self._rows("queries", [query])[0]), int(self._rows("targets", [target])[0]))

    def evaluate(self, data: Dataset, metric: str | Sequence[str] | None = None) -> dict[str, float]:
        """Return metrics on pairs of a data set with the same ids.

        By default "rmse" and "mae", or "log_loss" and "auc" for the logistic loss. Rankings, such as "ndcg@10",
        "map@5", "precision@1", "recall@20" or "mrr@100", take the pairs with a score above 0 as relevant, and rank all
        targets that are not in the training data.
        """
        names = default_metrics(self.model.loss) if metric is None else [metric] if isinstance(metric, str) else metric
        return {name: measure(self.model, data, name, self.seen) for name in names}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to one safetensors file."""
        more = {
            "queries": self.encoder.queries.to_json(), "targets": self.encoder.targets.to_json(),
            "implicit": self.encoder.implicit, "validation": list(self.validation), "metric": self.metric,
            "columns": dict(self.columns),
        }  # fmt: skip
        arrays = {"seen.ptr": self.seen.indptr.astype(np.int64), "seen.index": self.seen.indices.astype(np.int32)}
        self.model.save(path, more=more, arrays=arrays)

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, loss: Loss | None = None, threads: int | None = None) -> Recommender:
        """Read what ``save`` wrote."""
        import scipy.sparse as sp

        from fmfkit.data.encoder import SideEncoder

        model, more, arrays = Model.load_with(path, loss=loss, threads=threads)
        if "queries" not in more:
            raise DataError(f"{path}: a model by row numbers, without ids; read it with Model.load")
        encoder = Encoder(
            SideEncoder.from_json(more["queries"]), SideEncoder.from_json(more["targets"]), more["implicit"]
        )
        shape = len(encoder.queries.ids), len(encoder.targets.ids)
        index = arrays["seen.index"]
        seen = sp.csr_array((np.ones(len(index), np.float32), index, arrays["seen.ptr"]), shape=shape)
        return cls(model, encoder, seen, tuple(more["validation"]), more["metric"], more["columns"])


def default_metrics(loss: Loss) -> list[str]:
    """Return the metrics that suit a loss."""
    return ["log_loss", "auc"] if isinstance(loss, Logistic) else ["rmse", "mae"]


def better(metric: str, a: float, b: float) -> bool:
    """Tell whether ``a`` is better than ``b``."""
    return a < b if metric in ("rmse", "mae", "log_loss") else a > b


RANKINGS: dict[str, Callable[[metrics.Ranking, int], float]] = {
    "precision": lambda ranking, k: ranking.precision(k),
    "recall": lambda ranking, k: ranking.recall(k),
    "map": lambda ranking, k: ranking.map(k),
    "ndcg": lambda ranking, k: ranking.ndcg(k),
    "mrr": lambda ranking, k: ranking.mrr(),
}


def measure(model: Model, data: Dataset, metric: str, seen: Any) -> float:
    """Return one metric of a model on the pairs of a data set."""
    name, _, depth = metric.partition("@")
    if name in RANKINGS:
        k = min(whole("k", int(depth) if depth.isdigit() else 0, least=1), data.shape[1])
        relevant = data.only(data.score > 0).matrix
        rows = np.flatnonzero(np.diff(relevant.indptr)).astype(np.int32)
        return RANKINGS[name](metrics.Ranking.of(model.recommend(rows, k, exclude=seen).targets, relevant[rows]), k)
    if metric not in ("rmse", "mae", "log_loss", "auc"):
        known = ["rmse", "mae", "log_loss", "auc", *(f"{name}@k" for name in RANKINGS)]
        raise ValueError(f"metric: there is no {metric!r}; there are {known}")
    ask = model.score if metric == "auc" else model.predict
    return float(getattr(metrics, metric)(data.score, ask(data.query, data.target), data.weight))


def _patience(instance: Any, attribute: Any, value: int) -> None:
    whole("patience", value, least=1)


@attrs.frozen(kw_only=True)
class FMF:
    """Feature-based matrix factorization with good defaults.

    ``fit(data, validate=0.1)`` keeps the round that is best on a validation part, and stops after ``patience`` rounds
    without a better one.
    """

    rank: int = 32
    loss: Loss | str = "square"
    l2: float = attrs.field(default=0.4, validator=validators.ge(0))
    """The strength of the penalty, scaled by how often a feature is observed. The default suits some hundred thousand
    pairs; the more pairs, the less is needed."""
    regularizer: Regularizer | Regularization | None = None
    """Instead of ``l2``: any regularizer."""
    rounds: int = 20
    patience: int = attrs.field(default=3, validator=_patience)
    solver: Solver | str = "pl2m"
    seed: int = 0
    threads: int | None = None

    def problem(self, data: Dataset, encoder: Encoder | None = None) -> Problem:
        """Return the problem of a data set."""
        encoder = Encoder.learn(data) if encoder is None else encoder
        X, Z = encoder.features(data)
        regularizer = self.regularizer or ElasticNet(l2=self.l2, blocks=encoder.strengths())
        return Problem.from_coo(
            data.query, data.target, data.score, shape=data.shape, X=X, Z=Z, weight=data.weight, rank=self.rank,
            loss=self.loss, regularizer=regularizer,
        )  # fmt: skip

    def fit(
        self, data: Dataset, *, validate: Dataset | float | None = None, metric: str | None = None,
        callbacks: Sequence[Callable[[RoundEvent], None]] = (),
    ) -> Recommender:  # fmt: skip
        """Train.

        Args:
            data: the training data.
            validate: a data set with the same ids, or the share of ``data`` to set aside, at random, for choosing the
                round; None trains all rounds on all data.
            metric: what decides on the validation part: "rmse", "mae", "log_loss", "auc", "ndcg@10", ...; by default
                what suits the loss.
            callbacks: as for ``fmfkit.fit``.
        """
        held_out: Dataset | None = None
        if isinstance(validate, Dataset):
            held_out = validate
        elif validate is not None:
            data, held_out = data.split_random(float(validate), self.seed)
        encoder = Encoder.learn(data)
        problem = self.problem(data, encoder)
        metric = metric or default_metrics(resolve("loss", self.loss))[0]
        watch = _Best(held_out, metric, self.patience, data.matrix) if held_out is not None else None
        model = fit(
            problem, solver=self.solver, rounds=self.rounds, seed=self.seed, threads=self.threads,
            callbacks=[*callbacks, *([watch] if watch else [])],
        )  # fmt: skip
        if watch is None:
            return Recommender(model, encoder, data.matrix, columns=data.columns)
        best = watch.restore(problem, model)
        return Recommender(best, encoder, data.matrix, tuple(watch.values), metric, data.columns)


class _Best:
    """Keeps the parameters of the round that is best on held-out pairs; stops when it has long been the same."""

    def __init__(self, data: Dataset, metric: str, patience: int, seen: Any) -> None:
        self.data, self.metric, self.patience, self.seen = data, metric, patience, seen
        self.values: list[float] = []
        self.best = -1
        self.kept: tuple[Reals, ...] = ()

    def __call__(self, event: RoundEvent) -> None:
        value = measure(event.model(), self.data, self.metric, self.seen)
        self.values.append(value)
        if self.best < 0 or better(self.metric, value, self.values[self.best]) or math.isnan(self.values[self.best]):
            self.best, self.kept = len(self.values) - 1, (event.state.P.copy(), event.state.Q.copy())
        elif len(self.values) - 1 - self.best >= self.patience:
            event.stop(f"{self.metric} on the validation part has not improved for {self.patience} rounds")

    def restore(self, problem: Problem, model: Model) -> Model:
        """Return the model of the best round."""
        state = attrs.evolve(model.state, P=self.kept[0], Q=self.kept[1], round=model.history[self.best].round)
        return Model.of(problem, state, model.history[: self.best + 1], model.stopped)


__all__ = ["FMF", "Recommender"]
