"""Solvers side by side: seconds per round, to an objective and to a test error that all of them reach."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable

import attrs
import numpy as np
from fmfkit_bench import machine
from fmfkit_bench.shapes import Shape

from fmfkit import Problem, RoundEvent, Solver, fit, solvers

SAMPLED_PAIRS = 100_000
"""Hogwild! is run on about this many pairs, where there are more, and its time multiplied."""


@attrs.frozen
class Contestant:
    """A solver as the benchmark runs it."""

    about: str
    make: Callable[[Shape], Solver]
    patience: int = 1
    """How many rounds it may take for each that the others take."""
    sets_error: bool = False
    """Whether the test error to reach is one that it reaches."""


SOLVERS = {
    "block": Contestant("PL2M(block=8), the default", lambda shape: solvers.PL2M(), sets_error=True),
    "dimension": Contestant("PL2M(block=1), the paper's Algorithm 3", lambda shape: solvers.PL2M(block=1)),
    "sgd": Contestant(
        "grouped SGD", lambda shape: solvers.SGD(learning_rate=shape.rate, decay=0.8), patience=2, sets_error=True
    ),
    "hogwild": Contestant("Hogwild! pair by pair", lambda shape: solvers.Hogwild(learning_rate=shape.rate / 10)),
}


@attrs.define
class Run:
    """One fit, as it went: a value per round, from the start on."""

    seconds: list[float] = attrs.field(factory=list)
    objective: list[float] = attrs.field(factory=list)
    test_error: list[float] = attrs.field(factory=list)
    peak: int | None = None
    sample: float = 1.0
    """The part of the pairs that it had."""

    def watch(self, shape: Shape) -> Callable[[RoundEvent], None]:
        """Return the callback that writes it down; the test error is taken outside the rounds' time."""

        def note(event: RoundEvent) -> None:
            self.seconds.append(event.record.seconds)
            self.objective.append(event.record.objective)
            self.test_error.append(shape.test_error(event.model()))

        return note

    def seconds_per_round(self) -> float:
        """Return the median, for all pairs."""
        return statistics.median(self.seconds[1:]) / self.sample

    def time_to(self, series: list[float], goal: float) -> float | None:
        """Return the seconds until a series first was at or below a goal, in a straight line between rounds."""
        reached = np.flatnonzero(np.asarray(series) <= goal)
        if not reached.size or self.sample < 1:
            return None
        last, elapsed = int(reached[0]), np.cumsum(self.seconds)
        if last == 0:
            return 0.0
        share = (series[last - 1] - goal) / (series[last - 1] - series[last])
        return float(elapsed[last - 1] + share * self.seconds[last])


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
    objective: float | None
    test_error: float | None
    peak_rss_bytes: int | None
    bytes_per_second: float
    flops_per_second: float
    sample: float
    """The part of the pairs that was trained on; the time per round is for all of them."""


def work(problem: Problem, name: str) -> tuple[float, float]:
    """Count bytes and floating-point operations that a round cannot do without, caches taken as perfect.

    By dimension or block, for each side: the pairs' indices and scores, read, and scores written; the features' indices
    and values, read by column and by row, twice in the block form for its two directions. Stochastic solvers: the pairs
    once, and the parameters of every feature that they touch.
    """
    rank, pairs = problem.rank, problem.pairs
    real = problem.dtype.itemsize
    nonzeros = problem.X.nonzeros + problem.Z.nonzeros
    if name in ("block", "dimension"):
        block = name == "block"
        passes, feature_passes = (rank / 8, 2) if block else (rank, 1)
        moved = passes * (2 * pairs * (4 + 2 * real) + feature_passes * 2 * nonzeros * (4 + real))
        gram = 5 * 2 if block else 2
        return moved, 2 * pairs * rank * (4 + gram) + feature_passes * 6 * nonzeros * rank
    touched = pairs + problem.X.nonzeros if name == "sgd" else pairs * (problem.X.nonzeros / problem.X.rows + 1)
    return pairs * (4 + real) + 2 * touched * rank * real, 6 * touched * rank


def run(shape: Shape, problem: Problem, name: str, threads: int, rounds: int, seed: int, sample: float = 1.0) -> Run:
    """Fit once; ``sample`` is the part of the pairs that ``problem`` has."""
    result = Run(sample=sample)
    measured = machine.reset_peak()
    contestant = SOLVERS[name]
    fit(
        problem, solver=contestant.make(shape), rounds=1 if sample < 1 else rounds * contestant.patience,
        threads=threads, seed=seed, callbacks=result.watch(shape),
    )  # fmt: skip
    result.peak = machine.peak_bytes() if measured else None
    return result


def compare(runs: dict[tuple[str, int], list[Run]], shape: Shape, scale: float, problem: Problem) -> list[Record]:
    """Return the records of runs by solver and threads.

    The objective to reach is what every monotone solver had at the end, the test error what both the default solver and
    stochastic gradient descent had at their best.
    """
    whole = {key: many for key, many in runs.items() if many[0].sample == 1}
    monotone = [run for (name, _), many in whole.items() for run in many if SOLVERS[name].make(shape).monotone]
    objective = max((run.objective[-1] for run in monotone), default=-np.inf) * (1 + 1e-9)
    racing = [run for (name, _), many in whole.items() for run in many if SOLVERS[name].sets_error]
    error = max((min(run.test_error) for run in racing), default=-np.inf) * 1.0005
    records = []
    for (name, threads), many in runs.items():
        seconds = statistics.median(run.seconds_per_round() for run in many)
        moved, flops = work(problem, name)
        sampled = many[0].sample < 1
        records.append(
            Record(
                shape=shape.name, scale=scale, solver=name, threads=threads, rounds=len(many[0].seconds) - 1,
                seconds_per_round=seconds,
                seconds_to_objective=_median(run.time_to(run.objective, objective) for run in many),
                seconds_to_test_error=_median(run.time_to(run.test_error, error) for run in many),
                objective=None if sampled else statistics.median(run.objective[-1] for run in many),
                test_error=None if sampled else statistics.median(min(run.test_error) for run in many),
                peak_rss_bytes=max((run.peak for run in many if run.peak is not None), default=None),
                bytes_per_second=moved / seconds, flops_per_second=flops / seconds, sample=many[0].sample,
            )
        )  # fmt: skip
    return records


def _median(values: Iterable[float | None]) -> float | None:
    reached = [value for value in values if value is not None]
    return statistics.median(reached) if reached else None
