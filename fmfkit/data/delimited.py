"""Tables as text, as people export them: encoding, separator and header are recognised, and bad rows are named."""

from __future__ import annotations

import csv
import gzip
import io
import re
import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, get_args

import attrs
import polars as pl

from fmfkit.errors import DataError

BadRows = Literal["error", "skip"]
"""What becomes of rows that cannot be read: an error that lists them, or they are left out with a warning."""
BAD_ROWS: tuple[BadRows, ...] = get_args(BadRows)
SEPARATORS = ",;\t|"
HEAD = 1 << 18
"""Bytes by which a file's form is recognised."""
CONSISTENT = 0.6
"""The share of lines that must have as many fields as the first for a separator to be one."""
LISTED = 10
"""Bad rows that an error lists."""
NUMBER = re.compile(r"[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d+)?")
DATE = re.compile(r"\d{4}-\d\d-\d\d([ T].*)?")
DIGITS = re.compile(r"[0-9]+")
COMMA = re.compile(r"[+-]?\d*,\d+")
POINT = re.compile(r"[+-]?\d*\.\d+")
GZIP = b"\x1f\x8b"
UTF16 = (b"\xff\xfe", b"\xfe\xff")
ZSTD = b"\x28\xb5\x2f\xfd"


@attrs.frozen
class Form:
    """How a file writes a table."""

    separator: str
    header: bool = True
    decimal_comma: bool = False
    codes: Mapping[str, str] = attrs.field(factory=dict)
    """The columns of digits of one length, and one of each that begins with 0: as numbers they lose it."""


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
    if not form.header:
        warnings.warn(
            f"{name}: its first line looks like data, so it is read as a table without a header, and its columns are "
            "called column_1, column_2, ...; if the line has names, give a frame instead of the file",
            UserWarning,
            stacklevel=2,
        )
    if codes := {column: code for column, code in form.codes.items() if column not in text}:
        told = ", ".join(f"{column!r} (such as {code})" for column, code in codes.items())
        warnings.warn(
            f"{name}: digits that begin with 0 are read as numbers, without their zeros: {told}; to keep them, give a "
            "frame with text instead of the file",
            UserWarning,
            stacklevel=2,
        )
    frame = None if head[:2] in UTF16 else _quick(source, form, text)
    if frame is not None and not (_is_doubtful(frame) and _is_ragged(frame, source, name, form)):
        return frame
    return read_rows(source, name, separator, bad_rows, text).frame


def read_rows(
    source: Path | bytes, name: str, separator: str, bad_rows: BadRows | None, as_written: Collection[str] = ()
) -> Text:
    """Return the same table, read row by row, and the line of each row."""
    text = _decoded(_content(source), name)
    form = recognise(text[:HEAD], separator)
    records = list(_records(text, form.separator, name))
    if not records:
        raise DataError(f"{name}: the file has no rows")
    first = records[0][1]
    width = len(first)
    rows = records[1:] if form.header else records
    bad = {line: len(fields) for line, fields in rows if len(fields) != width}
    if bad:
        _refuse_or_say(name, width, bad, len(rows), bad_rows)
        rows = [(line, fields) for line, fields in rows if line not in bad]
    if not rows:
        raise DataError(f"{name}: the file has no rows")
    names = _names(first) if form.header else _places(width)
    columns = zip(*(fields for _, fields in rows), strict=True)
    made = {
        title: _text(values) if title in as_written else _typed(values, form)
        for title, values in zip(names, columns, strict=True)
    }
    return Text(pl.DataFrame(made), [line for line, _ in rows])


def recognise(head: str, separator: str) -> Form:
    """Return the form of a table from how it begins."""
    counted = {mark: _sample(head, mark) for mark in SEPARATORS}
    widths = {mark: _width(rows) for mark, rows in counted.items()}
    chosen = max(SEPARATORS, key=lambda mark: (widths[mark], mark == separator))
    if widths[chosen] < 2:
        chosen = separator
    rows = counted[chosen]
    cells = [cell.strip() for row in rows[1:] for cell in row]
    comma = chosen != "," and any(map(COMMA.fullmatch, cells)) and not any(map(POINT.fullmatch, cells))
    header = _has_header(rows)
    return Form(chosen, header, comma, _codes(rows, header))


def listed(what: str, places: Sequence[object]) -> str:
    """Return the first of some lines or rows for a message."""
    more = f" and {len(places) - LISTED:,} more" if len(places) > LISTED else ""
    return f"{what}{'s' if len(places) > 1 else ''} {', '.join(map(str, places[:LISTED]))}{more}"


def _sample(head: str, separator: str) -> list[list[str]]:
    """Return the first rows; the last is left out, because the sample may end within it."""
    try:
        rows = [row for row in csv.reader(io.StringIO(head), delimiter=separator) if row]
    except csv.Error:
        return []
    return rows[:-1] if len(head) >= HEAD - 4 and len(rows) > 1 else rows


def _width(rows: list[list[str]]) -> int:
    """Return how many fields the rows have, 1 if they do not agree."""
    if not rows:
        return 1
    agreeing = sum(len(row) == len(rows[0]) for row in rows)
    return len(rows[0]) if agreeing >= CONSISTENT * len(rows) else 1


def _has_header(rows: list[list[str]]) -> bool:
    """Return whether the first row names columns: its kinds are not those below, or its values do not recur there."""
    if not rows or not rows[0][0].strip():  # pandas writes no name for its index
        return True
    alike = not rows[1:] and any(_kind(cell) != "text" for cell in rows[0])
    for place, cell in enumerate(rows[0]):
        below = {row[place].strip() for row in rows[1:] if len(row) > place} - {""}
        kinds = {_kind(value) for value in below}
        if len(kinds) == 1 and "text" not in kinds and cell.strip():
            if _kind(cell.strip()) not in kinds:
                return True
            alike = True
        alike |= cell.strip() in below
    return not alike


def _codes(rows: list[list[str]], header: bool) -> dict[str, str]:
    """Return the columns that hold digits of one length, some of which begin with 0, and one of these."""
    names = rows[0] if rows else []
    found = {}
    for place, name in enumerate(names if header else _places(len(names))):
        cells = [cell for row in rows[header:] if len(row) > place and (cell := row[place].strip())]
        zeros = [cell for cell in cells if cell[0] == "0"]
        if zeros and len(zeros[0]) > 1 and len(set(map(len, cells))) == 1 and all(map(DIGITS.fullmatch, cells)):
            found[name] = zeros[0]
    return found


def _kind(cell: str) -> str:
    if NUMBER.fullmatch(cell):
        return "number"
    return "date" if DATE.fullmatch(cell) else "text"


def _quick(source: Path | bytes, form: Form, text: Collection[str]) -> pl.DataFrame | None:
    """Read by polars, which is fast and takes UTF-8 alone; return None for what it refuses."""
    options: dict[str, Any] = {"separator": form.separator, "has_header": form.header}
    try:
        frame = pl.read_csv(source, **options, decimal_comma=form.decimal_comma, infer_schema_length=10_000)
        names = _names(frame.columns) if form.header else _places(frame.width)
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
    for _, fields in _records(_decoded(_content(source), name), form.separator, name):
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
    warnings.warn(
        f"{name}: it is not UTF-8 (line {line}), so it is read as Windows-1252, which contains Latin 1; save it as "
        "UTF-8 if letters are wrong",
        UserWarning,
        stacklevel=3,
    )
    try:
        return content.decode("cp1252")
    except UnicodeDecodeError:
        return content.decode("latin-1")


def _records(text: str, separator: str, name: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows that are not empty, each with the line at which it begins."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    line = 1
    try:
        for fields in reader:
            if fields:
                yield line, fields
            line = reader.line_num + 1
    except csv.Error as error:
        raise DataError(f"{name}: line {line} could not be read ({error}); is a quote never closed?") from None


def _refuse_or_say(name: str, width: int, bad: dict[int, int], rows: int, bad_rows: BadRows | None) -> None:
    """Refuse rows with a wrong number of fields, or say that they are left out."""
    told = listed("line", [f"{line} ({count} fields)" for line, count in bad.items()])
    text = f"{name}: {len(bad):,} of {rows:,} rows do not have {width} fields as the first line does: {told}"
    leave_out(text, bad_rows)


def leave_out(text: str, bad_rows: BadRows | None) -> None:
    """Refuse bad rows, which ``text`` names, or warn that they are left out; None where there is no choice."""
    if bad_rows is None:
        raise DataError(f"{text}; mend them")
    if bad_rows == "error":
        raise DataError(f"{text}; mend them, or leave them out: bad_rows='skip', or --bad-rows skip")
    warnings.warn(f"{text}; they are left out", UserWarning, stacklevel=2)


def _names(first: list[str]) -> list[str]:
    """Return the names of columns; a name that occurs again gets a number, as polars numbers it."""
    names: list[str] = []
    for title in map(str.strip, first):
        again = sum(other == title for other in map(str.strip, first[: len(names)]))
        names.append(f"{title}_duplicated_{again - 1}" if again else title)
    return names


def _places(width: int) -> list[str]:
    """Return the names of columns that have none."""
    return [f"column_{n + 1}" for n in range(width)]


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
