"""How a text file writes a table, recognised from how it begins: separator, header, decimal commas, codes."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator, Mapping

import attrs

from fmfkit.data.cells import MISSING

SEPARATORS = ",;\t|"
HEAD = 1 << 18
"""Bytes by which a file's form is recognised."""
CONSISTENT = 0.6
"""The share of lines that must have as many fields as the first for a separator to be one."""
NEARLY_ALL = 0.9
"""The share of lines that must have as many fields for shorter ones above them to be no part of the table."""
ABOVE = 20
"""At most so many lines above the header are passed over."""
SEP = re.compile(r'"?sep=(.)"?\r?\n', re.IGNORECASE)
"""The line by which Excel says what separates fields."""
NUMBER = re.compile(r"[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d+)?")
DATE = re.compile(r"\d{4}-\d\d-\d\d([ T].*)?")
DIGITS = re.compile(r"[0-9]+")
COMMA = re.compile(r"[+-]?\d*,\d+")
POINT = re.compile(r"[+-]?\d*\.\d+")

Record = tuple[int, list[str]]
"""A row of a file, and the line at which it begins."""


@attrs.frozen
class Form:
    """How a file writes a table."""

    separator: str
    header: bool = True
    decimal_comma: bool = False
    codes: Mapping[str, str] = attrs.field(factory=dict)
    """The columns of digits of one length, and one of each that begins with 0: as numbers they lose it."""
    first_line: int = 1
    """The line at which the table begins: what stands above it is no part of it."""
    above: tuple[str, ...] = ()
    """The lines above it that are not empty, but for one that says what separates fields."""


def recognise(head: str, separator: str) -> Form:
    """Return the form of a table from how it begins."""
    said = SEP.match(head)
    given = (said.group(1),) if said else SEPARATORS
    head = head[said.end() :] if said else head
    counted = {mark: _sample(head, mark) for mark in given}
    tables = {mark: rows if _agree(counted, rows, below := _below(rows)) else below for mark, rows in counted.items()}
    widths = {mark: _width(rows) for mark, rows in tables.items()}
    chosen = max(given, key=lambda mark: (widths[mark], len(tables[mark]) - len(counted[mark]), mark == separator))
    if widths[chosen] < 2 and not said:
        chosen = separator
    rows = [row for _, row in tables[chosen]]
    above = counted[chosen][: len(counted[chosen]) - len(rows)]
    first = tables[chosen][0][0] if rows else 1
    cells = [cell.strip() for row in rows[1:] for cell in row]
    comma = chosen != "," and any(map(COMMA.fullmatch, cells)) and not any(map(POINT.fullmatch, cells))
    header = _has_header(rows)
    lines = tuple(chosen.join(row).strip() for _, row in above)
    return Form(chosen, header, comma, _codes(rows, header), first + (said is not None), lines)


def _sample(head: str, separator: str) -> list[Record]:
    """Return the first rows; the last is left out, because the sample may end within it."""
    try:
        rows = list(numbered(head, separator))
    except csv.Error:
        return []
    return rows[:-1] if len(head) >= HEAD - 4 and len(rows) > 1 else rows


def _below(rows: list[Record]) -> list[Record]:
    """Return the rows without what people write above a table: lines that have at most half the fields of nearly all
    others, such as a title. A header that lacks a single name is none of them."""
    usual = Counter(len(row) for _, row in rows).most_common(1)[0][0] if rows else 1
    above = 0
    while above < min(len(rows), ABOVE) and _filled(rows[above][1]) <= max(usual // 2, 1) < usual:
        above += 1
    below = rows[above:]
    agreeing = sum(len(row) == usual for _, row in below)
    return below if len(below) > 1 and agreeing >= NEARLY_ALL * len(below) else rows


def _agree(counted: Mapping[str, list[Record]], rows: list[Record], below: list[Record]) -> bool:
    """Tell whether by another separator the first line is a row like the one that would be the header without it: words
    within the fields of a table are no lines above it."""
    if len(below) == len(rows):
        return True
    lines = {rows[0][0], below[0][0]}
    for other in (one for one in counted.values() if one is not rows):
        width = _width(other)
        fields = [len(row) for line, row in other if line in lines]
        if width > 1 and fields == [width, width]:
            return True
    return False


def _filled(row: list[str]) -> int:
    """Return how many fields a row has up to its last that is not empty."""
    return max((n for n, cell in enumerate(row, 1) if cell.strip()), default=0)


def _width(rows: list[Record]) -> int:
    """Return how many fields the rows have, 1 if they do not agree."""
    if not rows:
        return 1
    first = len(rows[0][1])
    agreeing = sum(len(row) == first for _, row in rows)
    return first if agreeing >= CONSISTENT * len(rows) else 1


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
    for place, name in enumerate(names if header else without_names(len(names))):
        below = [row[place].strip() for row in rows[header:] if len(row) > place]
        cells = [cell for cell in below if cell and cell.lower() not in MISSING]
        zeros = [cell for cell in cells if cell[0] == "0"]
        if zeros and len(zeros[0]) > 1 and len(set(map(len, cells))) == 1 and all(map(DIGITS.fullmatch, cells)):
            found[name] = zeros[0]
    return found


def _kind(cell: str) -> str:
    if NUMBER.fullmatch(cell):
        return "number"
    return "date" if DATE.fullmatch(cell) else "text"


def numbered(text: str, separator: str) -> Iterator[Record]:
    """Yield the rows that are not empty."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    line = 1
    try:
        for fields in reader:
            if fields:
                yield line, fields
            line = reader.line_num + 1
    except csv.Error as error:
        raise csv.Error(f"line {line} could not be read ({error})") from None


def without_names(width: int) -> list[str]:
    """Return the names of columns that have none."""
    return [f"column_{n + 1}" for n in range(width)]


__all__ = ["HEAD", "Form", "Record", "numbered", "recognise", "without_names"]
