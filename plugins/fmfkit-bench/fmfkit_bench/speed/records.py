"""What a race found: a record for each solver and number of threads, and their table."""

from __future__ import annotations

import statistics
from collections.abc import Iterable

import attrs
import numpy as np
from fmfkit_bench.results.sections import Cell, Section, Table
from fmfkit_bench.speed.machine import Rates
from fmfkit_bench.speed.race import SOLVERS, Course, Run, Runs

from fmfkit import Problem

Limits = dict[int, Rates]
"""What the machine can do, by the number of threads."""


@attrs.frozen(kw_only=True)
class Record:
    """A solver on a shape with a number of threads; medians over the repeats."""

    shape: str
    scale: float
    solver: str
    threads: int
    rounds: int
    seconds_per_round: float
    seconds_to_objective: float | None
    seconds_to_test_error: float | None
    objective: float | None
    test_error: float | None
    peak_rss_bytes: int | None
    bytes_per_second: float
    flops_per_second: float
    sample: float
    """The part of the pairs that was trained on; the time per round is for all of them."""


COLUMNS = [
    "solver",
    "threads",
    "rounds",
    "s/round",
    "s to objective",
    "s to test error",
    "objective",
    "best error",
    "GB/s",
    "GFLOP/s",
    "peak MB",
    "part of the pairs",
]


def work(problem: Problem, name: str) -> tuple[float, float]:
    """Count the bytes and floating-point operations that a round cannot do without, with perfect caches.

    Coordinate descent: the pairs once for each panel of dimensions or each dimension, on each side, and the features by
    column and by row, twice for panels because of their two directions. Stochastic solvers: the pairs once, and the
    parameters of every feature that they touch.
    """
    rank, pairs = problem.rank, problem.pairs
    real = problem.dtype.itemsize
    nonzeros = problem.X.nonzeros + problem.Z.nonzeros
    if name in ("panel", "pl2m", "l2m"):
        panel = name == "panel"
        passes, feature_passes = (rank / 8, 2) if panel else (rank, 1)
        moved = passes * (2 * pairs * (4 + 2 * real) + feature_passes * 2 * nonzeros * (4 + real))
        gram = 5 * 2 if panel else 2
        return moved, 2 * pairs * rank * (4 + gram) + feature_passes * 6 * nonzeros * rank
    touched = pairs + problem.X.nonzeros if name == "sgd" else pairs * (problem.X.nonzeros / problem.X.rows + 1)
    return pairs * (4 + real) + 2 * touched * rank * real, 6 * touched * rank


def compare(runs: Runs, course: Course) -> list[Record]:
    """Return the records of runs by solver and threads.

    The objective to reach is what every monotone solver had at the end. The test error to reach is what both the
    default solver and stochastic gradient descent had at their best.
    """
    whole = {key: many for key, many in runs.items() if many[0].sample == 1}
    monotone = [run for (name, _), many in whole.items() for run in many if SOLVERS[name].make(course.shape).monotone]
    objective = max((run.objective[-1] for run in monotone), default=-np.inf) * (1 + 1e-9)
    racing = [run for (name, _), many in whole.items() for run in many if SOLVERS[name].sets_error]
    error = max((min(run.test_error) for run in racing), default=-np.inf) * 1.0005
    return [_record(course, key, many, objective, error) for key, many in runs.items()]


def _record(course: Course, key: tuple[str, int], many: list[Run], objective: float, error: float) -> Record:
    name, threads = key
    seconds = statistics.median(run.seconds_per_round() for run in many)
    moved, flops = work(course.problem, name)
    sampled = many[0].sample < 1
    return Record(
        shape=course.shape.name,
        scale=course.scale,
        solver=name,
        threads=threads,
        rounds=len(many[0].seconds) - 1,
        seconds_per_round=seconds,
        seconds_to_objective=_median(run.time_to(run.objective, objective) for run in many),
        seconds_to_test_error=_median(run.time_to(run.test_error, error) for run in many),
        objective=None if sampled else statistics.median(run.objective[-1] for run in many),
        test_error=None if sampled else statistics.median(min(run.test_error) for run in many),
        peak_rss_bytes=max((run.peak for run in many if run.peak is not None), default=None),
        bytes_per_second=moved / seconds,
        flops_per_second=flops / seconds,
        sample=many[0].sample,
    )


def _median(values: Iterable[float | None]) -> float | None:
    reached = [value for value in values if value is not None]
    return statistics.median(reached) if reached else None


def section(records: list[Record], limits: Limits) -> Section:
    """Return the table of one shape, and what the machine can do."""
    first = records[0]
    able: list[list[Cell]] = [
        [team, rate.bytes / 1e9, rate.lines / 1e6, rate.flops / 1e9] for team, rate in limits.items()
    ]
    return Section(
        f"speed-{first.shape}",
        f"{first.shape} at {first.scale:g} of its size",
        "Seconds per round, to the objective that all coordinate descent solvers had at the end, and to the test error "
        "that the default solver and grouped SGD both had at their best. A solver that is run on a part of the pairs "
        "has its time per round multiplied accordingly. GB/s and GFLOP/s count what a round cannot do without.",
        tables=[
            Table(f"{first.shape}: solvers", COLUMNS, [_row(record) for record in records]),
            Table("What this machine can do", ["threads", "GB/s", "million lines/s", "GFLOP/s"], able),
        ],
    )


def _row(record: Record) -> list[Cell]:
    return [
        record.solver,
        record.threads,
        record.rounds,
        record.seconds_per_round,
        record.seconds_to_objective,
        record.seconds_to_test_error,
        record.objective,
        record.test_error,
        record.bytes_per_second / 1e9,
        record.flops_per_second / 1e9,
        None if record.peak_rss_bytes is None else round(record.peak_rss_bytes / 1e6),
        record.sample,
    ]


__all__ = ["Limits", "Record", "compare", "section", "work"]
