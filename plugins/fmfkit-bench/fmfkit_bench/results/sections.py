"""What a benchmark found, as data: tables, figures and checked claims. ``pages`` and ``drawing`` show it."""

from __future__ import annotations

import datetime
import json
import os
import platform
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import attrs
import cattrs

import fmfkit
from fmfkit.files import replacing

Cell = str | int | float | bool | None


@attrs.frozen
class Table:
    """Rows under column names. A cell that is None was not measured."""

    title: str
    columns: list[str]
    rows: list[list[Cell]]


@attrs.frozen
class Line:
    """One line of a panel."""

    label: str
    x: list[float]
    y: list[float]


@attrs.frozen
class Panel:
    """One plot of a figure."""

    title: str
    x: str
    y: str
    """What the axes show."""
    lines: list[Line]


@attrs.frozen
class Figure:
    """Plots side by side."""

    name: str
    """Of its files, without the ending."""
    caption: str
    panels: list[Panel]


@attrs.frozen
class Claim:
    """A statement, whether it holds in what was measured, and by which numbers."""

    what: str
    on: str
    """The data."""
    holds: bool
    found: str


@attrs.frozen
class Section:
    """The outcome of one experiment."""

    name: str
    title: str
    about: str
    tables: list[Table] = attrs.field(factory=list)
    figures: list[Figure] = attrs.field(factory=list)
    claims: list[Claim] = attrs.field(factory=list)


@attrs.frozen
class Results:
    """The outcome of a command."""

    title: str
    about: dict[str, Cell]
    """The machine, the date, the command and its settings."""
    sections: list[Section]

    @property
    def claims(self) -> list[Claim]:
        """The claims of all sections, the same claim on several data together."""
        found = [claim for section in self.sections for claim in section.claims]
        order = list(dict.fromkeys(claim.what for claim in found))
        return sorted(found, key=lambda claim: order.index(claim.what))


def about(command: str, **settings: Cell) -> dict[str, Cell]:
    """Return what a reader must know of a run: the command, its settings, the machine and the date."""
    facts: dict[str, Cell] = {
        "command": command,
        "date": datetime.date.today().isoformat(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "processor": _processor(),
        "fmfkit": fmfkit.__version__,
        "python": platform.python_version(),
    }
    return facts | settings


def _processor() -> str:
    """Return the name of the processor, as far as the system gives it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.machine()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())


_converter = cattrs.Converter(forbid_extra_keys=True)
_converter.register_structure_hook(Cell, lambda value, _: value)  # JSON has these as they are


def write(results: Results, path: str | os.PathLike[str]) -> None:
    """Write results as JSON."""
    with replacing(path) as file:
        file.write((json.dumps(_converter.unstructure(results), indent=1) + "\n").encode())


def read(path: str | os.PathLike[str]) -> Results:
    """Read what ``write`` wrote."""
    try:
        given: Any = json.loads(Path(path).read_text(encoding="utf-8"))
        return _converter.structure(given, Results)
    except (ValueError, cattrs.BaseValidationError) as error:
        raise ValueError(f"{path}: expected results that a benchmark wrote with --out or --json: {error}") from error


def as_text(value: Cell) -> str:
    """Return a cell for people: four digits that count."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:#.4g}" if abs(value) < 1000 else f"{value:,.0f}"
    return f"{value:,}" if isinstance(value, int) else value


def texts(table: Table) -> list[list[str]]:
    """Return the rows of a table as text."""
    return [[as_text(cell) for cell in row] for row in table.rows]


def numeric(table: Table) -> Sequence[bool]:
    """Return which columns hold numbers only."""
    return [
        any(row[k] is not None for row in table.rows)
        and all(
            row[k] is None or (isinstance(row[k], int | float) and not isinstance(row[k], bool)) for row in table.rows
        )
        for k in range(len(table.columns))
    ]


__all__ = ["Claim", "Figure", "Line", "Panel", "Results", "Section", "Table", "about", "read", "write"]
