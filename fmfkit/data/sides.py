"""What describes the instances of one side: a table, and feature blocks from it."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Mapping, Sequence
from typing import Literal

import attrs
import numpy as np
import polars as pl
import scipy.sparse as sp
from numpy.typing import NDArray

from fmfkit.data.blocks import Block, Instances, Learnt, guess
from fmfkit.data.delimited import BadRows
from fmfkit.data.ids import Ids, normal
from fmfkit.data.roles import ROLES
from fmfkit.data.tables import Source, as_words, attribute, read_table, require
from fmfkit.errors import DataError

PLURAL = {"query": "queries", "target": "targets"}
INDICATOR = "indicator"
HISTORY = "history"
"""The names of the feature blocks that no column makes."""


@attrs.frozen
class SideTable:
    """A table that describes the queries, or the targets, and how its columns become features."""

    table: Source | None = attrs.field(default=None, eq=False, repr=False)
    """Its attributes; instances without pairs become cold ones. None where the blocks need no column."""
    id: str | None = attrs.field(default=None, kw_only=True)
    """The column with the ids; by default as in the table of pairs, else the first."""
    blocks: Sequence[Block] | Literal["guess"] = attrs.field(default="guess", kw_only=True)
    """Features from its columns; "guess" makes them by what the columns look like."""
    label: str | None = attrs.field(default=None, kw_only=True)
    """The column that people read; by default one called "name" or "title"."""
    indicator: bool = attrs.field(default=True, kw_only=True)
    """Whether each instance has a feature of its own."""

    @classmethod
    def of(cls, given: SideTable | Source | None) -> SideTable:
        """Return a table, given with what it is for or alone."""
        return given if isinstance(given, SideTable) else cls(given)


@attrs.frozen(eq=False)
class Attributes:
    """What is known of the instances of one side: a table in the order of its ids, and blocks of features from it."""

    ids: Ids
    table: pl.DataFrame = attrs.field(repr=False)
    """A row for each id; empty cells where the source had no such id."""
    blocks: tuple[Block, ...]
    indicator: bool
    """Whether each instance has a feature of its own, beside the blocks."""
    label: str | None
    """The column that people read: a title, a name."""
    left_out: Mapping[str, str] = attrs.field(factory=dict)
    """Columns that became no features, and why, where that was guessed."""

    @functools.cached_property
    def instances(self) -> Instances:
        """What blocks make features from."""
        return Instances(self.table, self.ids.names)

    @functools.cached_property
    def learnt(self) -> tuple[Learnt, ...]:
        """The blocks, having looked at the table: once, for all parts of a data set."""
        return tuple(block.learn(self.instances) for block in self.blocks)

    @functools.cached_property
    def matrices(self) -> dict[str, sp.csr_array]:
        """The features of the blocks: made once, for all parts of a data set."""
        return {learnt.block.title: learnt.matrix(self.instances) for learnt in self.learnt}

    def labels(self) -> pl.Series:
        """Return what people read for each instance: the label, else the id."""
        if self.label is None:
            return self.ids.names
        column = attribute(self.table[self.label])
        found = column.list.join(", ") if column.dtype == pl.List else as_words(column)
        shown = found.is_not_null() & (found != "")
        return found.zip_with(shown.fill_null(False), self.ids.names)


def describe_side(
    role: str, column: pl.Series, given: SideTable, pairs: Mapping[str, str], bad_rows: BadRows = "error"
) -> tuple[Attributes, NDArray[np.int32]]:
    """Return what is known of one side, and the row of each pair's instance.

    ``column`` has the pairs' ids; ``pairs`` has the names of the columns with the queries' and the targets' ids.
    """
    what = PLURAL[role]
    pair_ids = normal(column, f"pairs, {column.name!r}")
    if given.table is None:
        if given.label is not None:
            raise DataError(f"{what}: there is no table of {what} to take the label {given.label!r} from")
        table, key, keys = None, "id", pair_ids[:0]
    else:
        table = read_table(given.table, what, bad_rows=bad_rows)
        key = given.id or join_key(role, table, pairs)
        require(table, {"id": key, "label": given.label}, what)
        keys = normal(table[key], f"{what}, {key!r}")
    ids, (pair_rows, table_rows) = Ids.numbered(pair_ids, keys, what=f"{what}, {key!r}")
    if table is not None and given.id is None and key != column.name and key.lower() != "id":
        _say_joined(what, key, column.name, len(np.unique(pair_rows)), pair_rows, table_rows)
    aligned = _aligned(table, key, ids, table_rows, what)
    label = given.label or _usual_label(role, aligned)
    blocks, left_out = _blocks(given, aligned, [key, *([label] if label else [])])
    if table is None and any(block.columns for block in blocks):
        raise DataError(f"{what}: there is no table of {what} to take the blocks' columns from")
    _check_blocks(what, aligned, blocks, given.indicator)
    return Attributes(ids, aligned, blocks, given.indicator, label, left_out), pair_rows


def join_key(role: str, table: pl.DataFrame, pairs: Mapping[str, str]) -> str:
    """Return the column that a table is joined by: called as in the pairs, else by a usual name or id, else the first.

    A table that has the ids of the other side instead is refused: equal numbers would join what does not belong
    together.

    Args:
        role: what the table describes: "query" or "target".
        table: it.
        pairs: the columns of the pairs, by role.
    """
    if pairs[role] in table.columns:
        return pairs[role]
    names = {column.lower(): column for column in table.columns}
    if usual := [names[name] for name in (*ROLES[role], "id") if name in names]:
        return usual[0]
    other = "target" if role == "query" else "query"
    of_other = [column for column in table.columns if column == pairs[other] or column.lower() in ROLES[other]]
    if of_other:
        raise DataError(
            f"{PLURAL[role]}: the table has no column {pairs[role]!r}, but {of_other[0]!r}, which holds "
            f"{PLURAL[other]}: was it to be given as the {PLURAL[other]}? If not, id= names the column to join by"
        )
    return table.columns[0]


def _say_joined(
    what: str, key: str, name: str, count: int, pair_rows: NDArray[np.int32], table_rows: NDArray[np.int32]
) -> None:
    """Say that a table is joined by a column that is called otherwise in the pairs; refuse it if no id is the same."""
    met = int(np.isin(np.unique(pair_rows), table_rows).sum())
    if not met:
        raise DataError(
            f"{what}: the table has no column {name!r}, and of its first, {key!r}, no value is among the {count:,} ids "
            "of the pairs; id= names the column to join by"
        )
    warnings.warn(
        f"{what}: joined by column {key!r}, which is {name!r} in the pairs; it has {met:,} of the {count:,} ids there",
        UserWarning,
        stacklevel=4,
    )


def _blocks(given: SideTable, table: pl.DataFrame, known: list[str]) -> tuple[tuple[Block, ...], dict[str, str]]:
    """Return the blocks, as asked for or guessed, and why columns became none; ``known`` are its key and label."""
    if given.blocks != "guess":
        return tuple(given.blocks), {}
    guessed, left_out = guess(table, known)
    return tuple(guessed), left_out | dict.fromkeys(known[1:], "it is the label")


def _aligned(table: pl.DataFrame | None, key: str, ids: Ids, rows: NDArray[np.int32], what: str) -> pl.DataFrame:
    """Return a table in the order of the ids, whose ``rows`` its own are; empty cells where it has none."""
    place = np.full(len(ids), -1)
    place[rows] = np.arange(len(rows))
    if (again := np.flatnonzero(place[rows] != np.arange(len(rows)))).size:
        raise DataError(f"{what}: column {key!r} has ids twice, such as {ids.at(rows[again[:1]])[0]!r}")
    aligned = pl.DataFrame({key: ids.values})
    if table is None:
        return aligned
    return aligned.with_columns(table.drop(key).select(pl.all().gather(pl.Series(place).replace(-1, None))))


def _usual_label(role: str, table: pl.DataFrame) -> str | None:
    names = {c.lower(): c for c in table.columns[1:]}
    return next((names[usual] for usual in ("title", "name", f"{role}_name") if usual in names), None)


def _check_blocks(what: str, table: pl.DataFrame, blocks: Sequence[Block], indicator: bool) -> None:
    for block in blocks:
        require(table, {f"block {block.title!r}": c for c in block.columns}, what)
    titles = [block.title for block in blocks]
    if len({*titles, INDICATOR, HISTORY}) < len(titles) + 2:
        raise DataError(f"{what}: two blocks have one name: {[INDICATOR, HISTORY, *titles]}; give them a name=")
    if not blocks and not indicator:
        raise DataError(f"{what}: without blocks and without indicator they have no features")


__all__ = ["HISTORY", "INDICATOR", "Attributes", "SideTable", "describe_side", "join_key"]
