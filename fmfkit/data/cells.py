"""What the cells of a table stand for: numbers, and words that say that a value is missing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import polars as pl

from fmfkit.data.telling import tell

MISSING = ("n/a", "na", "#n/a", "n.a.", "nan", "null", "-", "--", "?")
"""Words that say that a value is missing, in small letters."""
FIRST = 1000
"""So many values are looked at first."""
MOSTLY = 0.9
"""A column of text of which this share are numbers was probably meant to be one of numbers."""


def says_missing(column: pl.Series) -> pl.Series:
    """Tell which values of a column of text are words that say that a value is missing."""
    return column.str.strip_chars().str.to_lowercase().is_in(MISSING).fill_null(False)


def numbers(column: pl.Series, *, comma: bool) -> pl.Series:
    """Return a column of text as numbers, whole ones if all are, with the rest missing.

    With ``comma`` decimals may stand after a comma: after it in all numbers, or after a point, as most of them say.
    """
    text = column.str.strip_chars()
    real, whole = text.cast(pl.Float64, strict=False), text.cast(pl.Int64, strict=False)
    if comma:
        other = text.set(text.str.contains(".", literal=True), None).str.replace(",", ".", literal=True)
        written = other.cast(pl.Float64, strict=False)
        real = written if written.count() > real.count() else real
    return whole if whole.null_count() == real.null_count() else real


def as_numbers(column: pl.Series, *, comma: bool) -> pl.Series | None:
    """Return a column of text as numbers, if all values are that do not say that they are missing."""
    # most columns of text are none, as their first values tell
    if any(_are_other(part, comma=comma) for part in (column.head(FIRST), column)):
        return None
    made = numbers(column, comma=comma).set(says_missing(column), None)
    return made if made.count() else None


def _are_other(column: pl.Series, *, comma: bool) -> bool:
    """Tell whether text has values that are no numbers, and do not say that they are missing."""
    odd = column.is_not_null() & (column.str.strip_chars() != "") & numbers(column, comma=comma).is_null()
    return bool((odd & ~says_missing(column)).any())


def say_missing(name: str, found: Mapping[str, pl.Series]) -> None:
    """Warn that words are taken as missing values; ``found`` has these words, as they are written, by column."""
    if not found:
        return
    words = list(dict.fromkeys(word for column in found.values() for word in column.unique(maintain_order=True)))
    told = ", ".join(f"{len(column):,} values of {title!r}" for title, column in found.items())
    tell(f"{name}: {', '.join(map(repr, words))} taken as missing: {told}")


def attributes(
    table: pl.DataFrame, keep: Sequence[str | None], name: str, where: Callable[[Sequence[int]], str]
) -> pl.DataFrame:
    """Return a table of attributes in which words that say that a value is missing are missing.

    Columns of text that were probably meant to be numbers are told. ``keep`` are columns to leave as they are, such as
    ids and titles; ``where`` says in a message where rows are.
    """
    found, made = {}, []
    for column in table.get_columns():
        if column.dtype != pl.String or column.name in keep:
            continue
        missing = says_missing(column)
        if missing.any():
            found[column.name] = column.filter(missing)
            column = column.set(missing, None)
            made.append(column)
        _say_text(column, name, where)
    say_missing(name, found)
    return table.with_columns(made)


def _say_text(column: pl.Series, name: str, where: Callable[[Sequence[int]], str]) -> None:
    """Warn of a column of text nearly all of whose values are numbers."""
    odd = column.is_not_null() & (column.str.strip_chars() != "") & numbers(column, comma=True).is_null()
    count, known = int(odd.sum()), column.count()
    if count and known - count >= MOSTLY * known:
        rows = odd.arg_true().to_list()
        tell(
            f"{name}: column {column.name!r} is text, because {count:,} of its values are no numbers, such as "
            f"{column[rows[0]]!r}: {where(rows)}; mend them if it was to be numbers"
        )


__all__ = ["MISSING", "as_numbers", "attributes", "numbers", "say_missing", "says_missing"]
