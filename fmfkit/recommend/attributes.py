"""What a recommender keeps of the targets' attributes, so that answers can be filtered by them."""

from __future__ import annotations

import datetime
import operator
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from fmfkit.arguments import suggestion
from fmfkit.data import text
from fmfkit.data.blocks import Tags
from fmfkit.data.cells import numbers
from fmfkit.data.ids import DAYS
from fmfkit.data.sides import Attributes
from fmfkit.data.tables import attribute
from fmfkit.errors import DataError
from fmfkit.sections import Arrays, Section, checked_array

Where = Mapping[str, Any] | Sequence[str] | str
"""Values by column, ``{"genre": "poetry", "year": [1999, 2000]}``, or conditions as text, ``["year >= 1999"]``."""

NUMBERS: dict[str, tuple[Any, type[np.generic]]] = {
    "whole": (pl.Int64, np.int64),
    "real": (pl.Float64, np.float64),
    "flag": (pl.Boolean, np.uint8),
    "date": (pl.Date, np.int32),
}
"""Kinds of columns that files hold as numbers."""
LONG = 100
"""Text that is longer than this on average is to be read, not to be filtered by: it is not kept."""
COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "!=": operator.ne,
    "=": operator.eq,
    "<": operator.lt,
    ">": operator.gt,
}


def kept_attributes(side: Attributes, before: pl.DataFrame | None = None) -> pl.DataFrame:
    """Return the columns of a side's table that can be filtered by; text with tags as lists.

    Args:
        side: what is known of its instances.
        before: those of a model that training went on from: they stay where the table says nothing.
    """
    separators = {block.column: block.separator for block in side.blocks if isinstance(block, Tags)}
    columns = [_kept(column, separators.get(column.name)) for column in side.table.get_columns()[1:]]
    made = pl.DataFrame([column for column in columns if column is not None])
    return made if before is None else _merged(made, before, len(side.ids))


def _kept(given: pl.Series, separator: str | None) -> pl.Series | None:
    try:
        column = attribute(given)
    except DataError:
        return None
    if column.dtype == pl.List:
        return _lists(column)
    if column.dtype in (pl.Categorical, pl.Enum):
        column = column.cast(pl.String)
    if column.dtype == pl.String:
        if separator is not None:
            return _lists(column.str.split(separator).list.eval(pl.element().str.strip_chars()))
        return column if int(column.str.len_chars().sum()) <= LONG * len(column) else None
    if column.dtype.is_integer():
        return column.cast(pl.Int64, strict=False)
    if column.dtype.is_float():
        column = column.cast(pl.Float64)
        return pl.select(pl.when(column.is_finite()).then(column).alias(column.name)).to_series()
    if isinstance(column.dtype, pl.Datetime):
        return column.dt.date()
    return column if column.dtype in (pl.Boolean, pl.Date) else None


def _parts(column: pl.Series) -> pl.DataFrame:
    """Return ``row`` and ``value`` of all that the lists of a column hold."""
    parts = pl.DataFrame({"row": np.arange(len(column)), "value": column}).explode("value")
    return parts.filter(pl.col("value").is_not_null() & (pl.col("value") != ""))


def _from_parts(name: str, parts: pl.DataFrame, rows: int) -> pl.Series:
    lists = parts.group_by("row", maintain_order=True).agg(pl.col("value"))
    return (
        pl.DataFrame({"row": np.arange(rows)})
        .join(lists, on="row", how="left", maintain_order="left")["value"]
        .alias(name)
    )


def _lists(column: pl.Series) -> pl.Series:
    """Return lists without what is empty; one that would hold nothing is missing."""
    return _from_parts(column.name, _parts(column), len(column))


def _merged(now: pl.DataFrame, before: pl.DataFrame, rows: int) -> pl.DataFrame:
    missing = rows - before.height
    columns = []
    for name in dict.fromkeys([*now.columns, *before.columns]):
        if name not in before.columns:
            columns.append(now[name])
            continue
        old = before[name].extend_constant(None, missing)
        said = _like(now[name], old.dtype) if name in now.columns else None
        columns.append(old if said is None else said.zip_with(said.is_not_null(), old))
    return pl.DataFrame(columns)


def _like(column: pl.Series, dtype: Any) -> pl.Series:
    """Return a column in the kind that it has in the model; what cannot be of it is missing, and it is said."""
    try:
        made = column.cast(dtype, strict=False)
    except pl.exceptions.PolarsError:
        made = pl.Series(column.name, [None] * len(column), dtype=dtype)
    if lost := column.filter(column.is_not_null() & made.is_null()).to_list():
        text = (
            f"targets: {len(lost):,} values of {column.name!r}, such as {lost[0]!r}, are no {dtype}, as in the model "
            "to start from: answers cannot be filtered by them"
        )
        warnings.warn(text, UserWarning, stacklevel=2)
    return made


def matching(frame: pl.DataFrame, where: Where) -> NDArray[np.bool_]:
    """Tell which rows fulfil all conditions; one whose value is missing does not."""
    found = np.ones(frame.height, bool)
    if isinstance(where, Mapping):
        for name, values in where.items():
            several = isinstance(values, list | tuple | set | frozenset | np.ndarray | pl.Series)
            found &= _any_of(_column(frame, str(name)), list(values) if several else [values])
        return found
    for condition in [where] if isinstance(where, str) else where:
        parts = re.fullmatch(r"\s*(.+?)\s*(<=|>=|!=|=|<|>)\s*(.*?)\s*", condition, re.DOTALL)
        if parts is None:
            raise ValueError(f"where: expected a condition such as 'genre=poetry' or 'year>=1999', got {condition!r}")
        name, comparison, value = parts.groups()
        found &= _compared(_column(frame, name), comparison, value)
    return found


def _column(frame: pl.DataFrame, name: str) -> pl.Series:
    if name not in frame.columns:
        hint = suggestion(name, frame.columns) if frame.columns else "; train with a table of targets"
        raise DataError(f"where: there is no attribute {name!r} of targets; there are {frame.columns}{hint}")
    return frame[name]


def _any_of(column: pl.Series, values: list[Any]) -> NDArray[np.bool_]:
    """Tell where a column has one of several values; where it holds lists, whether one of these is in them."""
    inner = column.explode() if column.dtype == pl.List else column
    try:
        wanted = pl.Series(values, dtype=inner.dtype, strict=True) if values else pl.Series([], dtype=inner.dtype)
    except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError):
        raise DataError(
            f"where: {column.name!r} has values of {inner.dtype}, such as {_example(inner)}, got {values!r:.80}"
        ) from None
    if column.dtype == pl.List:
        rows = _parts(column).filter(pl.col("value").is_in(wanted.to_list()))["row"].to_numpy()
        return np.bincount(rows, minlength=len(column)) > 0
    found = pl.DataFrame({"value": column}).select(pl.col("value").is_in(wanted.to_list()).fill_null(False))
    return np.asarray(found["value"].to_numpy() & column.is_not_null().to_numpy())


def _example(column: pl.Series) -> str:
    known = column.drop_nulls()
    return repr(known[0]) if len(known) else "none"


def _compared(column: pl.Series, comparison: str, value: str) -> NDArray[np.bool_]:
    inner = column.explode() if column.dtype == pl.List else column
    parsed = _parsed(inner, value)
    if comparison in ("=", "!="):
        equal = _any_of(column, [parsed])
        return equal if comparison == "=" else ~equal
    if column.dtype == pl.List:
        raise DataError(f"where: {column.name!r} holds lists, which have no order; use = or !=")
    if column.dtype == pl.String:
        _refuse_numbers_as_text(column, value)
    known = column.is_not_null().to_numpy()
    found = COMPARISONS[comparison](column, pl.Series([parsed], dtype=column.dtype)).fill_null(False).to_numpy()
    return np.asarray(known & found)


def _refuse_numbers_as_text(column: pl.Series, value: str) -> None:
    """Refuse to compare text with a number, where most of it are numbers: as text 10 is less than 9."""
    written = pl.Series([value], dtype=pl.String)
    odd = column.filter(column.is_not_null() & numbers(column, comma=True).is_null())
    if numbers(written, comma=True).count() and 2 * len(odd) < column.count():
        because = f", because of values such as {odd[0]!r}" if len(odd) else ""
        raise DataError(
            f"where: {column.name!r} is text{because}, and text is not compared as numbers are; make it a column of "
            "numbers, and train again"
        )


def _parsed(column: pl.Series, value: str) -> Any:
    """Return a value that is given as text in the kind of a column."""
    try:
        if column.dtype == pl.Int64:
            return int(value)
        if column.dtype == pl.Float64:
            return float(value)
        if column.dtype == pl.Boolean:
            return {"true": True, "false": False}[value.lower()]
        if column.dtype == pl.Date:
            return datetime.date.fromisoformat(value)
    except (KeyError, ValueError):
        raise DataError(
            f"where: {column.name!r} has values of {column.dtype}, such as {_example(column)}, got {value!r}"
        ) from None
    return value


def attribute_parts(frame: pl.DataFrame) -> tuple[list[dict[str, Any]], Arrays]:
    """Return attributes as JSON and arrays."""
    about: list[dict[str, Any]] = []
    arrays: Arrays = {}
    for n, column in enumerate(frame.get_columns()):
        held: Arrays = {"known": column.is_not_null().to_numpy().astype(np.uint8)}
        kind = next((kind for kind, (dtype, _) in NUMBERS.items() if dtype == column.dtype), None)
        if kind is not None:
            filled = column.to_physical() if kind == "date" else column.cast(pl.UInt8) if kind == "flag" else column
            held["values"] = filled.fill_null(0).to_numpy().astype(NUMBERS[kind][1])
        elif column.dtype == pl.List:
            kind, parts = "list", _parts(column)
            held = {"length": np.bincount(parts["row"].to_numpy(), minlength=len(column)).astype(np.int32)}
            held |= text.pack(parts["value"])
        else:
            kind = "text"
            held |= text.pack(column.fill_null(""))
        about.append({"name": column.name, "kind": kind})
        arrays |= {f"attribute{n}.{name}": array for name, array in held.items()}
    return about, arrays


def attributes_of(section: Section, rows: int) -> pl.DataFrame:
    """Return the attributes that a file holds; refuse columns that are not those of so many rows."""
    columns = []
    for n, told in enumerate(section.parts("attributes")):
        columns.append(_restored(told.text("name"), told.text("kind"), section.within(f"attribute{n}."), rows))
    if len({column.name for column in columns}) < len(columns):
        raise ValueError("attributes: two columns have one name")
    return pl.DataFrame(columns)


def _restored(name: str, kind: str, arrays: Arrays, rows: int) -> pl.Series:
    if kind == "list":
        length, parts = checked_array(arrays, "length", np.int32, (rows,)), text.unpack(arrays)
        if length.min(initial=0) < 0 or int(length.sum(dtype=np.int64)) != len(parts):
            raise ValueError(f"attribute {name!r}: its lists do not have {len(parts)} values")
        return _from_parts(name, pl.DataFrame({"row": np.repeat(np.arange(rows), length), "value": parts}), rows)
    known = checked_array(arrays, "known", np.uint8, (rows,)).astype(bool)
    if kind in NUMBERS:
        dtype, stored = NUMBERS[kind]
        values = checked_array(arrays, "values", stored, (rows,))
        if kind == "date" and rows and not (values.min() >= DAYS[0] and values.max() <= DAYS[1]):
            raise ValueError(f"attribute {name!r}: a date is before the year 1 or after the year 9999")
        column = pl.Series(name, values).cast(dtype)
    elif kind == "text":
        column = text.unpack(arrays).alias(name)
    else:
        raise ValueError(f"attribute {name!r}: expected one of the kinds {[*NUMBERS, 'list', 'text']}, got {kind!r}")
    if len(column) != rows:
        raise ValueError(f"attribute {name!r}: {len(column)} values for {rows} ids")
    return pl.select(pl.when(pl.Series(known)).then(column).alias(name))[name]


__all__ = ["Where", "attribute_parts", "attributes_of", "kept_attributes", "matching"]
