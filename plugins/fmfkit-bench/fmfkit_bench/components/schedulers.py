"""``fmfkit bench schedulers``: what schedulers do to eta, sigma, the time of a round and to equal objective."""

from __future__ import annotations

import importlib
import importlib.util
import statistics
import time
from collections.abc import Callable

import attrs
import click
import numpy as np
from fmfkit_bench import core, options
from fmfkit_bench.components.rounds import Clock
from fmfkit_bench.data import draws, shapes
from fmfkit_bench.data.pairs import Pairs
from fmfkit_bench.data.shapes import Shape
from fmfkit_bench.results.report import Report
from fmfkit_bench.results.sections import Cell, Section, Table
from fmfkit_bench.speed.race import Run

from fmfkit import Features, Model, PartitionScheduler, fit, schedulers

COLUMNS = [
    "scheduler",
    "sets",
    "CPU s for sets",
    "median eta",
    "least eta",
    "sigma",
    "s/round",
    "s to equal",
    "CPU s/round",
    "CPU s to equal",
    "objective",
]
STANDARD = "random 500"
PER_ROW = 5


@attrs.frozen
class Options:
    """What the user asks for."""

    shapes: tuple[str, ...]
    scale: float
    rank: int
    seed: int
    rounds: int
    threads: int
    repeats: int
    features: int


@click.command("schedulers")
@options.shapes
@options.scale(0.1)
@options.rank
@options.seed
@options.rounds(6)
@click.option("--threads", default=2, show_default=True, type=options.THREADS, help="Threads.")
@options.repeats(3)
@click.option(
    "--features",
    default=0,
    show_default=True,
    type=click.IntRange(0),
    help=f"Also time the sets of this many features, {PER_ROW} in each of as many rows.",
)
@options.reported(Options, "Schedulers side by side")
def command(given: Options, report: Report) -> None:
    """Show what schedulers do to eta, sigma, seconds per round and the time to equal objective."""
    for name in given.shapes:
        report.add(measure(shapes.generate(name, given.scale, given.seed), given, report.say))
    if given.features:
        report.add(measure_sets(given, report.say))


def known(say: Callable[[str], None]) -> dict[str, PartitionScheduler]:
    """Return the schedulers that are available here."""
    found: dict[str, PartitionScheduler] = {
        "random 50": schedulers.RandomPartition(50),
        STANDARD: schedulers.RandomPartition(500),
        "random 5000": schedulers.RandomPartition(5000),
        "size balanced 500": schedulers.SizeBalanced(500),
    }
    if importlib.util.find_spec("fmfkit_schedulers") is None:
        say("fmfkit-schedulers is not installed, so its schedulers are left out")
        return found
    conflict = importlib.import_module("fmfkit_schedulers.conflict")
    found["bounded conflict 4"] = conflict.BoundedConflict(4.0)
    found["conflict free"] = conflict.ConflictFree()
    found["apart 64"] = importlib.import_module("fmfkit_schedulers.cooccurrence").Apart(64)
    found["adaptive"] = importlib.import_module("fmfkit_schedulers.adaptive").Adaptive()
    return found


def measure(shape: Shape, given: Options, say: Callable[[str], None]) -> Section:
    """Train with PL2M, one dimension at a time, with each scheduler in turn."""
    problem = shape.problem(given.rank)
    found = known(say)
    fits: dict[str, list[tuple[Model, Clock]]] = {}
    for _ in range(given.repeats):
        for name, scheduler in found.items():
            clock = Clock()
            model = fit(
                problem,
                solver=core.pl2m(scheduler),
                rounds=given.rounds,
                threads=given.threads,
                seed=given.seed,
                callbacks=clock,
            )
            fits.setdefault(name, []).append((model, clock))
            say(f"{shape.name}, {name}: objective {model.history[-1].objective:.6g}")
    goal = fits[STANDARD][0][0].history[-1].objective
    sets = {name: _sets(scheduler, (problem.X, problem.Z), given) for name, scheduler in found.items()}
    return Section(
        f"schedulers-{shape.name}",
        f"Schedulers on {shape.name} at {given.scale:g} of its size",
        "Sets are those of a round, of both sides together, and the time it takes to make them. Eta is the share of "
        "a lone step that parallel updates leave to a feature (1: none conflict), in the last round. Sigma is the load "
        f"of the busiest thread over the mean. The objective to reach is what {STANDARD}, as in the paper, had at the "
        "end; the time to it is interpolated between rounds. Times are medians, on the clock and in CPU time of all "
        "threads.",
        tables=[Table(f"{shape.name}: PL2M", COLUMNS, [[n, *sets[n], *_row(many, goal)] for n, many in fits.items()])],
    )


def measure_sets(given: Options, say: Callable[[str], None]) -> Section:
    """Time each scheduler on many features."""
    n = given.features
    matrix = draws.bag(np.random.default_rng(given.seed), n, n, PER_ROW)
    one = Pairs(np.zeros(1, np.int32), np.zeros(1, np.int32), np.ones(1, np.float32))
    features = core.Given(pairs=one, shape=(n, 1), X={"bag": matrix}).problem(1).X
    rows: list[list[Cell]] = []
    for name, scheduler in known(say).items():
        rows.append([name, *_sets(scheduler, (features,), given)])
        say(f"{n} features, {name}: {rows[-1][1]} sets")
    return Section(
        "schedulers-features",
        f"Sets of {n} features",
        f"Generated features, about {PER_ROW} in each of {n} rows, some far more common than others.",
        tables=[Table(f"The sets of {n} features", COLUMNS[:3], rows)],
    )


def _sets(scheduler: PartitionScheduler, sides: tuple[Features, ...], given: Options) -> list[Cell]:
    """Return the number of sets that a scheduler makes, and the median of the CPU seconds it takes."""
    seconds = []
    for _ in range(given.repeats):
        began = time.process_time()
        sets = sum(len(scheduler.partition(side, 0, np.random.default_rng(given.seed))) for side in sides)
        seconds.append(time.process_time() - began)
    return [sets, statistics.median(seconds)]


def _row(fits: list[tuple[Model, Clock]], goal: float) -> list[Cell]:
    """Return what fits of one seed show; only their seconds differ."""
    objectives = [record.objective for record in fits[0][0].history]
    last = fits[0][0].history[-1]
    eta = (1.0, 1.0) if last.eta is None else (last.eta.median, last.eta.minimum)
    cells: list[Cell] = [*eta, last.sigma or 1.0]
    for seconds in ([clock.wall for _, clock in fits], [clock.cpu for _, clock in fits]):
        runs = [Run([0.0, *rounds], objectives) for rounds in seconds]
        reached = [spent for run in runs if (spent := run.time_to(run.objective, goal)) is not None]
        cells.append(statistics.median(run.seconds_per_round() for run in runs))
        cells.append(statistics.median(reached) if reached else None)
    return [*cells, last.objective]


__all__ = ["command", "measure", "measure_sets"]
