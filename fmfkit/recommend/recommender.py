"""A trained model that answers by ids."""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

import attrs
import numpy as np
import polars as pl
import scipy.sparse as sp
from numpy.typing import NDArray

from fmfkit.data.dataset import Dataset
from fmfkit.data.delimited import BadRows
from fmfkit.data.encoder import Encoder
from fmfkit.data.positives import as_positives
from fmfkit.data.sides import HISTORY
from fmfkit.errors import DataError
from fmfkit.interfaces import Loss
from fmfkit.model import file
from fmfkit.model.answers import Explanation, Ranked
from fmfkit.model.model import Model
from fmfkit.recommend import facts, newcomers, plotting
from fmfkit.recommend.asking import (
    Unknown,
    as_column,
    bare,
    best_of,
    candidate_rows,
    check_scale,
    in_rows_of,
    known_pairs,
    parsed,
    predicted_table,
    ranked_table,
    rows_of,
)
from fmfkit.recommend.attributes import Where
from fmfkit.recommend.baselines import Comparison, Known, compare
from fmfkit.recommend.blocks import origin
from fmfkit.recommend.evaluation import AnyMetric, Judged, evaluate, metric_of
from fmfkit.recommend.export import Form, export
from fmfkit.recommend.frames import InPandas
from fmfkit.recommend.new_targets import with_targets
from fmfkit.recommend.parts import recommender_fields, recommender_section
from fmfkit.recommend.settings import Settings

if TYPE_CHECKING:
    from fmfkit.data.report import Report
    from fmfkit.report.page import Page


@attrs.frozen(eq=False, repr=False, kw_only=True)
class Recommender:
    """A trained model, with the ids and feature blocks of the data it was trained on."""

    model: Model
    encoder: Encoder
    seen: sp.csr_array
    """The ratings of the training pairs: what ``recommend`` leaves out, and what a later start remembers."""
    weight: NDArray[Any] | None = None
    """Their weights, in the order of ``seen.data``."""
    validation: tuple[float, ...] = ()
    """The metric on the validation part after each round, from the start on, if there was one."""
    metric: str | None = None
    columns: Mapping[str, str | None] = attrs.field(factory=dict)
    """The columns of the table of pairs it was trained on."""
    settings: Settings = attrs.field(factory=Settings)
    """What it was trained with: what a fit that starts from it uses unless given others."""
    lost: Mapping[str, str] = attrs.field(factory=dict)
    """Settings that its file could not hold, by name: components that no plugin offers."""
    attributes: pl.DataFrame = attrs.field(factory=pl.DataFrame)
    """What is known of the targets, row by row, for answers to be filtered by."""

    def pairs(
        self,
        source: Any,
        *,
        ratings: bool = True,
        unknown: Literal["error", "skip"] = "error",
        bad_rows: BadRows = "error",
    ) -> Dataset:
        """Return the pairs of another table, with the same columns, or of a data set, with the ids of this model.

        Pairs with ids that are not known are an "error", or left out ("skip"), and so are ``bad_rows``, as for
        ``Dataset.of``.
        """
        if isinstance(source, Dataset):
            return in_rows_of(self.encoder, source if unknown == "error" else known_pairs(self, source))
        none = np.zeros(0, np.int32)
        sides = bare(self.encoder.queries), bare(self.encoder.targets)
        bare_data = Dataset(none, none, np.zeros(0), None, None, *sides, self.columns)
        return bare_data.with_pairs(source, ratings=ratings, unknown=unknown, bad_rows=bad_rows)

    def score(self, queries: Any, targets: Any, *, unknown: Unknown = "error") -> NDArray[Any]:
        """Return the scores of pairs of ids; see ``predict``."""
        i, j = self._rows("queries", queries, unknown), self._rows("targets", targets, unknown)
        return self._of_known(self.model.score(i, j, unknown=True), i, j, unknown)

    def predict(self, queries: Any, targets: Any, *, unknown: Unknown = "error", clip: bool = False) -> NDArray[Any]:
        """Return what the loss predicts for pairs of ids: ratings, or for the logistic loss probabilities.

        Args:
            queries: the ids of the pairs' queries.
            targets: those of their targets.
            unknown: what becomes of pairs with ids that are not known: an "error" that lists them; "skip" makes their
                predictions NaN; "features" predicts them by the offset and the other side's bias, which is all that is
                known of an id alone. ``with_targets`` makes targets known by their attributes.
            clip: whether predictions stay within the range of y in training.
        """
        i, j = self._rows("queries", queries, unknown), self._rows("targets", targets, unknown)
        predicted = self._of_known(self.model.predict(i, j, unknown=True), i, j, unknown)
        return self.clipped(predicted) if clip else predicted

    def _of_known(self, values: NDArray[Any], i: Any, j: Any, unknown: Unknown) -> NDArray[Any]:
        return np.where((i >= 0) & (j >= 0), values, np.nan) if unknown == "skip" else values

    @functools.cached_property
    def range_of_y(self) -> tuple[float, float]:
        """The lowest and the highest y of the training pairs."""
        y = self.seen.data
        return (float(y.min()), float(y.max())) if len(y) else (-np.inf, np.inf)

    def clipped(self, predicted: NDArray[Any]) -> NDArray[Any]:
        """Return predictions within the range of y in training."""
        if self.positives:
            raise ValueError(
                "clip: the model was trained on positives only: its scores are to rank by, and have no range"
            )
        return np.asarray(np.clip(predicted, *self.range_of_y))

    def interval(self, queries: Any, targets: Any, level: float = 0.9) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return, for pairs of ids, the ends of the intervals in which ratings lie with probability ``level``.

        It needs strengths that were learnt, as they are for ratings unless ``l2`` is given.
        """
        return self.model.interval(self._rows("queries", queries), self._rows("targets", targets), level)

    def predict_table(
        self,
        source: Any,
        *,
        interval: float | None = None,
        unknown: Unknown = "error",
        clip: bool = False,
        bad_rows: BadRows = "error",
    ) -> pl.DataFrame:
        """Return the pairs of a table, by ids, with what the model predicts for each; ``interval`` adds the ends of the
        intervals of that level. ``unknown`` and ``clip`` are as for ``predict``, but "skip" leaves out rows, and
        ``bad_rows`` as for ``Dataset.of``."""
        return predicted_table(self, source, interval, unknown, clip=clip, bad_rows=bad_rows)

    def parse_queries(self, given: Sequence[str]) -> list[Any]:
        """Return queries' ids that are given as text in the kind that the model knows."""
        return parsed(self.encoder.queries, "query", given)

    def parse_targets(self, given: Sequence[str]) -> list[Any]:
        """Return targets' ids that are given as text in the kind that the model knows."""
        return parsed(self.encoder.targets, "target", given)

    def _rows(self, side: Literal["queries", "targets"], given: Any, unknown: Unknown = "error") -> NDArray[np.int32]:
        return rows_of(self.encoder.queries if side == "queries" else self.encoder.targets, given, side, unknown)

    def recommend(
        self,
        queries: Any = None,
        k: int = 10,
        *,
        seen: bool = False,
        pairs: Any = None,
        targets: Any = None,
        exclude: Any = None,
        where: Where | None = None,
        unknown: Unknown = "error",
        clip: bool = False,
    ) -> pl.DataFrame:
        """Return the best targets for some queries' ids, or all: query, rank, target, label, score.

        Args:
            queries: ids of queries; None means all.
            k: how many targets.
            seen: whether pairs of the training data are among the answers.
            pairs: pairs that came after training, a table with the columns of the training pairs: queries that have
                some are folded in with all of their pairs, all else being held as it is. Without a column of ratings
                they count as liked. They are left out of the answer. Pairs of other queries are ignored.
            targets: ids of the only targets to choose from.
            exclude: ids of targets to leave out.
            where: only targets with these attributes: ``{"genre": "poetry", "year": [1999, 2000]}`` by values, one of
                several; or conditions such as ``["genre = poetry", "year >= 1999"]``. Of a column of lists or tags, one
                of them must be such a value.
            unknown: what becomes of ids that are not known: an "error" that lists them; "skip" leaves them out;
                "features" answers queries by what else is given of them, which are pairs, or nothing: the targets are
                then ranked by their biases.
            clip: whether scores stay within the range of y in training.
        """
        side = self.encoder.queries
        rows = np.arange(len(side.ids), dtype=np.int32) if queries is None else self._rows("queries", queries, unknown)
        names = side.ids.column(rows) if queries is None or (rows >= 0).all() else as_column(queries, side)
        if unknown == "skip" and (rows < 0).any():
            names, rows = names.filter(pl.Series(rows >= 0)), rows[rows >= 0]
        candidates = candidate_rows(self, targets, exclude, where, unknown)
        if pairs is None and (rows >= 0).all():
            best = best_of(
                self.model,
                k,
                candidates,
                queries=None if queries is None else rows,
                exclude=None if seen else self.seen,
            )
        else:
            best = self._best_with(pairs, k, rows, names, candidates, seen=seen)
        return self._answer(names, best, clip=clip)

    def _best_with(
        self, pairs: Any, k: int, rows: NDArray[np.int32], names: pl.Series, candidates: Any, *, seen: bool
    ) -> Ranked:
        """Return the best targets for queries some of which are not known, or have new pairs."""
        mine, known = newcomers.with_new_pairs(self, pairs, rows, names)
        return best_of(self.model, k, candidates, embeddings=mine, exclude=None if seen else known.ones)

    def recommend_new(
        self,
        table: Any = None,
        k: int = 10,
        *,
        pairs: Any = None,
        extra: Mapping[str, Any] | None = None,
        targets: Any = None,
        exclude: Any = None,
        where: Where | None = None,
        clip: bool = False,
    ) -> pl.DataFrame:
        """Return the best targets for queries that training has not seen: by their attributes, their pairs, or both.

        Args:
            table: their attributes; the first column is what the answer calls them, if it is called as the ids of the
                training data's table or pairs are, else the answer has row numbers.
            k: how many targets.
            pairs: what they are known to be paired with: the targets' ids, for one query, or a table with the columns
                of the training pairs; without a column of queries all pairs are of one. Queries with pairs are folded
                in: what training would find for them, all else being held as it is. Without a column of ratings pairs
                count as liked. They are left out of the answer.
            extra: for blocks that need no column, by name: links of these queries, or a matrix with a row for each.
            targets: as for ``recommend``.
            exclude: as for ``recommend``.
            where: as for ``recommend``.
            clip: as for ``recommend``.
        """
        queries, mine, known = newcomers.new_queries(self, table, pairs, extra)
        candidates = candidate_rows(self, targets, exclude, where)
        best = best_of(self.model, k, candidates, embeddings=mine, exclude=None if known is None else known.ones)
        return self._answer(queries, best, clip=clip)

    def embed_new(
        self, table: Any = None, *, pairs: Any = None, extra: Mapping[str, Any] | None = None
    ) -> NDArray[Any]:
        """Return the vectors of queries that training has not seen, a row for each, as ``export`` writes those of known
        ones: to be searched for in an index of targets. The parameters are those of ``recommend_new``."""
        return newcomers.new_queries(self, table, pairs, extra)[1][:, : self.model.rank + sum(self.model.biases)]

    def with_targets(self, table: Any, *, extra: Mapping[str, Any] | None = None) -> Recommender:
        """Return a recommender that also knows the targets of a table, by their attributes: as candidates, to be
        predicted, compared and explained. Those that it knows stay as they are; nothing is trained.

        Args:
            table: attributes of targets, with the columns of the training data's table.
            extra: as for ``recommend_new``.
        """
        return with_targets(self, table, extra)

    @functools.cached_property
    def balance(self) -> newcomers.Balance:
        """How training weighed pairs by how often their instances occur."""
        return newcomers.Balance.of(self.seen, self.weight, self.settings.balance)

    def _answer(self, queries: pl.Series, best: Ranked, *, clip: bool = False) -> pl.DataFrame:
        """Return rankings, a row for each target; ``queries`` are what the rows of the ranking are called."""
        scores = best.scores.astype(np.float64)
        if clip:
            check_scale(self.model.loss, self.range_of_y)
            scores = self.clipped(scores)
        return ranked_table(self.encoder.targets, ("query", queries), "target", best.targets, scores)

    def similar(
        self, targets: Any = None, k: int = 10, *, queries: Any = None, unknown: Unknown = "error"
    ) -> pl.DataFrame:
        """Return the targets most like some targets, or the queries most like some queries, by the cosine of their
        embeddings: the id that was asked about, rank, similar, label, score.

        Ids that are not known are an "error" or left out ("skip"); by "features" nothing is known to compare.
        """
        if (targets is None) == (queries is None):
            raise ValueError("similar: give targets or queries")
        name: Literal["queries", "targets"] = "targets" if queries is None else "queries"
        side = self.encoder.targets if queries is None else self.encoder.queries
        rows = self._rows(name, targets if queries is None else queries, unknown)
        rows = rows[rows >= 0]
        best = self.model.similar(rows, k) if queries is None else self.model.similar(k=k, queries=rows)
        asked = "target" if queries is None else "query"
        return ranked_table(side, (asked, side.ids.column(rows)), "similar", best.targets, best.scores)

    @overload
    def explain(self, query: Any, target: Any, *, unknown: Literal["error", "features"] = "error") -> Explanation: ...

    @overload
    def explain(self, query: Any, target: Any, *, unknown: Unknown) -> Explanation | None: ...

    def explain(self, query: Any, target: Any, *, unknown: Unknown = "error") -> Explanation | None:
        """Return what each feature, by name, adds to the score of a pair; print it.

        Of an id that is not known: an "error"; None ("skip"); or what the other side adds ("features").
        """
        i, j = self._rows("queries", [query], unknown)[0], self._rows("targets", [target], unknown)[0]
        if unknown == "skip" and (i < 0 or j < 0):
            return None
        return self.model.explain(int(i), int(j), unknown=True).named(*self.feature_names())

    def remaining_features(self) -> dict[str, list[str]]:
        """Return, of each block in which some features are zero in all dimensions, the names of those that remain.

        Blocks are called as strengths call them, "target.genres"; the features with the largest parameters come first.
        Ids, and the history of queries, are left out.
        """
        return facts.remaining_features(self)

    def feature_names(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return what the features of each block of the queries, and of the targets, are called."""
        queries = {**self.encoder.queries.names(), HISTORY: self.encoder.targets.labels}
        return queries, dict(self.encoder.targets.names())

    def evaluate(self, data: Dataset, metric: AnyMetric | Sequence[AnyMetric] | None = None) -> dict[str, float]:
        """Return metrics on pairs of a data set; all its ids must be known.

        By default those that suit the loss and the data: "rmse" and "mae" for ratings, "log_loss" and "auc" for two
        classes, "ndcg@10" and "recall@20" for a model of positives, or where all pairs are positives. Rankings, such as
        "ndcg@10", "map@5", "precision@1", "recall@20" or "mrr@100", take the pairs with y above 0 as relevant, and rank
        all targets that are not in the training data.
        """
        return evaluate(self.model, in_rows_of(self.encoder, data), metric, self.seen, positives=self.positives)

    def compare(self, data: Dataset, metric: AnyMetric | None = None) -> Comparison:
        """Return a metric on pairs of a data set, beside those of the mean and of biases alone, or of popularity.

        A model that is no better than these has learnt nothing. All ids must be known, as for ``evaluate``.
        """
        mine = in_rows_of(self.encoder, data)
        values = evaluate(self.model, mine, metric, self.seen, positives=self.positives)
        name, value = next(iter(values.items()))
        chosen = metric_of(name if metric is None else metric)
        judged = Judged(self.model, as_positives(mine) if self.positives else mine, self.seen)
        return compare(chosen, value, judged, Known.of(self.seen, self.weight))

    @property
    def positives(self) -> bool:
        """Whether it was trained on positives only."""
        return self.settings.data == "positives"

    def plot(self, ax: Any = None) -> Any:
        """Draw the objective, and the metric on the validation part, by rounds; return matplotlib's axes.

        It needs matplotlib: ``python -m pip install fmfkit[plot]``.
        """
        return plotting.plot_rounds(self.model.history, self.validation, self.metric, ax)

    def report(
        self,
        test: Dataset | None = None,
        *,
        data: Report | None = None,
        command: str | None = None,
        asked: Settings | None = None,
    ) -> Page:
        """Return a report as a page of HTML: ``recommender.report(test).save("report.html")``.

        ``test`` has pairs that were held out; ``data`` is what was found in the training data, ``train.report()``;
        ``command`` is how the model was made, for the part on how to repeat it, and ``asked`` are the settings that
        were asked for, such as the ``FMF``, before any were chosen.
        """
        from fmfkit.report.page import report

        return report(self, test, data=data, command=command, asked=asked)

    def __repr__(self) -> str:
        """Return what it is in a few lines."""
        return facts.as_text(self)

    def _repr_html_(self) -> str:
        """Return the same for notebooks."""
        return facts.as_html(self)

    @property
    def pandas(self) -> Any:
        """The same recommender, whose answers are frames of pandas: ``trained.pandas.recommend([17])``."""
        return InPandas(self)

    def export(self, folder: str | os.PathLike[str], to: Form = "parquet") -> list[Path]:
        """Write vectors of all queries and targets to a folder, and return the files. Biases are part of the vectors:
        the targets of the largest inner product with a query's vector are those that ``recommend`` gives, in its order.

        ``to`` is "parquet" (ids, labels and vectors), "npy" (ids and labels as CSV beside), or the same with an index
        of the targets, "usearch" or "faiss".
        """
        return export(self, folder, to)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to one safetensors file; a feature block whose class no plugin offers is refused."""
        sections = {"model": self.model.section(), "recommender": recommender_section(self)}
        for name, side in (("queries", self.encoder.queries), ("targets", self.encoder.targets)):
            sections[name] = file.Section(*side.to_parts(origin))
        file.write(path, sections)

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, loss: Loss | None = None, threads: int | None = None) -> Recommender:
        """Read what ``save`` wrote; everything in the file is checked, and nothing that it names is opened or run."""
        sections = file.read(path)
        if "recommender" not in sections and "model" in sections:
            raise DataError(f"{path}: a model by row numbers, without ids; read it with Model.load")
        with file.checking(path):
            return cls(**recommender_fields(sections, path, loss, threads))


__all__ = ["Recommender"]
