"""A trained model that speaks in ids."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import attrs
import numpy as np
import polars as pl
import scipy.sparse as sp
from numpy.typing import NDArray

from fmfkit import metrics
from fmfkit.checks import whole
from fmfkit.data.blocks import Instances
from fmfkit.data.dataset import IMPLICIT, Attributes, Dataset
from fmfkit.data.encoder import Encoder, SideEncoder, implicit_feedback
from fmfkit.data.ids import Ids, as_text
from fmfkit.data.tables import read_table
from fmfkit.errors import DataError
from fmfkit.interfaces import Loss
from fmfkit.losses import Logistic
from fmfkit.model import Explanation, Model, Ranked


@attrs.frozen(eq=False)
class Recommender:
    """A trained model, with the ids and feature blocks of the data it was trained on."""

    model: Model
    encoder: Encoder
    seen: sp.csr_array = attrs.field(repr=False)
    """The scores of the training pairs: what ``recommend`` leaves out, and what a fit that starts from it remembers."""
    weight: NDArray[np.float64] | None = attrs.field(repr=False)
    """Their weights, in the order of ``seen.data``."""
    validation: tuple[float, ...] = ()
    """The metric on the validation part after each round, from the start on, if there was one."""
    metric: str | None = None
    columns: Mapping[str, str | None] = attrs.field(factory=dict)
    """The columns of the table of pairs it was trained on."""
    settings: Mapping[str, Any] = attrs.field(factory=dict, repr=False)
    """The numbers that ``FMF`` was given: what a command that goes on from the model takes unless told otherwise."""

    def pairs(self, source: Any, *, scores: bool = True) -> Dataset:
        """Return the pairs of another table, with the same columns, as a data set with the ids of this model."""
        none = np.zeros(0, np.int32)
        sides = _bare(self.encoder.queries), _bare(self.encoder.targets)
        empty = Dataset(none, none, np.zeros(0), None, None, *sides, self.columns)
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
        return self._answer(side.ids.column(np.repeat(rows, best.targets.shape[1])), best)

    def recommend_new(
        self, table: Any, k: int = 10, *, beside: Mapping[str, Any] | None = None, pairs: Any = None
    ) -> pl.DataFrame:
        """Return the best targets for queries that training has not seen.

        Args:
            table: their attributes; the first column is what the answer calls them, if it is called as the ids of the
                training data's table or pairs are, else the answer has row numbers.
            k: how many targets.
            beside: for blocks that need no column, by name: links of these queries, or a matrix with a row for each.
            pairs: for implicit feedback: what they are known to be paired with, a table whose first column is as the
                first of ``table``, and whose second has targets' ids. It is left out of the answer.
        """
        frame = read_table(table, "queries")
        side = self.encoder.queries
        named = frame.columns[0] in (side.key, self.columns.get("query"))
        names = as_text(frame[frame.columns[0]])
        matrices = side.matrices(Instances(frame, names, beside or {}))
        known = None
        if pairs is not None:
            known = self._known(read_table(pairs, "pairs"), names)
            if self.encoder.implicit:
                matrices[IMPLICIT] = implicit_feedback(known)
        if not matrices:
            raise DataError(
                "recommend_new: the model has no features of queries but their ids; train with a table of them, "
                "or with implicit feedback"
            )
        best = self.model.recommend(k=k, features=matrices, exclude=known)
        queries = frame[frame.columns[0]] if named else pl.Series(range(frame.height))
        return self._answer(queries.gather(np.repeat(np.arange(frame.height), best.targets.shape[1])), best)

    def _known(self, pairs: pl.DataFrame, names: pl.Series) -> sp.csr_array:
        """Return what new queries, called ``names``, are paired with."""
        if pairs.width < 2:
            raise DataError(f"pairs: expected two columns, queries and targets' ids, got {pairs.columns}")
        if names.n_unique() < len(names):
            raise DataError("queries: the first column must have a different value in each row, to be found by pairs")
        rows = Ids.of(names, what="queries").known_rows(as_text(pairs[pairs.columns[0]]), "pairs, queries")
        columns = self.encoder.targets.ids.known_rows(pairs[pairs.columns[1]], "pairs, targets")
        known = sp.csr_array((np.ones(len(rows), np.float32), (rows, columns)), shape=(len(names), self.model.Z.rows))
        known.data[:] = 1
        return known

    def _answer(self, queries: pl.Series, best: Ranked) -> pl.DataFrame:
        side, k = self.encoder.targets, best.targets.shape[1]
        flat = best.targets.ravel()
        frame = pl.DataFrame({
            "query": queries,
            "rank": np.tile(np.arange(1, k + 1), len(best.targets)),
            "target": side.ids.column(flat),
            "label": [side.labels[row] if row >= 0 else "" for row in flat],
            "score": best.scores.ravel().astype(np.float64),
        })  # fmt: skip
        return frame.filter(pl.Series(flat >= 0))

    def similar(self, targets: Any, k: int = 10) -> pl.DataFrame:
        """Return the targets most like some, by the cosine of their embeddings."""
        rows = self._rows("targets", targets)
        best = self.model.similar(rows, k)
        return self._answer(self.encoder.targets.ids.column(np.repeat(rows, best.targets.shape[1])), best)

    def explain(self, query: Any, target: Any) -> Explanation:
        """Return what each feature, by name, adds to the score of a pair; print it."""
        told = self.model.explain(int(self._rows("queries", [query])[0]), int(self._rows("targets", [target])[0]))
        query = self.encoder.queries.names() | {IMPLICIT: list(self.encoder.targets.labels)}
        return told.named(query, self.encoder.targets.names())

    def evaluate(self, data: Dataset, metric: str | Sequence[str] | None = None) -> dict[str, float]:
        """Return metrics on pairs of a data set; all its ids must be known.

        By default "rmse" and "mae", or "log_loss" and "auc" for the logistic loss. Rankings, such as "ndcg@10",
        "map@5", "precision@1", "recall@20" or "mrr@100", take the pairs with a score above 0 as relevant, and rank all
        targets that are not in the training data.
        """
        names = default_metrics(self.model.loss) if metric is None else [metric] if isinstance(metric, str) else metric
        for name in names:
            check_metric(name)
        mine = self._by_my_rows(data)
        return {name: measure(self.model, mine, name, self.seen) for name in names}

    def _by_my_rows(self, data: Dataset) -> Dataset:
        """Return a data set with the row numbers that its ids have in this model."""
        if not isinstance(data, Dataset):
            raise TypeError(f"expected a Dataset, got {type(data).__name__}; a table is made one by pairs(...)")
        changes: dict[str, Any] = {}
        for role, what, side, encoder in (
            ("query", "queries", data.queries, self.encoder.queries),
            ("target", "targets", data.targets, self.encoder.targets),
        ):
            if side.ids is encoder.ids:
                continue
            rows = encoder.ids.rows_of(side.ids)[getattr(data, role)]
            if (lost := rows < 0).any():
                unknown = side.ids.at(getattr(data, role)[lost][:1])[0]
                raise DataError(f"{what}: {int(lost.sum())} pairs have ids that are not known, such as {unknown!r}")
            changes |= {role: rows, what: _bare(encoder)}
        return attrs.evolve(data, **changes) if changes else data

    def plot(self, ax: Any = None) -> Any:
        """Draw the objective, and the metric on the validation part, by rounds; return matplotlib's axes.

        It needs matplotlib, which fmfkit does not install: ``python -m pip install matplotlib``.
        """
        import matplotlib.pyplot as plt

        ax = plt.subplots()[1] if ax is None else ax
        rounds = [record.round for record in self.model.history]
        ax.plot(rounds, [record.objective for record in self.model.history], "o-", color="#0072B2", label="objective")
        ax.set(xlabel="round", ylabel="objective", yscale="log")
        lines = list(ax.lines)
        if self.validation:
            other = ax.twinx()
            first = self.model.history[0].round
            lines += other.plot(
                range(first, first + len(self.validation)), self.validation, "s--", color="#D55E00",
                label=f"{self.metric} (validation)",
            )  # fmt: skip
            other.set_ylabel(self.metric)
            other.axvline(rounds[-1], color="grey", linewidth=0.8, linestyle=":")
        ax.legend(handles=lines)
        return ax

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to one safetensors file."""
        more = {
            "queries": self.encoder.queries.to_json(), "targets": self.encoder.targets.to_json(),
            "implicit": self.encoder.implicit, "validation": list(self.validation), "metric": self.metric,
            "columns": dict(self.columns), "settings": dict(self.settings),
        }  # fmt: skip
        arrays = {
            "seen.ptr": self.seen.indptr.astype(np.int64), "seen.index": self.seen.indices.astype(np.int32),
            "seen.score": self.seen.data.astype(np.float32),
        }  # fmt: skip
        if self.weight is not None:
            arrays["seen.weight"] = self.weight
        self.model.save(path, more=more, arrays=arrays)

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, loss: Loss | None = None, threads: int | None = None) -> Recommender:
        """Read what ``save`` wrote."""
        model, more, arrays = Model.load_with(path, loss=loss, threads=threads)
        if "queries" not in more:
            raise DataError(f"{path}: a model by row numbers, without ids; read it with Model.load")
        encoder = Encoder(
            SideEncoder.from_json(more["queries"]), SideEncoder.from_json(more["targets"]), more["implicit"]
        )
        shape = len(encoder.queries.ids), len(encoder.targets.ids)
        seen = sp.csr_array((arrays["seen.score"], arrays["seen.index"], arrays["seen.ptr"]), shape=shape)
        return cls(
            model, encoder, seen, arrays.get("seen.weight"), tuple(more["validation"]), more["metric"], more["columns"],
            more["settings"],
        )  # fmt: skip


def _bare(side: SideEncoder) -> Attributes:
    """Return the ids of a side, without attributes."""
    return Attributes(side.ids, pl.DataFrame({"id": side.ids.values}), (), side.indicator, None)


def default_metrics(loss: Loss) -> list[str]:
    """Return the metrics that suit a loss."""
    return ["log_loss", "auc"] if isinstance(loss, Logistic) else ["rmse", "mae"]


def better(metric: str, a: float, b: float) -> bool:
    """Tell whether ``a`` is better than ``b``."""
    return a < b if metric in ("rmse", "mae", "log_loss") else a > b


SCORES = ("rmse", "mae", "log_loss", "auc")
RANKINGS: dict[str, Callable[[metrics.Ranking, int], float]] = {
    "precision": lambda ranking, k: ranking.precision(k),
    "recall": lambda ranking, k: ranking.recall(k),
    "map": lambda ranking, k: ranking.map(k),
    "ndcg": lambda ranking, k: ranking.ndcg(k),
    "mrr": lambda ranking, k: ranking.mrr(),
}


def check_metric(metric: str) -> None:
    """Refuse a metric that there is not."""
    name, _, depth = metric.partition("@")
    if name in RANKINGS:
        whole("k", int(depth) if depth.isdigit() else 0, least=1)
    elif metric not in SCORES:
        known = [*SCORES, *(f"{name}@k" for name in RANKINGS)]
        raise ValueError(f"metric: there is no {metric!r}; there are {known}")


def measure(model: Model, data: Dataset, metric: str, seen: Any) -> float:
    """Return one metric of a model on the pairs of a data set."""
    name, _, depth = metric.partition("@")
    if name in RANKINGS:
        k = min(int(depth), data.shape[1])
        relevant = data.only(data.score > 0).matrix
        rows = np.flatnonzero(np.diff(relevant.indptr)).astype(np.int32)
        return RANKINGS[name](metrics.Ranking.of(model.recommend(rows, k, exclude=seen).targets, relevant[rows]), k)
    ask = model.score if metric == "auc" else model.predict
    return float(getattr(metrics, metric)(data.score, ask(data.query, data.target), data.weight))


__all__ = ["Recommender"]
