"""A trained model that answers by ids."""

from __future__ import annotations

import html
import os
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import attrs
import numpy as np
import polars as pl
import scipy.sparse as sp
from numpy.typing import NDArray

from fmfkit.data.blocks import Instances
from fmfkit.data.dataset import Dataset
from fmfkit.data.encoder import Encoder, SideEncoder, history_features
from fmfkit.data.ids import Ids, as_text, gather
from fmfkit.data.positives import as_positives
from fmfkit.data.sides import HISTORY, INDICATOR, Attributes
from fmfkit.data.tables import read_table
from fmfkit.errors import DataError
from fmfkit.interfaces import Loss
from fmfkit.model import file
from fmfkit.model.answers import Explanation, Ranked
from fmfkit.model.model import Model
from fmfkit.recommend import plotting
from fmfkit.recommend.baselines import Comparison, Known, compare
from fmfkit.recommend.blocks import origin, restored_class
from fmfkit.recommend.evaluation import AnyMetric, Judged, Metric, evaluate, metric_of
from fmfkit.recommend.parts import check_encoder, columns_of, seen_pairs
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

    def pairs(self, source: Any, *, ratings: bool = True) -> Dataset:
        """Return the pairs of another table, with the same columns, or of a data set, with the ids of this model."""
        if isinstance(source, Dataset):
            return self._by_my_rows(source)
        none = np.zeros(0, np.int32)
        sides = _bare(self.encoder.queries), _bare(self.encoder.targets)
        return Dataset(none, none, np.zeros(0), None, None, *sides, self.columns).with_pairs(source, ratings=ratings)

    def score(self, queries: Any, targets: Any) -> NDArray[Any]:
        """Return the scores of pairs of ids."""
        return self.model.score(self._rows("queries", queries), self._rows("targets", targets))

    def predict(self, queries: Any, targets: Any, *, unknown: bool = False) -> NDArray[Any]:
        """Return what the loss predicts for pairs of ids: ratings, or for the logistic loss probabilities.

        With ``unknown``, ids that training has not seen are predicted by the offset and the other side's bias.
        """
        rows = [
            side.ids.rows(given, what) if unknown else side.ids.known_rows(given, what)
            for what, side, given in (
                ("queries", self.encoder.queries, queries),
                ("targets", self.encoder.targets, targets),
            )
        ]
        return self.model.predict(*rows, unknown=unknown)

    def interval(self, queries: Any, targets: Any, level: float = 0.9) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return, for pairs of ids, the ends of the intervals in which ratings lie with probability ``level``.

        It needs strengths that were learnt, as they are for ratings unless ``l2`` is given.
        """
        return self.model.interval(self._rows("queries", queries), self._rows("targets", targets), level)

    def predict_table(self, source: Any, *, interval: float | None = None) -> pl.DataFrame:
        """Return the pairs of a table, by ids, with what the model predicts for each; ``interval`` adds the ends of the
        intervals of that level."""
        data = self.pairs(source, ratings=False)
        frame = pl.DataFrame(
            {
                str(self.columns["query"]): self.encoder.queries.ids.column(data.query),
                str(self.columns["target"]): self.encoder.targets.ids.column(data.target),
                "predicted": self.model.predict(data.query, data.target).astype(float),
            }
        )
        if interval is None:
            return frame
        low, high = self.model.interval(data.query, data.target, interval)
        return frame.with_columns(pl.Series("low", low.astype(float)), pl.Series("high", high.astype(float)))

    def parse_queries(self, given: Sequence[str]) -> list[Any]:
        """Return queries' ids that are given as text in the kind that the model knows."""
        if self.encoder.queries.ids.values.dtype != pl.Int64 or self.encoder.queries.ids.objects is not None:
            return list(given)
        if wrong := [value for value in given if not re.fullmatch("-?[0-9]{1,19}", value)]:
            raise ValueError(f"query: this model's ids are whole numbers, got {wrong[0]!r}")
        return [int(value) for value in given]

    def _rows(self, side: Literal["queries", "targets"], given: Any) -> NDArray[np.int32]:
        return (self.encoder.queries if side == "queries" else self.encoder.targets).ids.known_rows(given, side)

    def recommend(self, queries: Any = None, k: int = 10, *, seen: bool = False) -> pl.DataFrame:
        """Return the best targets for some queries' ids, or all: query, rank, target, label, score.

        Pairs of the training data are left out unless ``seen``.
        """
        side = self.encoder.queries
        rows = np.arange(len(side.ids), dtype=np.int32) if queries is None else self._rows("queries", queries)
        best = self.model.recommend(None if queries is None else rows, k, exclude=None if seen else self.seen)
        return self._answer(side.ids.column(np.repeat(rows, best.targets.shape[1])), best)

    def recommend_new(
        self, table: Any, k: int = 10, *, extra: Mapping[str, Any] | None = None, pairs: Any = None
    ) -> pl.DataFrame:
        """Return the best targets for queries that training has not seen.

        Args:
            table: their attributes; the first column is what the answer calls them, if it is called as the ids of the
                training data's table or pairs are, else the answer has row numbers.
            k: how many targets.
            extra: for blocks that need no column, by name: links of these queries, or a matrix with a row for each.
            pairs: for history features: what they are known to be paired with, a table whose first column is as the
                first of ``table``, and whose second has targets' ids. It is left out of the answer.
        """
        frame = read_table(table, "queries")
        side = self.encoder.queries
        named = frame.columns[0] in (side.key, self.columns.get("query"))
        names = as_text(frame[frame.columns[0]])
        matrices = side.matrices(Instances(frame, names, extra or {}))
        known = None
        if pairs is not None:
            known = self._known(read_table(pairs, "pairs"), names)
            if self.encoder.history:
                matrices[HISTORY] = history_features(known)
        if not matrices:
            raise DataError(
                "recommend_new: the model has no features of queries but their ids; train with a table of them, "
                "or with history features"
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
        frame = pl.DataFrame(
            [
                queries.alias("query"),
                pl.Series("rank", np.tile(np.arange(1, k + 1), len(best.targets))),
                side.ids.column(flat, "target"),
                gather(side.labels, np.maximum(flat, 0)).alias("label"),
                pl.Series("score", best.scores.ravel().astype(np.float64)),
            ]
        )
        return frame if flat.min(initial=0) >= 0 else frame.filter(pl.Series(flat >= 0))

    def similar(self, targets: Any, k: int = 10) -> pl.DataFrame:
        """Return the targets most like some, by the cosine of their embeddings."""
        rows = self._rows("targets", targets)
        best = self.model.similar(rows, k)
        return self._answer(self.encoder.targets.ids.column(np.repeat(rows, best.targets.shape[1])), best)

    def explain(self, query: Any, target: Any) -> Explanation:
        """Return what each feature, by name, adds to the score of a pair; print it."""
        found = self.model.explain(int(self._rows("queries", [query])[0]), int(self._rows("targets", [target])[0]))
        return found.named(*self._feature_names())

    def remaining_features(self) -> dict[str, list[str]]:
        """Return, of each block in which some features are zero in all dimensions, the names of those that remain.

        Blocks are called as strengths call them, "target.genres"; the features with the largest parameters come first.
        Ids, and the history of queries, are left out.
        """
        found: dict[str, list[str]] = {}
        sides = zip(
            ("query", "target"),
            (self.model.X, self.model.Z),
            (self.model.P, self.model.Q),
            self._feature_names(),
            strict=True,
        )
        for side, features, W, names in sides:
            for block, columns in features.blocks.items():
                size = np.abs(W[columns]).max(axis=1, initial=0)
                if block not in (INDICATOR, HISTORY) and not size.all():
                    largest = np.argsort(-size, kind="stable")[: np.count_nonzero(size)]
                    found[f"{side}.{block}"] = [str(names[block][int(s)]) for s in largest]
        return found

    def _feature_names(self) -> tuple[dict[str, Any], dict[str, Any]]:
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
        chosen = [metric] if isinstance(metric, str | Metric) or callable(metric) else metric
        return evaluate(self.model, self._by_my_rows(data), chosen, self.seen, positives=self.positives)

    def compare(self, data: Dataset, metric: AnyMetric | None = None) -> Comparison:
        """Return a metric on pairs of a data set, beside those of the mean and of biases alone, or of popularity.

        A model that is no better than these has learnt nothing. All ids must be known, as for ``evaluate``.
        """
        mine = self._by_my_rows(data)
        values = evaluate(self.model, mine, None if metric is None else [metric], self.seen, positives=self.positives)
        name, value = next(iter(values.items()))
        chosen = metric_of(name if metric is None else metric)
        judged = Judged(self.model, as_positives(mine) if self.positives else mine, self.seen)
        return compare(chosen, value, judged, Known.of(self.seen, self.weight))

    @property
    def positives(self) -> bool:
        """Whether it was trained on positives only."""
        return self.settings.data == "positives"

    def _by_my_rows(self, data: Dataset) -> Dataset:
        """Return a data set with the row numbers that its ids have in this model."""
        if not isinstance(data, Dataset):
            raise TypeError(f"expected a Dataset, got {type(data).__name__}; pairs(...) makes one of a table")
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

        It needs matplotlib: ``python -m pip install fmfkit[plot]``.
        """
        return plotting.plot_rounds(self.model.history, self.validation, self.metric, ax)

    def report(self, test: Dataset | None = None, *, data: Report | None = None) -> Page:
        """Return a report as a page of HTML: ``recommender.report(test).save("report.html")``.

        ``test`` has pairs that were held out; ``data`` is what was found in the training data, ``train.report()``.
        """
        from fmfkit.report.page import report

        return report(self, test, data=data)

    def _facts(self) -> dict[str, str]:
        """Return what is shown of it."""
        model = self.model

        def side(count: int, blocks: Mapping[str, slice]) -> str:
            return f"{count}: " + ", ".join(f"{name} ({part.stop - part.start})" for name, part in blocks.items())

        facts = {
            "queries": side(model.X.rows, model.X.blocks),
            "targets": side(model.Z.rows, model.Z.blocks),
            "training pairs": f"{self.seen.nnz}, positives only" if self.positives else str(self.seen.nnz),
            "model": f"rank {model.rank}, {model.loss!r}, offset {model.offset:.4g}",
        }
        if model.history:
            last = model.history[-1]
            facts["training"] = f"{last.round} rounds, objective {last.objective:.6g}"
        if self.metric is not None and self.validation:
            chosen = self.validation[min(len(model.history), len(self.validation)) - 1]
            facts["validation"] = f"{self.metric} {chosen:.4f}"
        return facts

    def __repr__(self) -> str:
        """Return what it is in a few lines."""
        return "\n".join(["Recommender", *(f"  {name:15} {value}" for name, value in self._facts().items())])

    def _repr_html_(self) -> str:
        """Return the same for notebooks."""
        rows = "".join(
            f"<tr><th style='text-align:left'>{html.escape(name)}</th><td>{html.escape(value)}</td></tr>"
            for name, value in self._facts().items()
        )
        return f"<table><caption>Recommender</caption>{rows}</table>"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to one safetensors file; a feature block whose class no plugin offers is refused."""
        sections = {"model": self.model.section(), "recommender": self._section()}
        for name, side in (("queries", self.encoder.queries), ("targets", self.encoder.targets)):
            sections[name] = file.Section(*side.to_parts(origin))
        file.write(path, sections)

    def _section(self) -> file.Section:
        about = {
            "history": self.encoder.history,
            "validation": list(self.validation),
            "metric": self.metric,
            "columns": dict(self.columns),
            "settings": self.settings.to_json(),
        }
        arrays: dict[str, NDArray[Any]] = {
            "seen.ptr": self.seen.indptr.astype(np.int64),
            "seen.index": self.seen.indices.astype(np.int32, copy=False),
            "seen.y": self.seen.data.astype(np.float32, copy=False),
        }
        return file.Section(about, arrays if self.weight is None else arrays | {"seen.weight": self.weight})

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, loss: Loss | None = None, threads: int | None = None) -> Recommender:
        """Read what ``save`` wrote; everything in the file is checked, and nothing that it names is opened or run."""
        sections = file.read(path)
        if "recommender" not in sections and "model" in sections:
            raise DataError(f"{path}: a model by row numbers, without ids; read it with Model.load")
        with file.checking(path):
            section = file.section_of(sections, "recommender")
            model = Model.of_section(file.section_of(sections, "model"), path, loss=loss, threads=threads)
            queries, targets = (
                SideEncoder.from_section(
                    file.section_of(sections, name), lambda kind, about: restored_class(kind, about, str(path))
                )
                for name in ("queries", "targets")
            )
            encoder = Encoder(queries, targets, section.flag("history"))
            check_encoder(encoder, model)
            remembered = {name: v for name, v in section.part("settings").about.items() if name != "loss"}
            settings, lost = Settings.from_json(remembered, str(path))
            seen, weight = seen_pairs(section, (model.X.rows, model.Z.rows))
            return cls(
                model=model,
                encoder=encoder,
                seen=seen,
                weight=weight,
                validation=tuple(
                    file.Section({"validation": value}, {}).number("validation")
                    for value in section.items("validation")
                ),
                metric=section.text_or_none("metric"),
                columns=columns_of(section.part("columns")),
                settings=settings.replace(loss=model.loss),
                lost=lost,
            )


def _bare(side: SideEncoder) -> Attributes:
    """Return the ids of a side, without attributes."""
    return Attributes(side.ids, pl.DataFrame({"id": side.ids.values}), (), side.indicator, None)


__all__ = ["Recommender"]
