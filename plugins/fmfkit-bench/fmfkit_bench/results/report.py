"""The report of a run: sections are shown when they are added, and files are kept up to date."""

from __future__ import annotations

import time
from pathlib import Path

import attrs
import click
from fmfkit_bench.results import drawing, pages, sections
from fmfkit_bench.results.sections import Cell, Results, Section

from fmfkit.files import replacing


@attrs.define
class Report:
    """Shows sections in the terminal and writes them where the user asked for, after each section.

    A run that is interrupted therefore leaves what it has found.
    """

    title: str
    command: str
    """The command line that gives the sections that are there."""
    json: Path | None = None
    """Where ``--json`` writes the results."""
    out: Path | None = None
    """The folder where ``--out`` writes a page with figures, and the results."""
    settings: dict[str, Cell] = attrs.field(factory=dict)
    """What else a reader must know, by name."""
    found: list[Section] = attrs.field(factory=list)
    _began: float = attrs.field(factory=time.perf_counter)

    def say(self, line: str) -> None:
        """Show progress."""
        click.echo(line, err=True)

    def add(self, section: Section) -> None:
        """Show a section, and write everything there is."""
        self.found.append(section)
        click.echo(pages.terminal(section))
        if self.json is not None:
            sections.write(self.results, self.json)
        if self.out is not None:
            write_folder(self.results, self.out)

    @property
    def results(self) -> Results:
        """Everything found so far."""
        seconds = round(time.perf_counter() - self._began)
        return Results(self.title, sections.about(self.command, **self.settings, seconds=seconds), self.found)


def write_folder(results: Results, folder: Path) -> Path:
    """Write the results, figures and an HTML page to a folder; figures only where matplotlib is installed."""
    folder.mkdir(parents=True, exist_ok=True)
    drawn = drawing.available()
    if drawn:
        for section in results.sections:
            for figure in section.figures:
                drawing.draw(figure, folder)
    sections.write(results, folder / "results.json")
    page = folder / "report.html"
    with replacing(page) as file:
        file.write(pages.page(results, folder if drawn else None).encode())
    return page


__all__ = ["Report", "write_folder"]
