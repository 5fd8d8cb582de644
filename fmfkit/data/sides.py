"""What describes the instances of one side: a table, and feature blocks from it."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Literal

import attrs
import numpy as np
import polars as pl
import scipy.sparse as sp
from numpy.typing import NDArray

from fmfkit.data.blocks import Block, Instances, Learnt, guess
from fmfkit.data.cells import attributes
from fmfkit.data.delimited import BadRows
from fmfkit.data.ids import Ids, normal
from fmfkit.data.joins import PLURAL, Pairs, first_rows, key_of, say_joined, usable_rows
from fmfkit.data.tables import Source, as_words, attribute, places, read_table, require
from fmfkit.errors import DataError

INDICATOR = "indicator"
HISTORY = "history"
"""The names of the feature blocks that no column makes."""
IS_LABEL = "it is the label"
"""Why a column of labels becomes no feature."""


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
    guessed: frozenset[str] = frozenset()
    """What of it nobody gave, but the table looked like: "blocks", "label"."""

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
    role: str, given: SideTable, pairs: Pairs, bad_rows: BadRows = "error"
) -> tuple[Attributes, NDArray[np.int32]]:
    """Return what is known of one side, and the row of each pair's instance."""
    what, name = PLURAL[role], pairs.columns[role]
    if given.table is None:
        return _without_table(given, normal(pairs.ids(role), f"pairs, {name!r}"), what)
    table = read_table(given.table, what, bad_rows=bad_rows)
    key = given.id or key_of(role, table, pairs.columns)
    require(table, {"id": key, "label": given.label}, what)
    label = given.label or _usual_label(role, [column for column in table.columns if column != key])
    table = attributes(table, (key, label), what, functools.partial(places, given.table))
    table = usable_rows(role, table, key, pairs, given.table, bad_rows)
    at, table = table[table.columns[-1]], table[:, :-1]
    pair_ids, keys = normal(pairs.ids(role), f"pairs, {name!r}"), normal(table[key], f"{what}, {key!r}")
    ids, (pair_rows, table_rows) = Ids.numbered(pair_ids, keys, what=f"{what}, {key!r}")
    if given.id is None:
        met = np.unique(pair_rows)
        say_joined(role, key, keys, pairs, len(met), int(np.isin(met, table_rows).sum()))

    def where(rows: list[int], told: list[str]) -> str:
        return places(given.table, at.gather(rows).to_list(), told)

    place = first_rows(ids, table_rows, f"{what}: column {key!r}", where, bad_rows)
    others = table.drop(key).select(pl.all().gather(pl.Series(place).replace(-1, None)))
    aligned = pl.DataFrame({key: ids.values}).with_columns(others)
    blocks, left_out = _blocks(given, aligned, [key, *([label] if label else [])])
    _check_blocks(what, aligned, blocks, given.indicator)
    guessed = {"blocks": given.blocks == "guess", "label": given.label is None}
    asked = frozenset(name for name, without in guessed.items() if without)
    return Attributes(ids, aligned, blocks, given.indicator, label, left_out, asked), pair_rows


def _without_table(given: SideTable, pair_ids: pl.Series, what: str) -> tuple[Attributes, NDArray[np.int32]]:
    """Return what is known of a side that no table describes, and the row of each pair's instance."""
    if given.label is not None:
        raise DataError(f"{what}: there is no table of {what} to take the label {given.label!r} from")
    ids, (pair_rows,) = Ids.numbered(pair_ids, what=f"{what}, 'id'")
    alone = pl.DataFrame({"id": ids.values})
    blocks, _ = _blocks(given, alone, ["id"])
    if any(block.columns for block in blocks):
        raise DataError(f"{what}: there is no table of {what} to take the blocks' columns from")
    _check_blocks(what, alone, blocks, given.indicator)
    return Attributes(ids, alone, blocks, given.indicator, None, {}, frozenset({"blocks", "label"})), pair_rows


def _blocks(given: SideTable, table: pl.DataFrame, known: list[str]) -> tuple[tuple[Block, ...], dict[str, str]]:
    """Return the blocks, as asked for or guessed, and why columns became none; ``known`` are its key and label."""
    if given.blocks != "guess":
        return tuple(given.blocks), {}
    guessed, left_out = guess(table, known)
    return tuple(guessed), left_out | dict.fromkeys(known[1:], IS_LABEL)


def _usual_label(role: str, columns: Sequence[str]) -> str | None:
    names = {column.lower(): column for column in columns}
    return next((names[usual] for usual in ("title", "name", f"{role}_name") if usual in names), None)


def _check_blocks(what: str, table: pl.DataFrame, blocks: Sequence[Block], indicator: bool) -> None:
    for block in blocks:
        require(table, {f"block {block.title!r}": c for c in block.columns}, what)
    titles = [block.title for block in blocks]
    if len({*titles, INDICATOR, HISTORY}) < len(titles) + 2:
        raise DataError(f"{what}: two blocks have one name: {[INDICATOR, HISTORY, *titles]}; give them a name=")
    if not blocks and not indicator:
        raise DataError(f"{what}: without blocks and without indicator they have no features")


__all__ = ["HISTORY", "INDICATOR", "Attributes", "SideTable", "describe_side"]
