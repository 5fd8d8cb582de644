"""Solvers side by side: seconds per round, to an objective and to a test error that all of them reach."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable

import attrs
import numpy as np
from fmfkit_bench import machine
from fmfkit_bench.shapes import Shape

from fmfkit import Problem, RoundEvent, Solver, fit, solvers

SOLVERS: dict[str, tuple[str, Callable[[], Solver]]] = {
    "block": ("PL2M(block=8), the default", lambda: solvers.PL2M()),
    "dimension": ("PL2M(block=1), the paper's Algorithm 3", lambda: solvers.PL2M(block=1)),
    "sgd": ("grouped SGD", lambda: solvers.SGD(learning_rate=0.01, decay=0.9)),
    "hogwild": ("Hogwild! pair by pair", lambda: solvers.Hogwild(learning_rate=0.01, decay=0.9)),
}


@attrs.define
class Run:
    """One fit, as it went: a value per round, from the start on."""

    seconds: list[float] = attrs.field(factory=list)
    objective: list[float] = attrs.field(factory=list)
    test_error: list[float] = attrs.field(factory=list)
    peak: int | None = None

    def watch(self, shape: Shape) -> Callable[[RoundEvent], None]:
        """Return the callback that writes it down; the test error is taken outside the rounds' time."""

        def note(event: RoundEvent) -> None:
            self.seconds.append(event.record.seconds)
            self.objective.append(event.record.objective)
            self.test_error.append(shape.test_error(event.model()))

        return note

    def time_to(self, series: list[float], goal: float) -> float | None:
        """Return the seconds until a series first was at or below a goal."""
        reached = np.flatnonzero(np.asarray(series) <= goal)
        return float(np.cumsum(self.seconds)[reached[0]]) if reached.size else None


@attrs.frozen(kw_only=True)
class Record:
    """One line of the table: a solver on a shape with a number of threads, medians over the repeats."""

    shape: str
    scale: float
    solver: str
    threads: int
    rounds: int
    seconds_per_round: float
    seconds_to_objective: float | None
    seconds_to_test_error: float | None
    objective: float
    test_error: float
    peak_rss_bytes: int | None
    bytes_per_second: float
    flops_per_second: float


def work(problem: Problem, name: str) -> tuple[float, float]:
    """Count bytes and floating-point operations that a round cannot do without, caches taken as perfect.

    By dimension or block, for each side: the pairs' indices and scores, read, and scores written; the features' indices
    and values, read by column and by row. Stochastic solvers: the pairs once, and the parameters of every feature that
    they touch.
    """
    rank, pairs = problem.rank, problem.pairs
    real = problem.dtype.itemsize
    nonzeros = problem.X.nonzeros + problem.Z.nonzeros
    if name in ("block", "dimension"):
        passes = rank / 8 if name == "block" else rank
        moved = passes * (2 * pairs * (4 + 2 * real) + 2 * nonzeros * (4 + real))
        gram = 8 * 2 if name == "block" else 2
        return moved, 2 * pairs * rank * (4 + gram) + 6 * nonzeros * rank
    touched = pairs + problem.X.nonzeros if name == "sgd" else pairs * (problem.X.nonzeros / problem.X.rows + 1)
    return pairs * (4 + real) + 2 * touched * rank * real, 6 * touched * rank


def run(shape: Shape, problem: Problem, name: str, threads: int, rounds: int, seed: int) -> Run:
    """Fit once."""
    result = Run()
    measured = machine.reset_peak()
    fit(problem, solver=SOLVERS[name][1](), rounds=rounds, threads=threads, seed=seed, callbacks=result.watch(shape))
    result.peak = machine.peak_bytes() if measured else None
    return result


def compare(runs: dict[tuple[str, int], list[Run]], shape: Shape, scale: float, problem: Problem) -> list[Record]:
    """Return the records of runs by solver and threads. Goals are what every solver reached at its best."""
    monotone = [run for (name, _), many in runs.items() for run in many if SOLVERS[name][1]().monotone]
    objective = max((run.objective[-1] for run in monotone), default=-np.inf) * (1 + 1e-9)
    error = max(min(run.test_error) for many in runs.values() for run in many) * 1.0005
    records = []
    for (name, threads), many in runs.items():
        seconds = statistics.median(statistics.median(run.seconds[1:]) for run in many)
        moved, flops = work(problem, name)
        records.append(
            Record(
                shape=shape.name, scale=scale, solver=name, threads=threads, rounds=len(many[0].seconds) - 1,
                seconds_per_round=seconds,
                seconds_to_objective=_median(run.time_to(run.objective, objective) for run in many),
                seconds_to_test_error=_median(run.time_to(run.test_error, error) for run in many),
                objective=statistics.median(run.objective[-1] for run in many),
                test_error=statistics.median(min(run.test_error) for run in many),
                peak_rss_bytes=max((run.peak for run in many if run.peak is not None), default=None),
                bytes_per_second=moved / seconds, flops_per_second=flops / seconds,
            )
        )  # fmt: skip
    return records


def _median(values: Iterable[float | None]) -> float | None:
    reached = [value for value in values if value is not None]
    return statistics.median(reached) if reached else None
