"""Tables that ranks read apart, brought together by shard: each query's rows come to the rank that has its shard.

A query's shard is a function of its id alone, queries are numbered by shard and id, and targets by id: the numbers are
the same on any number of ranks, however rows are spread over files.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np
import polars as pl
from fmfkit_mpi.group import Group
from numpy.typing import NDArray

from fmfkit import Dataset
from fmfkit.data import SideTable, read_table
from fmfkit.errors import DataError

SHARD = "__shard__"
AT_ONCE = 2**22
"""Rows that a rank sends at a time: messages of MPI have less than 2 GB."""
ROLES = ("query", "target", "rating", "weight")
COUNT = "__count__"
"""The column of weights of pairs that occur several times."""


def mixed(bits: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Mix all bits of each number (the last steps of splitmix64)."""
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))


def hashes(ids: pl.Series) -> NDArray[np.uint64]:
    """Return a number for each id that is the same on every machine and in every version."""
    different = ids.unique()
    words = [str(word).encode() for word in different.cast(pl.String).to_list()]
    width = max((len(word) for word in words), default=0) // 8 + 1
    padded = np.array(words, dtype=f"S{8 * width}")
    parts = np.frombuffer(padded.tobytes(), "<u8").reshape(len(words), width)
    found = np.array([len(word) for word in words], np.uint64)
    for part in parts.T:
        found = mixed(found * np.uint64(0x9E3779B97F4A7C15) + part)
    table = pl.DataFrame({"id": different, "hash": pl.Series(found, dtype=pl.UInt64)})
    return pl.DataFrame({"id": ids}).join(table, on="id", how="left", maintain_order="left")["hash"].to_numpy()


def shards_of(ids: pl.Series, shards: int) -> NDArray[np.int64]:
    """Return the shard of each id."""
    return (hashes(ids) % np.uint64(shards)).astype(np.int64)


def read_mine(group: Group, paths: Sequence[Any], what: str) -> pl.DataFrame:
    """Return the rows of the files that a rank reads: every so many of them; tables that are no paths, rank 0 has."""
    if not paths:
        raise DataError(f"{what}: expected at least one file")
    mine = list(paths)[group.rank :: group.size]
    tables = [(_name_of(path, what), read_table(path, what)) for path in mine]
    schema = _common_schema(
        [known for one in group.each([(name, table.clear()) for name, table in tables]) for known in one]
    )
    cast = [table.select(schema.columns).cast(schema.schema) for _, table in tables]
    return pl.concat(cast) if cast else schema


def _name_of(path: Any, what: str) -> str:
    return str(path) if isinstance(path, str | os.PathLike) else f"a table of {what}"


def _common_schema(tables: list[tuple[str, pl.DataFrame]]) -> pl.DataFrame:
    """Return an empty table with the columns of all tables, of types that suit them all, given with their names."""
    (first, common), *rest = tables
    for name, table in rest:
        if set(table.columns) != set(common.columns):
            raise DataError(f"{name}: expected the columns of {first}, {common.columns}, found {table.columns}")
        try:
            common = pl.concat([common, table.select(common.columns)], how="vertical_relaxed")
        except pl.exceptions.PolarsError as error:
            types = ", ".join(
                f"{column} is {common.schema[column]} there and {kind} here"
                for column, kind in table.schema.items()
                if kind != common.schema[column]
            )
            raise DataError(f"{name}: its columns are of other types than those of {first}: {types}") from error
    return common


def exchanged(group: Group, frame: pl.DataFrame, shard: NDArray[np.int64]) -> pl.DataFrame:
    """Return the rows of the shards that are here, of all ranks' rows."""
    frame = frame.with_columns(pl.Series(SHARD, shard))
    if group.size == 1:
        return frame
    rank_of = group.owner(shard)
    received: list[pl.DataFrame] = []
    for begin in range(0, max(group.each(frame.height)), AT_ONCE):
        some, to = frame[begin : begin + AT_ONCE], rank_of[begin : begin + AT_ONCE]
        sent = [some.filter(pl.Series(to == rank, dtype=pl.Boolean)) for rank in range(group.size)]
        received += group.comm.alltoall(sent)
    return pl.concat(received, how="vertical_relaxed")


@attrs.frozen(eq=False)
class Gathered:
    """The pairs of the queries that are here, and what all ranks know alike."""

    data: Dataset
    """All queries and targets, by numbers that are the same everywhere, and the pairs that are here."""
    cuts: NDArray[np.int64]
    """The number of the first query of each shard that is here, and of the one after the last."""

    @property
    def rows(self) -> slice:
        """The queries that are here."""
        return slice(int(self.cuts[0]), int(self.cuts[-1]))


def gather(
    group: Group,
    pairs: Sequence[Any],
    *,
    queries: Sequence[Any] = (),
    targets: Any = None,
    columns: dict[str, str | None] | None = None,
    history: bool = False,
) -> Gathered:
    """Read tables, a rank its files, and bring each query's rows to the rank that has its shard.

    Args:
        group: the ranks.
        pairs: the files with the pairs.
        queries: files with attributes of the queries; every rank gets all of them, to learn features from.
        targets: the table of the targets' attributes, which every rank reads.
        columns: the columns of the pairs by their roles, as ``Dataset.of`` takes them.
        history: whether queries have the targets that they are paired with as features.
    """
    frame = read_mine(group, pairs, "pairs")
    roles = _roles(group, frame, columns or {})
    frame = frame.select([roles[role] for role in ROLES if roles[role] is not None])
    query, target = str(roles["query"]), str(roles["target"])
    frame = exchanged(group, frame, shards_of(frame[query], group.shards)).sort(
        SHARD, query, target, maintain_order=True
    )
    frame, roles = _without_duplicates(group, frame, roles)
    known = _all_queries(group, frame.select(query, SHARD).unique(), queries, query)
    every_target = _all_targets(group, frame[target], targets, target)
    ids, shard = known[query], known[SHARD].to_numpy()
    schema = _schema(ids, every_target, roles, known.drop(SHARD) if queries else None, targets, history=history)
    data = schema.with_pairs(frame.drop(SHARD)) if frame.height else schema.only(np.zeros(len(schema), bool))
    return Gathered(data, np.searchsorted(shard, [*group.mine, group.mine.stop]).astype(np.int64))


def _roles(group: Group, frame: pl.DataFrame, columns: dict[str, str | None]) -> dict[str, str | None]:
    """Return the columns by their roles, as a rank that has rows finds them."""
    given: dict[str, Any] = {**columns}
    mine = dict(Dataset.of(frame.head(100), duplicates="last", **given).columns) if frame.height else None
    found = next((roles for roles in group.each(mine) if roles is not None), None)
    if found is None:
        raise DataError("pairs: the files have no rows")
    return {**found, "time": None}


def _without_duplicates(
    group: Group, frame: pl.DataFrame, roles: dict[str, str | None]
) -> tuple[pl.DataFrame, dict[str, str | None]]:
    """Count pairs that occur several times, where there are no ratings; refuse them where there are."""
    keys = [str(roles["query"]), str(roles["target"])]
    again = frame.height - frame.select(keys).n_unique() if frame.height else 0
    if not sum(group.each(again)):
        return frame, roles
    if roles["rating"] is not None:
        raise DataError(f"pairs: {sum(group.each(again))} rows repeat a pair; keep one of each")
    weight = pl.len().cast(pl.Float64) if roles["weight"] is None else pl.col(str(roles["weight"])).sum()
    counted = frame.group_by([SHARD, *keys], maintain_order=True).agg(weight.alias(COUNT))
    return counted, {**roles, "weight": COUNT}


def _all_queries(group: Group, paired: pl.DataFrame, tables: Sequence[Any], query: str) -> pl.DataFrame:
    """Return all queries in the order of their numbers, with their attributes and their shards."""
    mine = paired
    if tables:
        table = read_mine(group, tables, "queries")
        key = query if query in table.columns else table.columns[0]
        table = table.rename({key: query}).with_columns(pl.col(query).cast(paired.schema[query]))
        table = exchanged(group, table, shards_of(table[query], group.shards))
        mine = paired.join(table, on=[query, SHARD], how="full", coalesce=True)
    every: list[pl.DataFrame] = group.each(mine.sort(SHARD, query))
    return pl.concat(every, how="vertical_relaxed")


def _all_targets(group: Group, paired: pl.Series, table: Any, target: str) -> pl.Series:
    """Return all targets in the order of their numbers."""
    parts: list[pl.Series] = group.each(paired.unique())
    found = pl.concat(parts)
    if table is not None:
        frame = read_table(table, "targets")
        key = target if target in frame.columns else frame.columns[0]
        found = pl.concat([found, frame[key].cast(found.dtype)])
    return found.unique().sort()


def _schema(
    queries: pl.Series,
    targets: pl.Series,
    roles: dict[str, str | None],
    query_table: pl.DataFrame | None,
    target_table: Any,
    *,
    history: bool,
) -> Dataset:
    """Return a data set that numbers queries and targets in their orders; its pairs stand for nothing."""
    length = max(len(queries), len(targets))
    at = np.arange(length)
    columns: dict[str, Any] = {
        str(roles["query"]): queries.gather(np.minimum(at, len(queries) - 1)),
        str(roles["target"]): targets.gather(np.minimum(at, len(targets) - 1)),
    }
    for role in ("rating", "weight"):
        if roles[role] is not None:
            columns[str(roles[role])] = np.ones(length)
    named: dict[str, Any] = {role: roles[role] for role in ROLES}
    sides = {
        "queries": None if query_table is None else SideTable(query_table, id=str(roles["query"])),
        "targets": target_table,
    }
    return Dataset.of(pl.DataFrame(columns), **named, **sides, history=history, duplicates="last")


__all__ = ["Gathered", "exchanged", "gather", "hashes", "mixed", "read_mine", "shards_of"]
