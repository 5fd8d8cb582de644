"""A data set: pairs of ids with scores, tables that describe either side, and how their columns become features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import attrs
import numpy as np
import polars as pl
import scipy.sparse as sp
from numpy.typing import NDArray

from fmfkit.data.blocks import Block, Instances, guess
from fmfkit.data.ids import Ids, normal
from fmfkit.data.tables import Source, read_table, require
from fmfkit.errors import DataError

if TYPE_CHECKING:
    from fmfkit.data.report import Report

ROLES = {
    "query": ("query", "query_id", "user", "user_id", "userid", "reader", "customer", "customer_id"),
    "target": ("target", "target_id", "item", "item_id", "itemid", "movie", "movie_id", "movieid", "book", "book_id",
               "product", "product_id"),
    "score": ("score", "rating", "stars", "y", "label", "value"),
    "time": ("time", "timestamp", "date"),
    "weight": ("weight", "sample_weight"),
}  # fmt: skip
"""Names by which columns are known if they are not named."""

INDICATOR = "indicator"
IMPLICIT = "implicit"
"""The names of the blocks that no column makes."""


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

    @property
    def instances(self) -> Instances:
        """What blocks make features from."""
        return Instances(self.table, self.ids.names)

    def labels(self, rows: Any) -> list[str]:
        """Return what people read for row numbers: the label, else the id."""
        ids = self.ids.at(rows)
        if self.label is None:
            return ["" if value is None else str(value) for value in ids]
        found = self.table[self.label].cast(pl.String).gather(np.maximum(np.asarray(rows).ravel(), 0)).to_list()
        return ["" if i is None else name or str(i) for name, i in zip(found, ids, strict=True)]


@attrs.frozen(eq=False, repr=False)
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
        frame = _numbers(frame, roles)
        sides = {}
        for role, source, id_column, blocks, label, indicator in (
            ("query", queries, query_id, query_blocks, query_label, query_indicator),
            ("target", targets, target_id, target_blocks, target_label, target_indicator),
        ):
            name = str(roles[role])
            sides[role], rows = _attributes(role, frame[name], source, id_column, blocks, label, indicator)
            frame = frame.with_columns(pl.Series(name, rows))
        frame = _settled(frame, roles, duplicates, sides)
        return cls(
            **_columns(frame, roles), queries=sides["query"], targets=sides["target"], columns=roles, implicit=implicit
        )

    def with_pairs(self, source: Source, *, scores: bool = True) -> Dataset:
        """Return the same ids and tables with the pairs of another table, which has the same columns.

        ``scores`` says whether it has scores. Ids that are not known are refused; of a pair that occurs twice the last
        counts.
        """
        frame = read_table(source, "pairs")
        roles = {
            role: column if role not in ("weight", "time") or column in frame.columns else None
            for role, column in self.columns.items()
            if scores or role in ("query", "target")
        }
        require(frame, roles, "pairs")
        roles = {"score": None, "weight": None, "time": None, **roles}
        frame = _numbers(frame, roles)
        sides = {"query": self.queries, "target": self.targets}
        for role, side in sides.items():
            name = str(roles[role])
            what = "pairs, queries" if role == "query" else "pairs, targets"
            frame = frame.with_columns(pl.Series(name, side.ids.known_rows(frame[name], what)))
        frame = _settled(frame, roles, "last", sides)
        return attrs.evolve(self, **_columns(frame, roles), sampled=None)

    def __len__(self) -> int:
        """Return the number of pairs."""
        return len(self.query)

    def __repr__(self) -> str:
        """Return its size and its blocks."""
        blocks = [f"{side}.{block.title}" for side, of in (("query", self.queries), ("target", self.targets))
                  for block in of.blocks]  # fmt: skip
        return f"Dataset({len(self)} pairs, {self.shape[0]} queries, {self.shape[1]} targets, blocks {blocks})"

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

    def by_query(self) -> tuple[sp.csr_array, NDArray[np.float64] | None]:
        """Return the scores of the pairs, but for drawn ones, as a sparse matrix, and their weights in its order."""
        order = np.lexsort((self.target, self.query))
        if self.sampled is not None:
            order = order[~self.sampled[order]]
        ptr = np.searchsorted(self.query[order], np.arange(self.shape[0] + 1))
        matrix = sp.csr_array((self.score[order].astype(np.float32), self.target[order], ptr), shape=self.shape)
        return matrix, None if self.weight is None else self.weight[order]

    def report(self, test: Dataset | None = None) -> Report:
        """Return what the data holds, block by block, and warnings of usual mistakes; print it.

        ``test`` is the part that the model will be tested on: the report tells whether training knows its pairs.
        """
        from fmfkit.data.report import report

        return report(self, test)

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
        known: Dataset | sp.csr_array | None = None,
    ) -> Dataset:  # fmt: skip
        """Return the pairs with others added, score 0: for data that has positives only.

        Args:
            ratio: how many to draw for each positive, query by query; fewer where a query has few targets left.
            by: targets are drawn alike, or as often as they occur in the pairs.
            seed: of the draws.
            known: other pairs that are not drawn either: a data set with the same ids, such as the whole one, test part
                included, or a sparse matrix of them.
        """
        if not 0 < ratio < np.inf:
            raise ValueError(f"ratio: expected a finite number above 0, got {ratio!r}")
        if by not in ("uniform", "popularity"):
            raise ValueError(f"by: expected 'uniform' or 'popularity', got {by!r}")
        other = known.matrix if isinstance(known, Dataset) else known
        taken = pair_keys(self.query, self.target, self.shape)
        if other is not None:
            stored = np.repeat(np.arange(other.shape[0]), np.diff(other.indptr))  # zeros too
            taken = np.append(taken, pair_keys(stored, other.indices, self.shape))
        weight = np.bincount(self.target, minlength=self.shape[1]) if by == "popularity" else np.ones(self.shape[1])
        wanted = np.ceil(ratio * np.bincount(self.query, minlength=self.shape[0]))
        drawn = draw_pairs(wanted, weight, _different(taken), np.random.default_rng(seed))
        query, target = np.divmod(drawn, self.shape[1])
        before = np.zeros(len(self), bool) if self.sampled is None else self.sampled
        return attrs.evolve(
            self, query=np.append(self.query, query.astype(np.int32)),
            target=np.append(self.target, target.astype(np.int32)),
            score=np.append(self.score, np.zeros(len(drawn))),
            weight=None if self.weight is None else np.append(self.weight, np.ones(len(drawn))),
            time=None, sampled=np.append(before, np.ones(len(drawn), bool)),
        )  # fmt: skip

    def balanced(self, power: float) -> Dataset:
        """Return the same pairs, each weighed by how often its query and its target occur, to the power of ``-power``.

        Weights are multiplied by it, and stay the same on average. Pairs that were drawn are weighed like any other,
        and do not count as occurrences.
        """
        if not 0 <= power <= 1:
            raise ValueError(f"power: expected a number from 0 to 1, got {power!r}")
        known = slice(None) if self.sampled is None else ~self.sampled
        before = np.ones(len(self)) if self.weight is None else self.weight
        weight = before
        for rows, count in zip((self.query, self.target), self.shape, strict=True):
            often = np.maximum(np.bincount(rows[known], minlength=count), 1)
            weight = weight * ((often / len(self)) ** -float(power))[rows]
        total = weight.sum()
        return attrs.evolve(self, weight=weight * (before.sum() / total) if total > 0 else before)

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
            raise DataError(
                "split_by_time: the pairs have no time; name its column: Dataset.of(..., time=...), or --time"
            )
        if pl.Series(self.time, nan_to_null=True).is_null().any():
            raise DataError("split_by_time: some pairs have no time; leave them out, or use another split")
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


def pair_keys(query: NDArray[Any], target: NDArray[Any], shape: tuple[int, int]) -> NDArray[np.int64]:
    """Return one number for each pair."""
    return np.asarray(query.astype(np.int64) * shape[1] + target)


def _different(keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return different keys in order; NumPy's ``unique`` is slower by far."""
    keys = np.sort(keys)
    return keys[np.append(True, keys[1:] != keys[:-1])] if keys.size else keys


def _missing(keys: NDArray[np.int64], taken: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Tell which keys are not among ``taken``, which is in order."""
    place = np.searchsorted(taken, keys)
    return np.asarray(np.append(taken, -1)[place] != keys)


def draw_pairs(
    wanted: NDArray[np.float64], weight: NDArray[Any], taken: NDArray[np.int64], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Return the keys of different pairs that are not ``taken``, as many of each query as wanted, if there are.

    Targets are drawn by ``weight``, without replacement; those of weight 0 never.
    """
    targets = len(weight)
    possible = weight > 0
    used = np.bincount(taken[possible[taken % targets]] // targets, minlength=len(wanted))
    wanted = np.minimum(wanted, possible.sum() - used).astype(np.int64)
    dense = wanted > 0.1 * (possible.sum() - used)  # trial and error would take long
    sparse = _draw_by_trial(np.where(dense, 0, wanted), weight, taken, rng)
    return np.sort(np.append(sparse, _draw_by_order(np.where(dense, wanted, 0), weight, taken, rng)))


def _draw_by_trial(
    wanted: NDArray[np.int64], weight: NDArray[Any], taken: NDArray[np.int64], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Draw targets, and draw again where one is taken."""
    targets = len(weight)
    share = np.cumsum(weight) / weight.sum()
    found, missing = np.zeros(0, np.int64), wanted
    for _ in range(50):  # a query whose popular targets are nearly all taken may end with fewer
        query = np.repeat(np.arange(len(wanted)), missing)
        key = query * targets + np.searchsorted(share, rng.random(len(query)), side="right").clip(0, targets - 1)
        key = _different(key)
        found = np.sort(np.append(found, key[_missing(key, taken) & _missing(key, found)]))
        missing = wanted - np.bincount(found // targets, minlength=len(wanted))
        if not missing.any():
            break
    return found


def _draw_by_order(
    wanted: NDArray[np.int64], weight: NDArray[Any], taken: NDArray[np.int64], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Give every target a random time, the sooner the heavier, and take the first of those that are free."""
    targets, found = len(weight), [np.zeros(0, np.int64)]
    rows = np.flatnonzero(wanted)
    with np.errstate(divide="ignore"):
        slowness = 1 / weight
    for part in np.array_split(rows, 1 + len(rows) * targets // 4_000_000):
        times = rng.standard_exponential((len(part), targets)) * slowness
        place = np.full(len(wanted), -1)
        place[part] = np.arange(len(part))
        known = taken[place[taken // targets] >= 0]
        times[place[known // targets], known % targets] = np.inf
        order = np.argsort(times, axis=1)
        first = np.arange(targets) < wanted[part][:, None]
        found.append((part[:, None] * targets + order)[first])
    return np.concatenate(found)


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


def _numbers(frame: pl.DataFrame, roles: Mapping[str, str | None]) -> pl.DataFrame:
    """Return the columns that have a role; scores and weights must be finite numbers."""
    frame = frame.select(column for column in roles.values() if column)
    for role in ("score", "weight"):
        column = roles[role]
        if column is None:
            continue
        series = frame[column]
        if not series.dtype.is_numeric() and series.dtype != pl.Boolean:
            raise DataError(f"pairs: column {column!r}, the {role}, holds {series.dtype}, expected numbers")
        numbers = series.cast(pl.Float64)
        bad = numbers.is_finite().fill_null(False).not_()
        if bad.any():
            row = int(bad.arg_max() or 0)
            raise DataError(
                f"pairs: {bad.sum()} values of {column!r}, the {role}, are missing or not finite, first in row {row}"
            )
        frame = frame.with_columns(numbers)
    return frame


def _settled(
    frame: pl.DataFrame, roles: Mapping[str, str | None], duplicates: str, sides: Mapping[str, Attributes]
) -> pl.DataFrame:
    """Settle pairs, given by row numbers, that occur twice."""
    if duplicates not in ("error", "last", "mean"):
        raise ValueError(f"duplicates: expected 'error', 'last' or 'mean', got {duplicates!r}")
    query, target = str(roles["query"]), str(roles["target"])
    key = frame.select(pl.col(query).cast(pl.Int64) * len(sides["target"].ids) + pl.col(target)).to_series()
    twice = len(key) - key.n_unique()
    if not twice:
        return frame
    if duplicates == "error":
        row = frame.row(int(key.is_duplicated().arg_max() or 0), named=True)
        example = " with ".join(
            f"{name} {sides[role].ids.at([row[name]])[0]!r}" for role, name in (("query", query), ("target", target))
        )
        raise DataError(
            f"pairs: {twice} rows repeat a pair, such as {example}; pass duplicates='last' or 'mean', or --duplicates"
        )
    if duplicates == "last":
        return frame.unique([query, target], keep="last", maintain_order=True)
    return frame.group_by([query, target], maintain_order=True).agg(pl.all().mean())


def _columns(frame: pl.DataFrame, roles: Mapping[str, str | None]) -> dict[str, Any]:
    """Return the arrays of a data set."""
    arrays = {role: frame[column].to_numpy() if column else None for role, column in roles.items()}
    return arrays | {"score": np.ones(frame.height) if arrays["score"] is None else arrays["score"]}


def _attributes(
    role: str, column: pl.Series, source: Source | None, id_column: str | None,
    blocks: Sequence[Block] | Literal["guess"], label: str | None, indicator: bool,
) -> tuple[Attributes, NDArray[np.int32]]:  # fmt: skip
    """Return what is known of one side, and the rows of the pairs."""
    what = "queries" if role == "query" else "targets"
    pair_ids = normal(column, f"pairs, {column.name!r}")
    if source is None:
        table, key, keys = None, "id", pair_ids[:0]
    else:
        table = read_table(source, what)
        key = id_column or (column.name if column.name in table.columns else table.columns[0])
        require(table, {"id": key, "label": label}, what)
        keys = normal(table[key], f"{what}, {key!r}")
    ids, (pair_rows, table_rows) = Ids.numbered(pair_ids, keys, what=f"{what}, {key!r}")
    place = np.full(len(ids), -1)
    place[table_rows] = np.arange(len(table_rows))
    if (again := np.flatnonzero(place[table_rows] != np.arange(len(table_rows)))).size:
        raise DataError(f"{what}: column {key!r} has ids twice, such as {ids.at(table_rows[again[:1]])[0]!r}")
    aligned = pl.DataFrame({key: ids.values})
    if table is not None:
        aligned = aligned.with_columns(table.drop(key).select(pl.all().gather(pl.Series(place).replace(-1, None))))
    label = label or _usual_label(role, aligned)
    chosen = tuple(guess(aligned, [key, *([label] if label else [])]) if blocks == "guess" else blocks)
    if table is None and any(block.columns for block in chosen):
        raise DataError(f"{role}_blocks: there is no table of {what} to take them from")
    _check_blocks(role, aligned, chosen, indicator)
    return Attributes(ids, aligned, chosen, indicator, label), pair_rows


def _usual_label(role: str, table: pl.DataFrame) -> str | None:
    names = {c.lower(): c for c in table.columns[1:]}
    return next((names[usual] for usual in ("title", "name", f"{role}_name") if usual in names), None)


def _check_blocks(role: str, table: pl.DataFrame, blocks: Sequence[Block], indicator: bool) -> None:
    what = "queries" if role == "query" else "targets"
    for block in blocks:
        require(table, {f"block {block.title!r}": c for c in block.columns}, what)
    titles = [block.title for block in blocks]
    if len({*titles, INDICATOR, IMPLICIT}) < len(titles) + 2:
        raise DataError(f"{role}_blocks: two blocks have one name: {[INDICATOR, IMPLICIT, *titles]}; give them a name=")
    if not blocks and not indicator:
        raise DataError(f"{role}_indicator: without it, and without {role}_blocks, {what} have no features")


__all__ = ["Attributes", "Dataset"]
