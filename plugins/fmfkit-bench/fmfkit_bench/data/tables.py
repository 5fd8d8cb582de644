"""``fmfkit bench tables``: a large CSV file with text ids made into a data set, beside polars alone reading it."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import attrs
import click
import numpy as np
import polars as pl
from fmfkit_bench import core, options
from fmfkit_bench.data.draws import different
from fmfkit_bench.results.report import Report
from fmfkit_bench.results.sections import Section, Table


@attrs.frozen
class Options:
    """What the user asks for."""

    rows: int
    repeats: int
    seed: int


@click.command("tables")
@click.option("--rows", default=10_000_000, show_default=True, type=click.IntRange(100), help="Rows of the file.")
@options.repeats(3)
@options.seed
@options.reported(Options, "Reading tables")
def command(given: Options, report: Report) -> None:
    """Make a data set of a CSV file with text ids, side by side with polars reading it."""
    report.add(measure(given, report.say))


def measure(given: Options, say: Callable[[str], None]) -> Section:
    """Write a file with different pairs of text ids, and read it both ways in turn."""
    ways: dict[str, Callable[[Path], object]] = {"polars": pl.read_csv, "fmfkit": core.dataset}
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "pairs.csv"
        _frame(given.rows, given.seed).write_csv(path)
        size = path.stat().st_size
        for _ in range(given.repeats):
            for name, way in ways.items():
                began = time.perf_counter()
                way(path)
                seconds[name].append(time.perf_counter() - began)
                say(f"{name}: {seconds[name][-1]:.2f} s")
    medians = {name: statistics.median(times) for name, times in seconds.items()}
    about = {"polars": "reads the file", "fmfkit": "makes a data set of it"}
    return Section(
        "tables",
        "Reading a table",
        f"A CSV file with {given.rows:,} rows and {size / 1e6:.0f} MB; medians of {given.repeats}. The ids are text, "
        "and fmfkit numbers them.",
        tables=[
            Table(
                "Seconds to read it",
                ["reader", "what it does", "s", "times as long as polars"],
                [[name, about[name], time, time / medians["polars"]] for name, time in medians.items()],
            )
        ],
    )


def _frame(rows: int, seed: int) -> pl.DataFrame:
    """Return pairs in the shape of MovieLens 10M: 7 users and 1 item for each 1000 pairs, items by popularity."""
    rng = np.random.default_rng(seed)
    users, items = max(rows * 7 // 1000, 10), max(rows // 1000, 10)
    user = rng.integers(0, users, 2 * rows)
    item = (items * rng.random(2 * rows) ** 2).astype(np.int64)
    keys = rng.permutation(different(user * items + item))[:rows]
    user, item = np.divmod(keys, items)
    return pl.DataFrame(
        {
            "user": pl.select(pl.format("user-{}", pl.Series(user))).to_series(),
            "item": pl.select(pl.format("item-{}", pl.Series(item))).to_series(),
            "rating": rng.integers(1, 11, len(keys)) / 2,
        }
    )


__all__ = ["command", "measure"]
