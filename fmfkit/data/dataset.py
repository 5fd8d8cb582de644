"""A data set: pairs of ids with scores, tables that describe either side, and how their columns become features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import attrs
import numpy as np
import polars as pl
import scipy.sparse as sp
from numpy.typing import NDArray

from fmfkit.data.blocks import Block, guess
from fmfkit.data.ids import Ids, normal
from fmfkit.data.tables import Source, read_table, require
from fmfkit.errors import DataError

ROLES = {
    "query": ("query", "query_id", "user", "user_id", "userid", "reader", "customer", "customer_id"),
    "target": ("target", "target_id", "item", "item_id", "itemid", "movie", "movie_id", "movieid", "book", "book_id",
               "product", "product_id"),
    "score": ("score", "rating", "stars", "y", "label", "value"),
    "time": ("time", "timestamp", "date"),
    "weight": ("weight", "sample_weight"),
}  # fmt: skip
"""Names by which columns are known if they are not named."""


@attrs.frozen(eq=False)
class Attributes:
    """What is known of the instances of one side: a table in the order of its ids, and blocks of features from it."""

    ids: Ids
    table: pl.DataFrame
    """A row for each id; empty cells where the source had no such id."""
    blocks: tuple[Block, ...]
    indicator: bool
    """Whether each instance has a feature of its own, beside the blocks."""
    label: str | None
    """The column that people read: a title, a name."""

    def labels(self, rows: Any) -> list[str]:
        """Return what people read for row numbers: the label, else the id."""
        ids = self.ids.at(rows)
        if self.label is None:
            return ["" if value is None else str(value) for value in ids]
        found = self.table[self.label].cast(pl.String).gather(np.maximum(np.asarray(rows).ravel(), 0)).to_list()
        return ["" if i is None else name or str(i) for name, i in zip(found, ids, strict=True)]


@attrs.frozen(eq=False)
class Dataset:
    """Pairs by row numbers, and what the rows stand for.

    Build one with ``Dataset.of``; take parts of it with ``split_random`` and its kin, which keep ids and tables.
    """

    query: NDArray[np.int32]
    target: NDArray[np.int32]
    score: NDArray[np.float64]
    weight: NDArray[np.float64] | None
    time: NDArray[Any] | None
    queries: Attributes
    targets: Attributes
    columns: Mapping[str, str | None] = attrs.field(factory=dict)
    """The columns of the table of pairs, by what they are for."""
    sampled: NDArray[np.bool_] | None = None
    """Which pairs were drawn by ``with_negatives``."""
    implicit: bool = False
    """Whether queries have implicit feedback as features (SVD++): 1/√n for each of their n targets."""

    @classmethod
    def of(
        cls,
        pairs: Source,
        *,
        query: str | None = None,
        target: str | None = None,
        score: str | None = None,
        weight: str | None = None,
        time: str | None = None,
        queries: Source | None = None,
        targets: Source | None = None,
        query_id: str | None = None,
        target_id: str | None = None,
        query_blocks: Sequence[Block] | Literal["guess"] = "guess",
        target_blocks: Sequence[Block] | Literal["guess"] = "guess",
        query_label: str | None = None,
        target_label: str | None = None,
        query_indicator: bool = True,
        target_indicator: bool = True,
        implicit: bool = False,
        duplicates: Literal["error", "last", "mean"] = "error",
    ) -> Dataset:
        """Build a data set.

        Args:
            pairs: the table of pairs: a path (CSV, TSV, Parquet, Arrow), a polars or pandas frame, an Arrow table, or a
                mapping of column names to arrays.
            query: the column with the queries' ids; by default one with a usual name, such as "user", else the first.
            target: the column with the targets' ids; by default "item", "movie", "book", ..., else the second.
            score: the column with the scores; by default "score", "rating", ..., else the first with numbers that is
                left. Without one, every pair counts as a positive, score 1.
            weight: the column that says how much a pair counts.
            time: the column with the time of a pair, for ``split_by_time``.
            queries: a table of attributes of the queries; instances without pairs become cold ones.
            targets: a table of attributes of the targets.
            query_id: the column of ``queries`` with the ids; by default as in ``pairs``, else the first.
            target_id: the column of ``targets`` with the ids.
            query_blocks: features from the columns of ``queries``; "guess" makes them by what columns look like.
            target_blocks: features from the columns of ``targets``.
            query_label: the column of ``queries`` that people read; by default one called "name" or "title".
            target_label: the column of ``targets`` that people read.
            query_indicator: whether each query has a feature of its own.
            target_indicator: whether each target has one.
            implicit: whether queries have the targets that they are paired with, in training, as features (SVD++).
            duplicates: a pair that occurs twice: "error", keep the "last", or take the "mean" of scores and weights.
        """
        frame = read_table(pairs, "pairs")
        roles = _roles(frame, {"query": query, "target": target, "score": score, "weight": weight, "time": time})
        frame = _clean(frame, roles, duplicates)
        sides = []
        for role, source, id_column, blocks, label, indicator in (
            ("query", queries, query_id, query_blocks, query_label, query_indicator),
            ("target", targets, target_id, target_blocks, target_label, target_indicator),
        ):
            column = roles[role]
            assert column is not None
            sides.append(_attributes(role, frame[column], column, source, id_column, blocks, label, indicator))
        values = {role: frame[column].to_numpy() if column else None for role, column in roles.items()}
        rows = [side.ids.rows(frame[str(roles[role])]) for role, side in zip(("query", "target"), sides, strict=True)]
        return cls(
            query=rows[0],
            target=rows[1],
            score=np.ones(frame.height) if values["score"] is None else values["score"].astype(np.float64),
            weight=None if values["weight"] is None else values["weight"].astype(np.float64),
            time=values["time"],
            queries=sides[0],
            targets=sides[1],
            columns=roles,
            implicit=implicit,
        )

    def with_pairs(self, source: Source, *, scores: bool = True) -> Dataset:
        """Return the same ids and tables with the pairs of another table, which has the same columns.

        ``scores`` says whether it has scores. Ids that are not known are refused.
        """
        roles = {role: column for role, column in self.columns.items() if scores or role in ("query", "target")}
        frame = read_table(source, "pairs")
        optional = {role: c if c in frame.columns else None for role, c in roles.items() if role in ("weight", "time")}
        roles |= optional
        require(frame, roles, "pairs")
        frame = _clean(frame, {"score": None, "weight": None, **roles}, "last")
        values = {role: frame[column].to_numpy() if column else None for role, column in roles.items()}
        score, weight = values.get("score"), values.get("weight")
        return attrs.evolve(
            self,
            query=self.queries.ids.known_rows(frame[str(roles["query"])], "pairs, queries"),
            target=self.targets.ids.known_rows(frame[str(roles["target"])], "pairs, targets"),
            score=np.ones(frame.height) if score is None else score.astype(np.float64),
            weight=None if weight is None else weight.astype(np.float64),
            time=values.get("time"),
            sampled=None,
        )

    def __len__(self) -> int:
        """Return the number of pairs."""
        return len(self.query)

    @property
    def shape(self) -> tuple[int, int]:
        """The number of queries and of targets, those without pairs too."""
        return len(self.queries.ids), len(self.targets.ids)

    @property
    def matrix(self) -> sp.csr_array:
        """The pairs, but for drawn ones, as a sparse matrix of ones: what a query is known to be paired with."""
        known = slice(None) if self.sampled is None else ~self.sampled
        query, target = self.query[known], self.target[known]
        return sp.csr_array((np.ones(len(query), np.float32), (query, target)), shape=self.shape)

    def only(self, which: NDArray[Any]) -> Dataset:
        """Return the data set with some of its pairs."""
        return attrs.evolve(
            self, query=self.query[which], target=self.target[which], score=self.score[which],
            weight=None if self.weight is None else self.weight[which],
            time=None if self.time is None else self.time[which],
            sampled=None if self.sampled is None else self.sampled[which],
        )  # fmt: skip

    def with_negatives(
        self, ratio: float = 4.0, *, by: Literal["uniform", "popularity"] = "uniform", seed: int = 0,
        known: Dataset | None = None,
    ) -> Dataset:  # fmt: skip
        """Return the pairs with others added, score 0: for data that has positives only.

        Args:
            ratio: how many to draw for each positive, query by query; fewer where a query has few targets left.
            by: targets are drawn alike, or as often as they occur in the pairs.
            seed: of the draws.
            known: a data set with the same ids whose pairs are not drawn either, such as the whole one, test part
                included.
        """
        if not 0 < ratio < np.inf:
            raise ValueError(f"ratio: expected a finite number above 0, got {ratio!r}")
        if by not in ("uniform", "popularity"):
            raise ValueError(f"by: expected 'uniform' or 'popularity', got {by!r}")
        taken = np.unique(np.concatenate([_keys(data) for data in (self, known) if data is not None]))
        drawn = _draw_negatives(self, ratio, by == "popularity", np.random.default_rng(seed), taken)
        query, target = np.divmod(drawn, self.shape[1])
        return attrs.evolve(
            self, query=np.append(self.query, query.astype(np.int32)),
            target=np.append(self.target, target.astype(np.int32)),
            score=np.append(self.score, np.zeros(len(drawn))),
            weight=None if self.weight is None else np.append(self.weight, np.ones(len(drawn))),
            time=None, sampled=np.arange(len(self) + len(drawn)) >= len(self),
        )  # fmt: skip

    def _split(self, test: NDArray[np.bool_], how: str) -> tuple[Dataset, Dataset]:
        if not test.any() or test.all():
            raise DataError(f"{how}: of {len(self)} pairs, {int(test.sum())} would be for testing; change the share")
        return self.only(~test), self.only(test)

    def split_random(self, share: float = 0.1, seed: int = 0) -> tuple[Dataset, Dataset]:
        """Return (training, test): a random share of the pairs is for testing."""
        return self._split(np.random.default_rng(seed).random(len(self)) < _share(share), "split_random")

    def split_leave_out(self, k: int = 1, seed: int = 0) -> tuple[Dataset, Dataset]:
        """Return (training, test): k random pairs of each query that has more than k are for testing."""
        order = np.lexsort((np.random.default_rng(seed).random(len(self)), self.query))
        sorted_query = self.query[order]
        place = np.arange(len(self)) - np.searchsorted(sorted_query, sorted_query)
        test = np.zeros(len(self), bool)
        test[order] = (place < k) & (np.bincount(self.query)[sorted_query] > k)
        return self._split(test, "split_leave_out")

    def split_by_time(self, share: float = 0.1) -> tuple[Dataset, Dataset]:
        """Return (training, test): the latest share of the pairs is for testing."""
        if self.time is None:
            raise DataError("split_by_time: the pairs have no time; name its column: Dataset.of(..., time=...)")
        order = np.argsort(self.time, kind="stable")
        test = np.zeros(len(self), bool)
        test[order[len(self) - round(_share(share) * len(self)) :]] = True
        return self._split(test, "split_by_time")

    def split_cold(
        self, side: Literal["query", "target"], share: float = 0.1, seed: int = 0
    ) -> tuple[Dataset, Dataset]:
        """Return (training, test): all pairs of a random share of the queries, or targets, are for testing."""
        if side not in ("query", "target"):
            raise ValueError(f"side: expected 'query' or 'target', got {side!r}")
        rows = self.query if side == "query" else self.target
        seen = np.flatnonzero(np.bincount(rows))
        cold = np.zeros(int(rows.max()) + 1, bool)
        cold[np.random.default_rng(seed).choice(seen, max(1, round(_share(share) * len(seen))), replace=False)] = True
        return self._split(cold[rows], "split_cold")


def _keys(data: Dataset) -> NDArray[np.int64]:
    """Return one number for each pair."""
    return data.query.astype(np.int64) * data.shape[1] + data.target


def _draw_negatives(
    data: Dataset, ratio: float, popular: bool, rng: np.random.Generator, taken: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the keys of pairs that are not taken, all different, about ``ratio`` for each pair of a query."""
    targets = data.shape[1]
    free = targets - np.bincount(taken // targets, minlength=data.shape[0])
    wanted = np.minimum(np.ceil(ratio * np.bincount(data.query, minlength=data.shape[0])), free).astype(np.int64)
    weight = np.bincount(data.target, minlength=targets) if popular else np.ones(targets)
    share = np.cumsum(weight) / weight.sum()
    found = np.zeros(0, np.int64)
    missing = wanted.copy()
    for _ in range(50):  # a query whose popular targets are all taken ends with fewer
        query = np.repeat(np.arange(data.shape[0]), missing)
        key = query * targets + np.searchsorted(share, rng.random(len(query)), side="right").clip(0, targets - 1)
        fresh = np.setdiff1d(key, np.concatenate([taken, found]))
        found = np.concatenate([found, fresh])
        missing = wanted - np.bincount(found // targets, minlength=data.shape[0])
        if not missing.any():
            break
    return np.sort(found)


def _share(share: float) -> float:
    if not 0 < share < 1:
        raise ValueError(f"share: expected a number between 0 and 1, got {share!r}")
    return share


def _roles(frame: pl.DataFrame, given: Mapping[str, str | None]) -> dict[str, str | None]:
    """Return the column for each role: as named, else by a usual name, else by place."""
    require(frame, given, "pairs")
    roles: dict[str, str | None] = dict(given)
    taken = {column for column in given.values() if column}
    for role, usual in ROLES.items():
        if roles[role] is None:
            names = {column.lower(): column for column in frame.columns if column not in taken}
            roles[role] = next((names[name] for name in usual if name in names), None)
        taken |= {column for column in (roles[role],) if column}
    for role in ("query", "target"):
        free = [column for column in frame.columns if column not in taken]
        if roles[role] is None:
            if not free:
                raise DataError(f"pairs: no column is left for the {role}; the columns are {frame.columns}")
            roles[role] = free[0]
            taken.add(free[0])
    if roles["score"] is None:
        numbers = [c for c in frame.columns if c not in taken and frame[c].dtype.is_numeric()]
        roles["score"] = numbers[0] if numbers else None
    return roles


def _clean(frame: pl.DataFrame, roles: Mapping[str, str | None], duplicates: str) -> pl.DataFrame:
    """Check scores and weights; settle pairs that occur twice."""
    if duplicates not in ("error", "last", "mean"):
        raise ValueError(f"duplicates: expected 'error', 'last' or 'mean', got {duplicates!r}")
    used = [column for column in roles.values() if column]
    frame = frame.select(used)
    for role in ("score", "weight"):
        column = roles[role]
        if column is None:
            continue
        series = frame[column]
        if not series.dtype.is_numeric() and series.dtype != pl.Boolean:
            raise DataError(f"pairs: column {column!r}, the {role}, holds {series.dtype}, expected numbers")
        bad = series.cast(pl.Float64).is_finite().fill_null(False).not_()
        if bad.any():
            row = int(bad.arg_max() or 0)
            raise DataError(
                f"pairs: {bad.sum()} values of {column!r}, the {role}, are missing or not finite, first in row {row}"
            )
    query, target = str(roles["query"]), str(roles["target"])
    frame = frame.with_columns(normal(frame[query], f"pairs, {query!r}"), normal(frame[target], f"pairs, {target!r}"))
    twice = frame.height - frame.select(query, target).n_unique()
    if not twice:
        return frame
    if duplicates == "error":
        example = frame.filter(pl.struct(query, target).is_duplicated()).row(0, named=True)
        raise DataError(
            f"pairs: {twice} rows repeat a pair, such as {query} {example[query]!r} with {target} {example[target]!r}; "
            "pass duplicates='last' or 'mean'"
        )
    if duplicates == "last":
        return frame.unique([query, target], keep="last", maintain_order=True)
    return frame.group_by([query, target], maintain_order=True).agg(pl.exclude(query, target).mean())


def _attributes(
    role: str, column: pl.Series, name: str, source: Source | None, id_column: str | None,
    blocks: Sequence[Block] | Literal["guess"], label: str | None, indicator: bool,
) -> Attributes:  # fmt: skip
    what = "queries" if role == "query" else "targets"
    if source is None:
        if blocks != "guess" and blocks:
            raise DataError(f"{role}_blocks: there is no table of {what} to take them from")
        ids = Ids.of(column, what=f"pairs, {name!r}")
        if not indicator:
            raise DataError(f"{role}_indicator: without it, and without a table of {what}, there are no features")
        return Attributes(ids, pl.DataFrame({"id": ids.values}), (), True, None)
    table = read_table(source, what)
    key = id_column or (name if name in table.columns else table.columns[0])
    require(table, {"id": key, "label": label}, what)
    keys = normal(table[key], f"{what}, {key!r}")
    if keys.n_unique() < len(keys):
        raise DataError(f"{what}: column {key!r} has ids twice, such as {keys.filter(keys.is_duplicated())[0]!r}")
    ids = Ids.of(column, keys, what=f"{what}, {key!r}")
    aligned = pl.DataFrame({key: ids.values}).join(
        table.with_columns(keys.alias(key)), on=key, how="left", maintain_order="left"
    )
    if label is None:
        names = {c.lower(): c for c in table.columns}
        label = next((names[usual] for usual in ("title", "name", f"{role}_name") if usual in names), None)
    chosen = tuple(guess(table, [key, *([label] if label else [])]) if blocks == "guess" else blocks)
    for block in chosen:
        require(table, {f"block {block.title!r}": c for c in block.columns}, what)
    titles = [block.title for block in chosen]
    if len(set(titles)) < len(titles):
        raise DataError(f"{role}_blocks: two blocks have one name: {titles}; give them a name=")
    return Attributes(ids, aligned, chosen, indicator, label)


__all__ = ["Attributes", "Dataset"]
