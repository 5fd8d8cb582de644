"""Tables in several files, which ranks read apart: their columns, and the kinds of ids, are agreed on."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import attrs
import polars as pl
from fmfkit_mpi.group import Group

from fmfkit.commands import normal, usable
from fmfkit.data import read_table
from fmfkit.errors import DataError

WORDS = (pl.String, pl.Categorical, pl.Enum)


@attrs.frozen(eq=False)
class Table:
    """One file, or a frame."""

    source: Any
    what: str
    """What it describes: pairs, queries, targets."""
    frame: pl.DataFrame

    @classmethod
    def read(cls, source: Any, what: str, text: Collection[str] = ()) -> Table:
        """Read it, some columns as they are written."""
        return cls(source, what, read_table(source, what, bad_rows=None, text=text))

    @property
    def name(self) -> str:
        """What errors call it."""
        return str(self.source) if isinstance(self.source, str | os.PathLike) else f"a table of {self.what}"

    def with_ids(self, key: str, *, as_text: bool) -> Table:
        """Return it with ids of one kind for all whole numbers; as text they are read as they are written."""
        if not as_text:
            ids = normal(self.frame[key], f"{self.name}, {key!r}")
            return attrs.evolve(self, frame=self.frame.with_columns(ids))
        ids = self.frame[key]
        if ids.dtype not in WORDS and isinstance(self.source, str | os.PathLike):
            ids = Table.read(self.source, self.what, [key]).frame[key]
        if ids.dtype not in WORDS:
            ids = normal(ids, f"{self.name}, {key!r}")
        return attrs.evolve(self, frame=self.frame.with_columns(ids.cast(pl.String)))

    def usable(self, roles: Mapping[str, str | None]) -> Table:
        """Return the columns that have a role; refuse rows without ids, or with ratings that are no numbers."""
        try:
            frame = usable(self.frame, roles, None, self.source)
        except DataError as error:
            raise DataError(f"{self.name}: {error}") from None
        return attrs.evolve(self, frame=frame)


def read_mine(group: Group, paths: Sequence[Any], what: str) -> list[Table]:
    """Return the tables that a rank reads, every so many of all; they have the same columns."""
    if not paths:
        raise DataError(f"{what}: expected at least one file")
    mine = [Table.read(path, what) for path in list(paths)[group.rank :: group.size]]
    first, columns = group.agreed(lambda: (mine[0].name, mine[0].frame.columns))
    for table in mine:
        if set(table.frame.columns) != set(columns):
            raise DataError(f"{table.name}: expected the columns of {first}, {columns}, found {table.frame.columns}")
    return [attrs.evolve(table, frame=table.frame.select(columns)) for table in mine]


def with_agreed_ids(group: Group, given: Iterable[tuple[list[Table], str]]) -> list[list[Table]]:
    """Return lists of tables, each with its column of ids, with ids of one kind: text, if any of all ranks' is."""
    given = list(given)
    kinds = [(_kind(table.frame.schema[key]), table.name) for tables, key in given for table in tables]
    known: dict[str, str] = {}
    for kind, name in (one for of_rank in group.each(kinds) for one in of_rank):
        known.setdefault(kind, name)
    if len(known) > 1 and set(known) != {"numbers", "text"}:
        told = ", ".join(f"{kind} in {name}" for kind, name in known.items())
        raise DataError(f"{given[0][1]!r}: the ids are {told}; make them one kind")
    return [[table.with_ids(key, as_text="text" in known) for table in tables] for tables, key in given]


def _kind(kind: Any) -> str:
    if kind in WORDS:
        return "text"
    return "numbers" if kind.is_numeric() else str(kind)


def together(group: Group, tables: list[Table]) -> pl.DataFrame:
    """Return a rank's tables as one, with columns of types that suit those of all ranks."""
    everywhere = [known for one in group.each([(t.name, t.frame.clear()) for t in tables]) for known in one]
    (_, empty), *_ = everywhere
    common = {name: (everywhere[0][0], kind) for name, kind in empty.schema.items()}
    for name, table in everywhere:
        for column, kind in table.schema.items():
            first, before = common[column]
            if (found := _wider(before, kind)) is None:
                raise DataError(
                    f"{name}: column {column!r} holds {kind}, and {before} in {first}; make them one kind, such as by "
                    "writing Parquet files"
                )
            common[column] = (first if found == before else name), found
    types = {column: kind for column, (_, kind) in common.items()}
    parts = [table.frame.select(list(types)).cast(types) for table in tables]
    return pl.concat(parts) if parts else pl.DataFrame(schema=types)


def _wider(one: Any, other: Any) -> Any:
    """Return the type of both; None where they are of two kinds."""
    if one == other or other == pl.Null:
        return one
    if one == pl.Null:
        return other
    if one in WORDS and other in WORDS:
        return pl.String()
    if one.is_numeric() and other.is_numeric():
        return pl.Int64() if one.is_integer() and other.is_integer() else pl.Float64()
    return None


__all__ = ["Table", "read_mine", "together", "with_agreed_ids"]
