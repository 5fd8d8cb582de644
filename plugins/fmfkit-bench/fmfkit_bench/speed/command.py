"""``fmfkit bench speed``."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from pathlib import Path

import attrs
import click
import numpy as np
from fmfkit_bench import core, options
from fmfkit_bench.data import shapes
from fmfkit_bench.data.shapes import Shape
from fmfkit_bench.results.report import Report
from fmfkit_bench.speed import before, footprint, goals, growth, machine, phases, plain, records
from fmfkit_bench.speed.goals import Goal
from fmfkit_bench.speed.race import SAMPLED_PAIRS, SOLVERS, Course
from fmfkit_bench.speed.records import Record

RANKS = (16, 32, 64, 128)
"""The ranks through which the time of a round is measured."""
GROWTH_RANK, GROWTH_PART = 64, 0.2
"""The rank and the part of the data at which growth with pairs and features is measured."""


@attrs.frozen(kw_only=True)
class Options:
    """What the user asks for."""

    shapes: tuple[str, ...]
    scale: float | None
    rank: int
    seed: int
    solvers: tuple[str, ...]
    rounds: int
    threads: tuple[int, ...]
    repeats: int
    goals: bool
    before: Path | None
    busy: int

    @property
    def sizes(self) -> dict[str, float]:
        """The shapes to run on, each with the part of its full size."""
        if self.goals:
            return {name: size * (self.scale or 1.0) for name, size in goals.SIZES.items()}
        return dict.fromkeys(self.shapes, self.scale or 0.1)

    @property
    def full(self) -> bool:
        """Whether the shapes have the sizes that the goals are for."""
        return self.goals and self.scale in (None, 1.0)


@click.command("speed")
@options.shapes
@options.scale(
    None, "Size of the data, 0.1 by default; with --targets, a part of the sizes of the goals, 1 by default."
)
@options.rank
@options.seed
@click.option(
    "--solver",
    "solvers",
    multiple=True,
    type=click.Choice(list(SOLVERS)),
    default=["panel", "pl2m", "sgd"],
    show_default=True,
    help="Solver to run; may be given more than once.",
)
@options.rounds(6, "Rounds of each fit; sgd has twice as many.")
@options.many_threads()
@options.repeats(1)
@click.option(
    "--busy",
    default=0,
    show_default=True,
    type=click.IntRange(0, 64),
    help="Other processes that keep a processor busy meanwhile, as on a shared machine.",
)
@click.option(
    "--targets",
    "goals",
    is_flag=True,
    help="Measure everything that the table of goals needs: its shapes and all solvers on 1 and 2 threads, plain "
    "factorization beside LIBMF, a busy core, the phases of a round, growth, and memory.",
)
@click.option(
    "--before",
    metavar="PYTHON",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="With --targets: the Python of an environment with another version of fmfkit, to time by turns.",
)
@options.reported(Options, "Solvers side by side")
def command(given: Options, report: Report) -> None:
    """Run solvers side by side: seconds per round, to equal objective, to equal test error.

    The objective to reach is the one that all coordinate descent solvers had at the end. The test error to reach is the
    one that the default solver and grouped SGD both had at their best. Hogwild! is run on a part of the pairs, and its
    time is multiplied accordingly.
    """
    if given.goals:
        given = attrs.evolve(given, solvers=goals.SOLVERS, threads=given.threads or (1, 2))
    given = attrs.evolve(given, threads=given.threads or (core.all_threads(),))
    report.settings["threads"] = ", ".join(map(str, given.threads))
    limits = {team: machine.rates(team) for team in given.threads}
    measured: list[Record] = []
    others: list[Goal] = []
    for name, size in given.sizes.items():
        began = time.perf_counter()
        shape = shapes.generate(name, size, given.seed)
        report.say(f"{name} at {size:g} of its size, generated in {time.perf_counter() - began:.1f} s")
        raw = shape if given.goals and name == "ml10m" else None
        course = _course(shape, size, given)
        del shape  # so that the training data is in memory once, unless it is raw
        with machine.kept_busy(given.busy):
            found = records.compare(course.race(report.say), course)
        report.add(records.section(found, limits))
        measured += found
        if "panel" in given.solvers:
            others += _phases(course, given, report)
        if raw is not None:
            others.append(_busy(course, given))
            others += _whole_process(raw, given, report) + _growth(raw, size, given, report.say)
    report.add(goals.section(goals.of_records(measured, given.full) + others))


def _course(shape: Shape, size: float, given: Options) -> Course:
    """Return what the solvers are raced on."""
    part = min(1.0, SAMPLED_PAIRS / len(shape.train))
    sampling = any(SOLVERS[name].sampled for name in given.solvers)
    return Course(
        shape=shape.for_testing(),
        scale=size,
        problem=shape.problem(given.rank),
        sampled=shape.problem(given.rank, sample=part) if sampling else None,
        part=part,
        solvers=given.solvers,
        threads=given.threads,
        rounds=given.rounds,
        repeats=given.repeats,
        seed=given.seed,
    )


def _phases(course: Course, given: Options, report: Report) -> list[Goal]:
    """Show where a round's time goes; with the goals, what share of the machine's limit it reaches."""
    shares = {}
    for team in given.threads:
        shown, shares[team] = phases.section(course.shape.name, course.problem, team, given.rounds, report.say)
        report.add(shown)
    applies = given.goals and course.shape.name == "ml10m"
    return [goals.of_limit(shares[max(shares)], given.full)] if applies else []


def _busy(course: Course, given: Options) -> Goal:
    """Measure rounds while another process keeps a core busy."""
    found: dict[int, list[float]] = {1: [], 2: []}
    with machine.kept_busy(1):
        for repeat in range(given.repeats):
            for team, some in found.items():
                some.append(course.run("panel", team, repeat).seconds_per_round())
    return goals.of_busy({team: statistics.median(some) for team, some in found.items()}, given.full)


def _whole_process(shape: Shape, given: Options, report: Report) -> list[Goal]:
    """Measure what needs the training data as it is: memory, and plain factorization."""
    found = []
    peak = footprint.measure(shape, given.rank, max(given.threads))
    if peak is not None:
        found.append(goals.of_footprint(peak, given.full))
    race = plain.race(shape, plain.Course(given.rank, max(given.threads), given.rounds, given.repeats), report.say)
    if race is not None:
        report.add(plain.section(shape.name, race))
        found += goals.of_race(race, given.full)
    if given.before is not None:
        teams = sorted(set(given.threads))
        ratios = before.ratios(given.before, shape, given.rank, teams, given.rounds, given.repeats, report.say)
        found += goals.of_before(ratios, given.full)
    return found


def _growth(shape: Shape, size: float, given: Options, say: Callable[[str], None]) -> list[Goal]:
    """Measure how the time of a round grows."""
    smaller = shapes.generate(shape.name, GROWTH_PART * size, given.seed)
    draws = np.random.default_rng(0).random(len(smaller.train))
    growing = growth.sizes(smaller, draws, RANKS, GROWTH_RANK)
    return goals.of_growth(growth.exponents(growing, max(given.threads), given.rounds, say))


__all__ = ["command"]
