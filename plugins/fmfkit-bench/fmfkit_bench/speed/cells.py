"""``fmfkit bench cells``: what the term over all cells adds to the time of a round, beside irspack's."""

from __future__ import annotations

import itertools
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import attrs
import click
from fmfkit_bench import core, options
from fmfkit_bench.data import real, shapes
from fmfkit_bench.peers.adapters import SYSTEMS
from fmfkit_bench.peers.interface import Task, Trained
from fmfkit_bench.results.report import Report
from fmfkit_bench.results.sections import Cell, Claim, Section, Table

from fmfkit import Dataset, Problem, fit
from fmfkit.search import start

MOST = 1.25
"""What the claim allows a round with the term to take, in units of one without."""
COLUMNS = ["features", "threads", "s/round without", "s/round with", "ratio", "irspack s/epoch"]


@attrs.frozen(kw_only=True)
class Options:
    """What the user asks for."""

    files: tuple[Path, ...]
    shapes: tuple[str, ...]
    scale: float
    rank: int
    seed: int
    rounds: int
    threads: tuple[int, ...]
    repeats: int


@click.command("cells")
@click.argument("files", nargs=-1, type=click.Path(exists=True, path_type=Path))
@click.option(
    "--shape",
    "shapes",
    multiple=True,
    type=click.Choice(sorted(shapes.SHAPES)),
    help="Generated data besides the FILES, all pairs taken as positives; may be given more than once.",
)
@options.scale(0.05, "Size of generated data.")
@options.rank
@options.seed
@click.option("--rounds", default=4, show_default=True, type=click.IntRange(2), help="Rounds of each fit.")
@options.many_threads(1, 2)
@options.repeats(5)
@options.reported(Options, "The term over all cells")
def command(given: Options, report: Report) -> None:
    """Time rounds with the term over all cells and without, by turns, on FILES that have positives only.

    FILES are as for ``fmfkit bench peers``. The first round of a fit, which warms up, is left out; medians are shown.
    """
    if not given.files and not given.shapes:
        raise click.UsageError("give FILES, or generated data with --shape")
    with tempfile.TemporaryDirectory() as folder:
        made = [real.write(shapes.generate(name, given.scale, given.seed), Path(folder)) for name in given.shapes]
        for file in [*given.files, *made]:
            report.add(measure(real.load(file), given, report.say))


def measure(data: real.Real, given: Options, say: Callable[[str], None]) -> Section:
    """Return the table of one data set."""
    rows: list[list[Cell]] = []
    claims = []
    for features in (False, True):
        train = data.train if features else data.plain_train
        problem = core.positives_problem(train, given.rank)
        if features and problem.X.cols + problem.Z.cols == sum(train.shape):
            continue  # it has none
        for threads in given.threads:
            without, with_cells = _rounds(problem, threads, given)
            ratio = with_cells / without
            epoch = _irspack(train, threads, given, features=features)
            rows.append(["yes" if features else "no", threads, without, with_cells, ratio, epoch])
            where = f"{data.name}, {'with' if features else 'without'} features, threads {threads}"
            claims.append(Claim(f"cells cost at most {MOST - 1:.0%} of a round", where, ratio <= MOST, f"{ratio:.2f}"))
            say(f"{where}: {without:.4f} s without, {with_cells:.4f} s with")
    about = f"Rank {given.rank}; medians of rounds 2 to {given.rounds} of {given.repeats} fits each, by turns."
    return Section(data.name, data.name, about, tables=[Table(f"{data.name}: a round", COLUMNS, rows)], claims=claims)


def _rounds(problem: Problem, threads: int, given: Options) -> tuple[float, float]:
    """Return the seconds of a round without the term and with it."""
    seconds: tuple[list[float], list[float]] = ([], [])
    both = problem.replace(cells=None, offset=problem.offset), problem
    for _ in range(given.repeats):
        for found, one in zip(seconds, both, strict=True):
            history = fit(one, rounds=given.rounds, threads=threads, seed=given.seed).history
            found += [record.seconds for record in history[2:]]
    return statistics.median(seconds[0]), statistics.median(seconds[1])


def _irspack(data: Dataset, threads: int, given: Options, *, features: bool) -> float | None:
    """Return the seconds of an epoch; None where it is not installed."""
    system = next(system for system in SYSTEMS if system.module == "irspack")
    if system.missing():
        return None
    task = Task(
        data=data,
        ranking=True,
        cold=None,
        rank=given.rank,
        threads=threads,
        seed=given.seed,
        rounds=given.rounds * given.repeats,
    )
    peer, ends = system.peer(), []

    def note(give: Callable[[], Trained]) -> bool:
        ends.append(time.perf_counter())
        return False

    peer.train(task, start(peer.knobs(task)) | {"features": features}, note)
    return statistics.median(end - begin for begin, end in itertools.pairwise(ends))


__all__ = ["command", "measure"]
