"""Dates and times written as text: usual forms are understood, and what could mean two days is not guessed."""

from __future__ import annotations

import polars as pl

from fmfkit.data.cells import says_missing
from fmfkit.errors import DataError

CLOCK = r"(?:[ T,]+(?<hour>\d{1,2}):(?<minute>\d\d)(?::(?<second>\d\d)(?:[.,](?<part>\d{1,6})\d*)?)?)?"
YEAR = r"(?<year>(?:1[5-9]|2[01])\d\d)"
ZONE = r"(?: ?(?:Z|UTC|(?<zone>[+-]\d\d:?\d\d)))?"
ISO = rf"^{YEAR}[-/.](?<month>\d{{1,2}})[-/.](?<day>\d{{1,2}}){CLOCK}{ZONE}$"
"""2014-11-20, with or without the time of day."""
OTHER = rf"^(?<first>\d{{1,2}})(?<mark>[./-])(?<second_part>\d{{1,2}})[./-]{YEAR}{CLOCK}$"
"""20.11.2014, 20/11/2014 or 11/20/2014."""
FIRST = 10_000
"""So many values tell whether a column holds times."""
FORMS = "2014-11-20, 20.11.2014, 20/11/2014 or 11/20/2014, with or without a time of day such as 18:30 or 18:30:05"
"""What is understood, for messages."""


def are_times(column: pl.Series) -> bool:
    """Tell whether a column holds dates or times: of such a kind, or text in their forms in nearly all rows."""
    if column.dtype.is_temporal():
        return True
    if column.dtype != pl.String or not column.count():
        return False
    text = column.drop_nulls().head(FIRST)
    text = text.filter(~says_missing(text)).str.strip_chars()
    return len(text) > 0 and int((text.str.contains(ISO) | text.str.contains(OTHER)).sum()) >= 0.9 * text.count()


def as_times(column: pl.Series) -> pl.Series:
    """Return a column of text as times; refuse what is none, or what could be two."""
    text = column.str.strip_chars()
    text = text.set(says_missing(text) | (text == ""), None)
    iso, other = text.str.extract_groups(ISO).struct.unnest(), text.str.extract_groups(OTHER).struct.unnest()
    day, month = _day_and_month(text, other)
    parts = {
        "year": pl.coalesce(iso["year"], other["year"]),
        "month": pl.coalesce(iso["month"], month),
        "day": pl.coalesce(iso["day"], day),
        **{name: pl.coalesce(iso[name], other[name], pl.lit("0")) for name in ("hour", "minute", "second", "part")},
    }
    written = pl.format(
        "{}-{}-{} {}:{}:{}.{}", *(part.str.zfill(2) for part in list(parts.values())[:6]), parts["part"]
    )
    local = written.str.to_datetime("%Y-%m-%d %H:%M:%S%.f", time_unit="us", strict=False)
    made = pl.select((local - _ahead(iso["zone"])).alias(column.name)).to_series()
    wrong = text.filter(text.is_not_null() & made.is_null())
    if len(wrong):
        raise DataError(
            f"times: {len(wrong):,} of {text.count():,} values are none, such as {wrong[0]!r}; expected {FORMS}"
        )
    return made


def _ahead(zone: pl.Series) -> pl.Expr:
    """Return by how much clocks are ahead of UTC in zones such as +02:00; nothing where none is given."""
    hours, minutes = (zone.str.slice(*part).cast(pl.Int64) for part in ((1, 2), (-2, 2)))
    sign = pl.when(pl.lit(zone.str.starts_with("-"))).then(-1).otherwise(1)
    return pl.duration(minutes=(sign * (60 * pl.lit(hours) + pl.lit(minutes))).fill_null(0))


def _day_and_month(text: pl.Series, found: pl.DataFrame) -> tuple[pl.Series, pl.Series]:
    """Return the days and the months: days come first beside points, else as the values decide."""
    first, second = found["first"].cast(pl.Int64), found["second_part"].cast(pl.Int64)
    open_ = found["mark"].is_in(["/", "-"]).fill_null(False)
    days_first, days_second = open_ & (first > 12), open_ & (second > 12)
    if days_first.any() and days_second.any():
        raise DataError(
            f"times: days come first in {text.filter(days_first)[0]!r}, and second in "
            f"{text.filter(days_second)[0]!r}; write all of them as 2014-11-20"
        )
    if open_.any() and not days_first.any() and not days_second.any():
        raise DataError(
            f"times: does the day come first in {text.filter(open_)[0]!r}, or the month? No value tells; write them as "
            "2014-11-20"
        )
    if not days_second.any():
        return found["first"], found["second_part"]
    return found["second_part"].zip_with(open_, found["first"]), found["first"].zip_with(open_, found["second_part"])


__all__ = ["FORMS", "are_times", "as_times"]
