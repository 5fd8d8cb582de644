"""Ids and the row numbers they stand for."""

from __future__ import annotations

import base64
import bisect
import datetime
import decimal
import functools
import json
import uuid
from collections.abc import Callable, Hashable, Mapping
from typing import Any

import attrs
import numpy as np
import polars as pl
from numpy.typing import NDArray

from fmfkit._kernels.keys import number_keys
from fmfkit.data import text
from fmfkit.errors import DataError
from fmfkit.sections import checked_array

KINDS = {"int": pl.Int64, "str": pl.String, "bool": pl.Boolean, "date": pl.Date}
"""Kinds of ids that tables hold as they are; others are objects."""
PHYSICAL: dict[str, type[np.generic]] = {"int": np.int64, "bool": np.uint8, "date": np.int32}
"""How files hold those that are numbers."""
DAYS = tuple((day - datetime.date(1970, 1, 1)).days for day in (datetime.date.min, datetime.date.max))
"""The first and the last date that Python has, as files hold dates."""
FEW_PICKED = 64
FEW = 1000
"""Up to so many ids are looked up one by one."""
MOST_NAMED = 10
"""So many unknown ids an error names."""


@attrs.frozen(eq=False, repr=False)
class Ids:
    """The ids of one side, all different, in the order of their rows."""

    values: pl.Series
    """The ids; where they are objects, such as tuples, their numbers."""
    objects: Mapping[Hashable, int] | None = None
    """The number of each object."""

    @classmethod
    def of(cls, *columns: pl.Series, what: str) -> Ids:
        """Return the different ids of some columns, in the order in which they come first.

        Args:
            what: what they are called in errors.
        """
        return cls.numbered(*columns, what=what)[0]

    @classmethod
    def numbered(cls, *columns: pl.Series, what: str) -> tuple[Ids, list[NDArray[np.int32]]]:
        """Return the different ids of some columns, in the order in which they come first, and the rows of each."""
        coded, objects = code(columns, what)
        both = pl.concat([column.alias("id") for column in coded])
        rows, first = _numbers(both)
        ends = np.cumsum([len(column) for column in coded])[:-1]
        return cls(both.gather(first), objects), np.split(rows, ends)

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self.values)

    def __repr__(self) -> str:
        """Return the first of them in a line."""
        told = ", ".join(map(repr, self.at(range(min(3, len(self))))))
        return f"<{len(self)} ids: {told}{', ...' if len(self) > 3 else ''}>"

    def rows(self, given: Any, what: str = "ids") -> NDArray[np.int32]:
        """Return the row number of each id, -1 for those that are not known.

        Args:
            given: ids.
            what: what they are called in errors.
        """
        if self.objects is not None:
            numbers = [self.objects.get(_hashable(value, what), -1) for value in self._several(given)]
            column = pl.Series("id", numbers, dtype=pl.Int64)
        else:
            column = normal(given if isinstance(given, pl.Series) else _column(given, what), what)
        return self.rows_of_values(column, what)

    def _several(self, given: Any) -> Any:
        """Return ids as something with a length; where ids are objects, a tuple or a set is one of them."""
        return [given] if self.objects is not None and isinstance(given, tuple | frozenset) else _listed(given)

    def rows_of_values(self, column: pl.Series, what: str = "ids") -> NDArray[np.int32]:
        """Return the row number of each of ``values``, -1 for what is not among them."""
        if len(column) == 0:
            return np.zeros(0, np.int32)
        if column.dtype != self.values.dtype:
            raise DataError(
                f"{what}: ids of kind {column.dtype} were given, those known are of kind {self.values.dtype}: "
                f"{_odd(column)!r} where there is {self.at([0])[0]!r}"
            )
        if len(column) <= FEW:
            return self._find(column)
        known = pl.DataFrame({"id": self.values, "row": pl.int_range(len(self.values), dtype=pl.Int32, eager=True)})
        found = pl.DataFrame({"id": column}).join(known, on="id", how="left", maintain_order="left")
        return found["row"].fill_null(-1).to_numpy().astype(np.int32)

    @functools.cached_property
    def _order(self) -> NDArray[np.int64]:
        """The rows in the order of their ids."""
        return self.values.arg_sort().to_numpy().astype(np.int64)

    @functools.cached_property
    def _ascending(self) -> NDArray[np.int64]:
        """The ids in ascending order, where they are numbers."""
        return self.values.to_numpy()[self._order]

    def _find(self, column: pl.Series) -> NDArray[np.int32]:
        """Look a few ids up by bisection: what it costs hardly depends on how many are known."""
        values, order = self.values, self._order
        if values.dtype == pl.Int64 and len(values):
            given, ascending = column.to_numpy(), self._ascending
            places = np.minimum(np.searchsorted(ascending, given), len(order) - 1)
            return np.where(ascending[places] == given, order[places], -1).astype(np.int32)
        rows = np.full(len(column), -1, np.int32)
        for n, wanted in enumerate(column.to_list()):
            place = bisect.bisect_left(order, wanted, key=lambda row: values[int(row)])
            if place < len(order) and values[int(order[place])] == wanted:
                rows[n] = order[place]
        return rows

    def known_rows(self, given: Any, what: str) -> NDArray[np.int32]:
        """Return the row numbers of ids that must be known.

        Args:
            given: ids.
            what: what they are called in errors.
        """
        rows = self.rows(given, what)
        if (rows < 0).any():
            listed = list(self._several(given))
            unknown = list(dict.fromkeys(repr(listed[n]) for n in np.flatnonzero(rows < 0)))
            raise DataError(f"{what}: {len(unknown)} ids are not known, such as {', '.join(unknown[:MOST_NAMED])}")
        return rows

    def at(self, rows: Any) -> list[Any]:
        """Return the ids of row numbers; None for -1.

        Args:
            rows: row numbers.
        """
        flat = np.asarray(rows).ravel()
        found = self.values.gather(np.maximum(flat, 0)).to_list()
        if self.objects is not None:
            objects = list(self.objects)
            found = [objects[number] for number in found]
        return [value if row >= 0 else None for value, row in zip(found, flat, strict=True)]

    def column(self, rows: Any, name: str = "id") -> pl.Series:
        """Return the ids of row numbers as a column, objects as text.

        Args:
            rows: row numbers.
            name: the name of the column.
        """
        if self.objects is not None:
            return pl.Series(name, [None if value is None else str(value) for value in self.at(rows)], pl.String)
        return gather(self.values, np.asarray(rows).ravel()).alias(name)

    @property
    def names(self) -> pl.Series:
        """The ids as text."""
        return (self.values if self.objects is None else self.column(np.arange(len(self)))).cast(pl.String)

    def followed_by(self, other: Ids) -> Ids:
        """Return these ids and those of ``other`` that are not among them."""
        if (self.objects is None) != (other.objects is None) or self.values.dtype != other.values.dtype:
            example = other.at([0])[0] if other.objects is not None else _odd(other.values)
            raise DataError(f"ids are of another kind than before: {example!r} where there was {self.at([0])[0]!r}")
        new = other.at(np.flatnonzero(self.rows_of(other) < 0))
        if self.objects is None:
            return Ids(pl.concat([self.values, pl.Series("id", new, dtype=self.values.dtype)]))
        both = {value: number for number, value in enumerate([*self.objects, *new])}
        numbers = range(len(self.objects), len(both))
        return Ids(pl.concat([self.values, pl.Series("id", numbers, dtype=pl.Int64)]), both)

    def rows_of(self, other: Ids) -> NDArray[np.int32]:
        """Return the row number here of each of other ids, -1 for those that are not known."""
        return self.rows(other.at(range(len(other))) if other.objects is not None else other.values)

    def to_arrays(self) -> tuple[str, dict[str, NDArray[Any]]]:
        """Return the kind of the ids, and arrays that hold them."""
        if self.objects is not None:
            values = [json.dumps(_tagged(value)) for value in self.at(range(len(self)))]
            return "object", text.pack(pl.Series(values, dtype=pl.String))
        kind = next(kind for kind, dtype in KINDS.items() if dtype == self.values.dtype)
        if kind == "str":
            return kind, text.pack(self.values)
        return kind, {"values": self.values.to_physical().to_numpy().astype(PHYSICAL[kind])}

    @classmethod
    def from_arrays(cls, kind: str, arrays: Mapping[str, NDArray[Any]]) -> Ids:
        """Return the ids that ``to_arrays`` returned; refuse others."""
        values: Any
        if kind == "object":
            values = [_untagged(json.loads(value)) for value in text.unpack(arrays).to_list()]
            ids = cls.of(pl.Series("id", values, dtype=pl.Object), what="ids")
        elif kind == "str":
            values = text.unpack(arrays)
            ids = cls(values.alias("id"))
        elif kind in PHYSICAL:
            values = checked_array(arrays, "values", PHYSICAL[kind], (-1,))
            if kind == "date" and len(values) and not (values.min() >= DAYS[0] and values.max() <= DAYS[1]):
                raise ValueError("ids: a date is before the year 1 or after the year 9999")
            ids = cls(pl.Series("id", values).cast(KINDS[kind]))
        else:
            raise ValueError(f"ids: expected one of the kinds {['object', 'str', *PHYSICAL]}, got {kind!r}")
        if ids.values.n_unique() != len(values):
            raise ValueError("ids: some of them are the same")
        return ids


def gather(column: pl.Series, rows: NDArray[Any]) -> pl.Series:
    """Return the values at some places, missing ones for -1; a few are picked one by one, which is quicker."""
    if len(rows) <= FEW_PICKED:
        picked = [column[int(row)] if row >= 0 else None for row in rows]
        return pl.Series(column.name, picked, dtype=column.dtype)
    places = pl.Series(rows, dtype=pl.Int64)
    return column.gather(places.replace(-1, None) if rows.min() < 0 else places)


def _listed(given: Any) -> Any:
    """Return ids as something with a length; a lone id as a list of one."""
    if isinstance(given, str | bytes) or not hasattr(given, "__len__"):
        return [given]
    return given


def _column(given: Any, what: str) -> pl.Series:
    """Return ids as a column; refuse what cannot be one."""
    try:
        return pl.Series("id", _listed(given))
    except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError) as error:
        raise DataError(f"{what}: expected ids of one kind, got {given!r:.80} ({str(error).splitlines()[0]})") from None


def whole_numbers(column: pl.Series) -> pl.Series:
    """Return ids that are text as whole numbers; those that are none are missing."""
    return column.str.strip_chars().cast(pl.Int64, strict=False)


def wants_numbers(known: pl.Series, given: pl.Series) -> bool:
    """Tell whether ids are numbers, and others that are given are text, most of which are numbers."""
    return known.dtype == pl.Int64 and given.dtype == pl.String and 2 * whole_numbers(given).count() > given.count()


def _numbers(column: pl.Series) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return the number of each value, different ones being numbered as they come, and where each came first."""
    rows, first = number_keys(column.hash(1).to_numpy())
    check = column.hash(2).to_numpy()
    if (check[first][rows] == check).all():  # no two values had one hash
        return rows, first
    values = column.unique(maintain_order=True)
    known = pl.DataFrame({"id": values, "row": pl.int_range(len(values), dtype=pl.Int32, eager=True)})
    found = pl.DataFrame({"id": column}).join(known, on="id", how="left", maintain_order="left")["row"].to_numpy()
    return found.astype(np.int32), np.flatnonzero(column.is_first_distinct())


def _odd(column: pl.Series) -> Any:
    """Return an id that shows of what kind a column is: where it is text, one that is no number, if there is any."""
    odd = column.filter(whole_numbers(column).is_null()) if column.dtype == pl.String else column
    return odd[0] if len(odd) else column[0]


def _hashable(value: Any, what: str) -> Any:
    """Return a value that can be looked up: lists, which is how tables hold tuples, as tuples."""
    if isinstance(value, list):
        return tuple(_hashable(part, what) for part in value)
    try:
        hash(value)
    except TypeError:
        raise DataError(f"{what}: an id must be hashable, {value!r} is not") from None
    return value


def as_text(column: pl.Series) -> pl.Series:
    """Return ids as text, as ``Ids.names`` has them."""
    column = normal(column, "ids")
    if column.dtype in KINDS.values():
        return column.cast(pl.String)
    return pl.Series(column.name, [str(_hashable(value, "ids")) for value in column.to_list()], dtype=pl.String)


def code(columns: tuple[pl.Series, ...], what: str) -> tuple[list[pl.Series], dict[Hashable, int] | None]:
    """Return columns of ids in one kind that tables can join on, and the number of each object, where they are such."""
    columns = tuple(normal(column, what) for column in columns)
    kinds = {str(column.dtype) for column in columns}
    if len(kinds) > 1:
        examples = {str(column.dtype): repr(_odd(column)) for column in columns if len(column)}
        both, told = " in one table and ".join(sorted(kinds)), " and ".join(examples[kind] for kind in sorted(examples))
        raise DataError(f"{what}: ids are of kind {both} in another, such as {told}")
    if columns[0].dtype in KINDS.values():
        return list(columns), None
    objects: dict[Hashable, int] = {}
    coded = []
    for column in columns:
        numbers = [objects.setdefault(_hashable(value, what), len(objects)) for value in column.to_list()]
        coded.append(pl.Series(column.name, numbers, dtype=pl.Int64))
    return coded, objects


def normal(column: pl.Series, what: str) -> pl.Series:
    """Return ids in one kind for all whole numbers, refusing missing ones.

    Args:
        column: the ids.
        what: what they are called in errors.
    """
    if column.null_count():
        raise DataError(f"{what}: {column.null_count()} of {len(column)} ids are missing")
    if column.dtype.is_integer():
        numbers = column.cast(pl.Int64, strict=False)
        if numbers.null_count():
            large = column.filter(numbers.is_null()).to_list()[0]
            raise DataError(f"{what}: ids are numbers that take more than 64 bits, such as {large}; give them as text")
        return numbers
    if column.dtype in (pl.Categorical, pl.Enum):
        return column.cast(pl.String)
    if column.dtype.is_float() and len(column):
        whole = column.is_finite() & (column == column.round()) & (column.abs() < 2**53)
        if not whole.all():
            raise DataError(
                f"{what}: ids are numbers with a fraction, or too large, such as {column.filter(~whole)[0]}"
            )
    return column.cast(pl.Int64) if column.dtype.is_float() else column


SAVED: dict[str, tuple[type, Callable[[Any], Any], Callable[[Any], Any]]] = {
    "datetime": (datetime.datetime, datetime.datetime.isoformat, datetime.datetime.fromisoformat),
    "date": (datetime.date, datetime.date.isoformat, datetime.date.fromisoformat),
    "time": (datetime.time, datetime.time.isoformat, datetime.time.fromisoformat),
    "bytes": (bytes, lambda value: base64.b64encode(value).decode(), base64.b64decode),
    "uuid": (uuid.UUID, str, uuid.UUID),
    "decimal": (decimal.Decimal, str, decimal.Decimal),
    "tuple": (tuple, lambda value: [_tagged(part) for part in value], lambda parts: tuple(map(_untagged, parts))),
    "set": (
        frozenset,
        lambda value: sorted((_tagged(part) for part in value), key=str),
        lambda parts: frozenset(map(_untagged, parts)),
    ),
}
"""Objects that a file can hold: their class, how they are written in JSON, how they are read."""


def _tagged(value: Any) -> Any:
    if value is None or type(value) in (int, float, str, bool):
        return value
    for tag, (kind, write, _) in SAVED.items():
        if type(value) is kind:
            return {tag: write(value)}
    raise DataError(
        f"ids of kind {type(value).__name__}, such as {value!r}, cannot be saved; "
        f"those that can are int, str, bool, float, {', '.join(SAVED)}"
    )


def _untagged(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    tag, written = next(iter(value.items()), ("", None))
    if tag not in SAVED:
        raise ValueError(f"ids: there is no kind of object {tag!r}; there are {list(SAVED)}")
    return SAVED[tag][2](written)


__all__ = ["Ids"]
