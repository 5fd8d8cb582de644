"""Tables as text, as people export them: encoding, separator and header are recognised, and bad rows are named."""

from __future__ import annotations

import csv
import gzip
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, get_args

import attrs
import polars as pl

from fmfkit.data.cells import as_numbers, say_missing, says_missing
from fmfkit.data.forms import HEAD, Form, Record, numbered, recognise, without_names
from fmfkit.data.telling import tell
from fmfkit.errors import DataError

BadRows = Literal["error", "skip"]
"""What becomes of rows that cannot be read: an error that lists them, or they are left out with a warning."""
BAD_ROWS: tuple[BadRows, ...] = get_args(BadRows)
LISTED = 10
"""Bad rows that an error lists."""
GZIP = b"\x1f\x8b"
UTF16 = (b"\xff\xfe", b"\xfe\xff")
ZSTD = b"\x28\xb5\x2f\xfd"


@attrs.frozen(eq=False)
class Text:
    """A table as text that was read."""

    frame: pl.DataFrame
    lines: Sequence[int]
    """The line of the file at which each row begins."""


def read_delimited(
    source: Path | bytes, name: str, separator: str, bad_rows: BadRows | None, text: Collection[str] = ()
) -> pl.DataFrame:
    """Return the table of a text file; ``separator`` is what its name promises, ``text`` columns that stay as written.

    What polars cannot read, or only by filling short rows up, is read row by row.
    """
    head = _head(source)
    if head.startswith(ZSTD):
        return pl.read_csv(source, separator=separator, infer_schema_length=10_000)
    form = recognise(_decoded_head(head), separator)
    if form.above:
        told = ", ".join(f"{line[:40]!r}" for line in form.above)
        tell(
            f"{name}: the table is taken to begin at line {form.first_line}; what stands above has fewer fields than "
            f"its rows, and is left out: {told}"
        )
    if not form.header:
        tell(
            f"{name}: its first line looks like data, so it is read as a table without a header, and its columns are "
            "called column_1, column_2, ...; if the line has names, give a frame instead of the file"
        )
    frame = None if head[:2] in UTF16 else _quick(source, form, text)
    if frame is None or (_is_doubtful(frame) and _is_ragged(frame, source, name, form)):
        frame = read_rows(source, name, separator, bad_rows, text).frame
    frame = _with_numbers(frame, name, form, text)
    _say_codes(frame, name, form)
    return frame


def _say_codes(frame: pl.DataFrame, name: str, form: Form) -> None:
    """Warn of codes that were read as numbers."""
    lost = {column: code for column, code in form.codes.items() if frame[column].dtype.is_numeric()}
    if lost:
        told = ", ".join(f"{column!r} (such as {code})" for column, code in lost.items())
        tell(
            f"{name}: digits that begin with 0 are read as numbers, without their zeros: {told}; to keep them, give a "
            "frame with text instead of the file"
        )


def _with_numbers(frame: pl.DataFrame, name: str, form: Form, text: Collection[str]) -> pl.DataFrame:
    """Return a table whose columns of text are numbers, if nothing but missing values speaks against it."""
    made: list[pl.Series] = []
    missing: dict[str, pl.Series] = {}
    for column in frame.get_columns():
        open_ = column.dtype == pl.String and column.name not in text
        numbers = as_numbers(column, comma=form.separator != ",") if open_ else None
        if numbers is not None:
            made.append(numbers)
            words = column.filter(says_missing(column))
            missing |= {column.name: words} if len(words) else {}
    say_missing(name, missing)
    return frame.with_columns(made)


def read_rows(
    source: Path | bytes, name: str, separator: str, bad_rows: BadRows | None, as_written: Collection[str] = ()
) -> Text:
    """Return the same table, read row by row, and the line of each row."""
    text = _decoded(_content(source), name)
    form = recognise(text[:HEAD], separator)
    records = list(_records(text, form, name))
    if not records:
        raise DataError(f"{name}: the file has no rows")
    line, first = records[0]
    width = len(first)
    rows = records[1:] if form.header else records
    bad = {line: len(fields) for line, fields in rows if len(fields) != width}
    if bad:
        _refuse_or_say(name, line, width, bad, len(rows), bad_rows)
        rows = [(line, fields) for line, fields in rows if line not in bad]
    if not rows:
        raise DataError(f"{name}: the file has no rows")
    names = _names(first) if form.header else without_names(width)
    columns = zip(*(fields for _, fields in rows), strict=True)
    made = {
        title: _text(values) if title in as_written else _typed(values, form)
        for title, values in zip(names, columns, strict=True)
    }
    return Text(pl.DataFrame(made), [line for line, _ in rows])


def listed(what: str, places: Sequence[object]) -> str:
    """Return the first of some lines or rows for a message."""
    more = f" and {len(places) - LISTED:,} more" if len(places) > LISTED else ""
    return f"{what}{'s' if len(places) > 1 else ''} {', '.join(map(str, places[:LISTED]))}{more}"


def _quick(source: Path | bytes, form: Form, text: Collection[str]) -> pl.DataFrame | None:
    """Read by polars, which is fast and takes UTF-8 alone; return None for what it refuses."""
    options: dict[str, Any] = {
        "separator": form.separator,
        "has_header": form.header,
        "skip_rows": form.first_line - 1,
    }
    try:
        frame = pl.read_csv(source, **options, decimal_comma=form.decimal_comma, infer_schema_length=10_000)
        names = _names(frame.columns) if form.header else without_names(frame.width)
        written = [place for place, name in enumerate(names) if name in text]
        for column in pl.read_csv(source, **options, infer_schema=False, columns=written) if written else ():
            frame = frame.with_columns(column)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        return None
    return frame.rename(dict(zip(frame.columns, names, strict=True)))


def _is_doubtful(frame: pl.DataFrame) -> bool:
    """Return whether rows may have been too short: polars fills them up with missing values."""
    return frame.width > 1 and frame.height > 0 and frame[frame.columns[-1]].null_count() > 0


def _is_ragged(frame: pl.DataFrame, source: Path | bytes, name: str, form: Form) -> bool:
    """Return whether rows were filled up: short ones, and empty lines."""
    rows = 0
    for _, fields in _records(_decoded(_content(source), name), form, name):
        rows += 1
        if len(fields) != frame.width:
            return True
    return rows != frame.height + form.header


def _head(source: Path | bytes) -> bytes:
    if isinstance(source, bytes):
        return source[:HEAD]
    with open(source, "rb") as file:
        head = file.read(HEAD)
    if not head.startswith(GZIP):
        return head
    with gzip.open(source) as unpacked:
        return unpacked.read(HEAD)


def _content(source: Path | bytes) -> bytes:
    content = source if isinstance(source, bytes) else source.read_bytes()
    return gzip.decompress(content) if content.startswith(GZIP) else content


def _decoded_head(head: bytes) -> str:
    """Return how a file begins as text; the sample may end within a character."""
    return head.decode("utf-16" if head[:2] in UTF16 else "utf-8-sig", "replace")


def _decoded(content: bytes, name: str) -> str:
    """Return a file as text: UTF-8, UTF-16 if it says so, else what Windows writes in the West."""
    if content[:2] in UTF16:
        return content.decode("utf-16", "replace")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
    tell(
        f"{name}: it is not UTF-8 (line {line}), so it is read as Windows-1252, which contains Latin 1; save it as "
        "UTF-8 if letters are wrong"
    )
    try:
        return content.decode("cp1252")
    except UnicodeDecodeError:
        return content.decode("latin-1")


def _records(text: str, form: Form, name: str) -> Iterator[Record]:
    """Yield the rows of the table that are not empty."""
    try:
        for line, fields in numbered(text, form.separator):
            if line >= form.first_line:
                yield line, fields
    except csv.Error as error:
        raise DataError(f"{name}: {error}; is a quote never closed?") from None


def _refuse_or_say(name: str, line: int, width: int, bad: dict[int, int], rows: int, bad_rows: BadRows | None) -> None:
    """Refuse rows with a wrong number of fields, or say that they are left out; a first line that most do not agree
    with is refused: it is probably no header."""
    usual, often = Counter(bad.values()).most_common(1)[0]
    if 2 * often > rows:
        raise DataError(
            f"{name}: line {line}, the first, has {width} fields, but {often:,} of the {rows:,} rows below it have "
            f"{usual}; delete the lines above the header, or give the header a name for each column"
        )
    told = listed("line", [f"{line} ({count} fields)" for line, count in bad.items()])
    text = f"{name}: {len(bad):,} of {rows:,} rows do not have {width} fields as the first line does: {told}"
    leave_out(text, bad_rows)


def leave_out(text: str, bad_rows: BadRows | None) -> None:
    """Refuse bad rows, which ``text`` names, or warn that they are left out; None where there is no choice."""
    if bad_rows is None:
        raise DataError(f"{text}; mend them")
    if bad_rows == "error":
        raise DataError(f"{text}; mend them, or leave them out: bad_rows='skip', or --bad-rows skip")
    tell(f"{text}; they are left out")


def _names(first: list[str]) -> list[str]:
    """Return the names of columns; a name that occurs again gets a number, as polars numbers it."""
    names: list[str] = []
    for title in map(str.strip, first):
        again = sum(other == title for other in map(str.strip, first[: len(names)]))
        names.append(f"{title}_duplicated_{again - 1}" if again else title)
    return names


def _text(values: Sequence[str]) -> pl.Series:
    """Return a column of text; empty values are missing."""
    column = pl.Series(values, dtype=pl.String).str.strip_chars()
    return column.set(column == "", None)


def _typed(values: Sequence[str], form: Form) -> pl.Series:
    """Return a column of the first kind that all its values have; empty ones are missing."""
    column = _text(values)
    if column.null_count() == len(column):
        return column
    written = column.str.replace(",", ".", literal=True) if form.decimal_comma else column
    kinds: tuple[tuple[pl.Series, Any], ...] = ((column, pl.Int64), (written, pl.Float64))
    for text, kind in kinds:
        numbers = text.cast(kind, strict=False)
        if numbers.null_count() == column.null_count():
            return numbers
    if column.drop_nulls().is_in(["true", "false"]).all():
        return column == "true"
    return column


__all__ = ["BAD_ROWS", "BadRows", "Form", "Text", "leave_out", "listed", "read_delimited", "read_rows", "recognise"]
