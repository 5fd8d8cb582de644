"""How a table that describes instances is joined to the pairs: by which column, and by which of its rows."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping

import attrs
import numpy as np
import polars as pl
from numpy.typing import NDArray

from fmfkit.data.delimited import LISTED, BadRows, leave_out
from fmfkit.data.ids import Ids, wants_numbers, whole_numbers
from fmfkit.data.roles import ROLES
from fmfkit.data.tables import Source, is_text_file, places
from fmfkit.data.telling import tell
from fmfkit.errors import DataError

PLURAL = {"query": "queries", "target": "targets"}
OTHER = {"query": "target", "target": "query"}
NUMBERED = re.compile(r"[\W_]*(id|ids|nr|no|num|number|nummer|code|key)$")
"""What names of columns of ids end with, whatever the ids are of."""
ALIKE, CLEARLY = 0.6, 0.2
"""Names are alike from here on; and by so much more like one than like another."""

FEW = 10
"""Fewer ids than these may be those of another side by chance."""


@attrs.frozen(eq=False)
class Pairs:
    """The table of pairs, as far as other tables are joined to it."""

    frame: pl.DataFrame
    """Its rows that count."""
    columns: Mapping[str, str]
    """The columns with the queries' and the targets' ids."""
    source: Source
    read: pl.DataFrame
    """All rows, as they were read."""

    def ids(self, role: str) -> pl.Series:
        """Return the ids of one side."""
        return self.frame[self.columns[role]]

    def place(self, role: str, value: object) -> str:
        """Return where a value comes first."""
        column = self.read[self.columns[role]]
        return places(self.source, (column == value).arg_true()[:1].to_list(), [repr(value)])


def key_of(role: str, table: pl.DataFrame, pairs: Mapping[str, str]) -> str:
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
    first, other = table.columns[0], OTHER[role]
    of_other = [column for column in table.columns if column == pairs[other] or column.lower() in ROLES[other]]
    if not of_other and _likeness(first, pairs[other]) >= max(ALIKE, _likeness(first, pairs[role]) + CLEARLY):
        of_other = [first]
    if of_other:
        raise DataError(
            f"{PLURAL[role]}: the table has no column {pairs[role]!r}, but {of_other[0]!r}, which holds "
            f"{PLURAL[other]}: was it to be given as the {PLURAL[other]}? If not, id= names the column to join by"
        )
    return first


def _likeness(one: str, other: str) -> float:
    """Return how much alike two names of columns of ids are, from 0 to 1."""
    a, b = (NUMBERED.sub("", name.lower()) or name.lower() for name in (one, other))
    return float(difflib.SequenceMatcher(None, a, b).ratio())


def usable_rows(
    role: str, table: pl.DataFrame, key: str, pairs: Pairs, source: Source, bad_rows: BadRows
) -> pl.DataFrame:
    """Return a table, and in its last column the number of each row, in rows that have an id of the kind that the pairs
    have."""
    what, given, wanted = PLURAL[role], table[key], pairs.ids(role)
    numbered = table.with_row_index(_row(table)).select(*table.columns, _row(table))
    values = whole_numbers(given) if is_text_file(source) and wants_numbers(wanted, given) else given
    good = values.is_not_null()
    if not good.all():
        rows = (~good).arg_true().to_list()
        fault = "missing" if values.dtype == given.dtype else "missing or no numbers, as those of the pairs are"
        shown = [repr(value) if isinstance(value, str) else None for value in given.gather(rows[:LISTED])]
        leave_out(
            f"{what}: {len(rows):,} of {len(good):,} ids in {key!r} are {fault}: {places(source, rows, shown)}",
            bad_rows,
        )
    if wants_numbers(given, wanted):
        odd = wanted.filter(whole_numbers(wanted).is_null())
        if len(odd):
            raise DataError(
                f"{what}: ids in {key!r} are numbers, those of the pairs are text, because of "
                f"{pairs.place(role, odd[0])}; mend it"
            )
    made = numbered.with_columns(values)
    return made if good.all() else made.filter(good)


def _row(table: pl.DataFrame) -> str:
    return "_".join([*table.columns, "row"])  # no column is called so: it is longer than all


def first_rows(
    ids: Ids, rows: NDArray[np.int32], column: str, where: Callable[[list[int], list[str]], str], bad_rows: BadRows
) -> NDArray[np.int64]:
    """Return the place of each id in a table whose rows are those of ``ids``, -1 for none; ids that come again are
    refused, or the first of each counts. ``where`` says in a message where rows of the table are."""
    place = np.full(len(ids), -1)
    place[rows[::-1]] = np.arange(len(rows))[::-1]
    again = np.flatnonzero(place[rows] != np.arange(len(rows)))
    if again.size:
        told = [repr(value) for value in ids.at(rows[again[:LISTED]])]
        at = where(again.tolist(), told)
        leave_out(f"{column} has ids twice, such as {told[0]}; {len(again):,} rows repeat an id: {at}", bad_rows)
    return place


def say_joined(role: str, key: str, keys: pl.Series, pairs: Pairs, count: int, met: int) -> None:
    """Say that a table is joined by a column that is called otherwise in the pairs; refuse it if no id is the same.

    ``met`` of the ``count`` ids of the pairs are in it. Where more of the other side's are, it may be the wrong table.
    """
    what, name, other = PLURAL[role], pairs.columns[role], OTHER[role]
    if key == name:
        return
    plain = key.lower() == "id"
    if not met and not plain:
        raise DataError(
            f"{what}: the table has no column {name!r}, and of its first, {key!r}, no value is among the {count:,} ids "
            "of the pairs; id= names the column to join by"
        )
    theirs = pairs.ids(other)
    comparable = theirs.dtype == keys.dtype and theirs.dtype != pl.Object
    theirs = theirs.unique() if comparable else theirs
    also = theirs.to_frame("id").join(keys.to_frame("id"), on="id", how="semi").height if comparable else 0
    named = key.lower() in ROLES[role] or _likeness(key, name) >= ALIKE
    doubtful = not named and len(theirs) >= FEW and met < count and also * count > met * len(theirs)
    if plain and not doubtful:
        return
    text = (
        f"{what}: joined by column {key!r}, which is {name!r} in the pairs; it has {met:,} of the {count:,} ids there"
    )
    if doubtful:
        text += (
            f", but {also:,} of the {len(theirs):,} of the {PLURAL[other]}: was the table to be given as the "
            f"{PLURAL[other]}? Then what is learnt from it is wrong"
        )
    tell(text)


__all__ = ["PLURAL", "Pairs", "first_rows", "key_of", "say_joined", "usable_rows"]
