"""Tables that ranks read apart, brought together by shard: each query's rows come to the rank that has its shard.

A query's shard is a function of its id alone, queries are numbered by shard and id, and targets by id: the numbers are
the same on any number of ranks, however rows are spread over files.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np
import polars as pl
from fmfkit_mpi.group import Group
from fmfkit_mpi.tables import Table, read_mine, together, with_agreed_ids
from numpy.typing import NDArray

from fmfkit import Dataset
from fmfkit.commands import by_place, find_roles, key_of, unused
from fmfkit.data import SideTable
from fmfkit.errors import DataError

SHARD = "__shard__"
AT_ONCE = 2**22
"""Rows that a rank sends at a time: messages of MPI have less than 2 GB."""
ROLES = ("query", "target", "rating", "weight")


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
    read = read_mine(group, pairs, "pairs")
    roles, notes = group.agreed(lambda: _roles(read[0].frame, columns or {}))
    keys = {"query": str(roles["query"]), "target": str(roles["target"])}
    read = [table.usable(roles) for table in read]
    described = read_mine(group, queries, "queries") if queries else []
    whole = [] if targets is None else [Table.read(targets, "targets")]
    key = group.agreed(lambda: key_of("query", described[0].frame, keys)) if queries else keys["query"]
    target_key = key_of("target", whole[0].frame, keys) if whole else keys["target"]
    read, described = with_agreed_ids(group, [(read, keys["query"]), (described, key)])
    read, whole = with_agreed_ids(group, [(read, keys["target"]), (whole, target_key)])
    frame = together(group, read)
    query, target = keys["query"], keys["target"]
    frame = exchanged(group, frame, shards_of(frame[query], group.shards)).sort(
        SHARD, query, target, maintain_order=True
    )
    frame, counted, weight = _without_duplicates(group, frame, roles)
    paired = frame.select(query, SHARD).unique()
    known = _all_queries(group, paired, together(group, described) if queries else None, key, query)
    every_target = _all_targets(group, frame[target], whole[0].frame[target_key] if whole else None)
    ids, shard = known[query], known[SHARD].to_numpy()
    table = whole[0].frame if whole else None
    used = {**roles, "weight": weight, "time": None}
    schema = _schema(ids, every_target, used, known.drop(SHARD) if queries else None, table, history=history)
    data = schema.with_pairs(frame.drop(SHARD)) if frame.height else schema.only(np.zeros(len(schema), bool))
    notes += [f"{counted:,} rows that repeat a pair became weights"] if counted else []
    data = attrs.evolve(data, columns={**used, "time": roles["time"]}, counted=counted, notes=tuple(notes))
    return Gathered(data, np.searchsorted(shard, [*group.mine, group.mine.stop]).astype(np.int64))


def _roles(frame: pl.DataFrame, given: dict[str, str | None]) -> tuple[dict[str, str | None], list[str]]:
    """Return the columns by their roles, and what is said of them."""
    named = dict.fromkeys((*ROLES, "time")) | given
    roles = find_roles(frame, named)
    return roles, [*by_place(frame, roles, named), *unused(frame, roles)]


def _without_duplicates(
    group: Group, frame: pl.DataFrame, roles: dict[str, str | None]
) -> tuple[pl.DataFrame, int, str | None]:
    """Count pairs that occur several times, where ratings say nothing; refuse them where they do.

    Returns the pairs, how many rows repeated one, and the column of the weights.
    """
    keys, rating, weight = [str(roles["query"]), str(roles["target"])], roles["rating"], roles["weight"]
    twice = frame.filter(frame.select(keys).is_duplicated()).select(keys)
    counts = group.each((twice.height - twice.n_unique() if twice.height else 0, twice.head(1).rows()))
    again = sum(count for count, _ in counts)
    if not again:
        return frame, 0, weight
    if rating is not None:
        levels = {level for one in group.each(frame[rating].unique().head(2).to_list()) for level in one}
        if len(levels) > 1 or min(levels) <= 0:
            (query, target), *_ = (row for _, rows in counts for row in rows)
            raise DataError(
                f"pairs: {again:,} rows repeat a pair, such as {keys[0]} {query!r} with {keys[1]} {target!r}; keep one "
                "of each: on several ranks ratings are not merged"
            )
    named = weight or "_".join([*(column for column in roles.values() if column), "count"])
    made = [pl.len().cast(pl.Float64).alias(named) if weight is None else pl.col(weight).sum()]
    made += [] if rating is None else [pl.col(rating).first()]
    return frame.group_by([SHARD, *keys], maintain_order=True).agg(made), again, named


def _all_queries(group: Group, paired: pl.DataFrame, table: pl.DataFrame | None, key: str, query: str) -> pl.DataFrame:
    """Return all queries in the order of their numbers, with their attributes and their shards."""
    mine = paired
    if table is not None:
        table = table.rename({key: query}) if key != query else table
        table = exchanged(group, table, shards_of(table[query], group.shards))
        mine = paired.join(table, on=[query, SHARD], how="full", coalesce=True)
        met = sum(group.each(table[query].is_in(paired[query].to_list()).sum()))
        if key != query and not met:
            raise DataError(
                f"queries: the tables have no column {query!r}, and of {key!r} no value is among the ids of the pairs; "
                f"call the column with the ids {query!r}"
            )
    every: list[pl.DataFrame] = group.each(mine.sort(SHARD, query))
    return pl.concat(every, how="vertical_relaxed")


def _all_targets(group: Group, paired: pl.Series, described: pl.Series | None) -> pl.Series:
    """Return all targets in the order of their numbers."""
    parts: list[pl.Series] = group.each(paired.unique())
    found = pl.concat([*parts, *([] if described is None else [described.alias(paired.name)])])
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


__all__ = ["Gathered", "exchanged", "gather", "hashes", "mixed", "shards_of"]
