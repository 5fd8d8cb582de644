"""Plain matrix factorization beside LIBMF, the fastest there is: seconds to equal test error."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import attrs
import numpy as np
from fmfkit_bench import core
from fmfkit_bench.data.shapes import Shape
from fmfkit_bench.peers.adapters import libmf
from fmfkit_bench.results.sections import Section, Table
from fmfkit_bench.speed.race import Run
from numpy.typing import NDArray

from fmfkit import fit

ITERATIONS = (1, 2, 3, 4, 5, 6, 8, 10)
PENALTY, RATE = 0.03, 0.1
"""LIBMF's penalty and learning rate with the least test error on the ml10m shape, of 0.03, 0.05, 0.08 and 0.05, 0.1."""
SHRINK, LEARNING = 1.5, 20
"""What multiplies fmfkit's learnt strengths, of 1 and 1.5 the one with the least test error; and the rounds then."""


@attrs.frozen
class Race:
    """The outcome. Seconds are those of rounds or iterations, without the preparation before them."""

    goal: float
    """The test error that both reach."""
    seconds: float
    libmf_seconds: float
    seconds_per_round: float
    libmf_seconds_per_iteration: float
    best: float
    learnt_best: float
    """With learnt strengths, after ``LEARNING`` rounds."""
    learnt_seconds: float | None
    """None where they do not reach the error."""
    libmf_best: float


@attrs.frozen
class Course:
    """How both are run."""

    rank: int
    threads: int
    rounds: int
    repeats: int


def race(shape: Shape, course: Course, say: Callable[[str], None]) -> Race | None:
    """Train both; None where LIBMF is not installed."""
    if not libmf.installed():
        say("plain: LIBMF is not installed (python -m pip install libmf), so it is left out")
        return None
    problem = shape.problem(course.rank, features=False)
    ours, theirs = [], []
    for repeat in range(course.repeats):
        run = Run()
        watch = run.watch(shape)
        fit(problem, solver=core.panel(), rounds=course.rounds, threads=course.threads, seed=repeat, callbacks=watch)
        ours.append(run)
        say(f"plain, fmfkit: {sum(run.seconds):.2f} s for {course.rounds} rounds, test error {min(run.test_error):.5f}")
        other = _libmf(shape, course)
        theirs.append(other)
        say(f"plain, LIBMF: {other.seconds[-1]:.2f} s an iteration, test error {min(other.test_error):.5f}")
    learnt = Run()
    known = shape.problem(course.rank, features=False, shrink=SHRINK)
    fit(known, solver=core.panel(), rounds=LEARNING, threads=course.threads, seed=0, callbacks=learnt.watch(shape))
    say(f"plain, fmfkit, strengths learnt: {sum(learnt.seconds):.2f} s, test error {min(learnt.test_error):.5f}")
    goal = max(min(run.test_error) for run in ours + theirs) * 1.0005
    times = [[run.time_to(run.test_error, goal) for run in runs] for runs in (ours, theirs)]
    seconds, libmf_seconds = (statistics.median(time for time in some if time is not None) for some in times)
    per_round, per_iteration = (statistics.median(run.seconds_per_round() for run in runs) for runs in (ours, theirs))
    best, libmf_best = (statistics.median(min(run.test_error) for run in runs) for runs in (ours, theirs))
    return Race(
        goal=goal,
        seconds=seconds,
        libmf_seconds=libmf_seconds,
        seconds_per_round=per_round,
        libmf_seconds_per_iteration=per_iteration,
        best=best,
        learnt_best=min(learnt.test_error),
        learnt_seconds=learnt.time_to(learnt.test_error, goal),
        libmf_best=libmf_best,
    )


def _libmf(shape: Shape, course: Course) -> Run:
    """Run LIBMF for 1, 2, ... iterations, each time from the start, because it gives no test error in between.

    An iteration's time is the slope over the runs, so that reading and shuffling the data, which a fit does first, are
    not counted.
    """
    table = libmf.table(shape.train.query, shape.train.target, shape.train.y)
    seconds, errors = [], []
    for iterations in ITERATIONS:
        settings = libmf.Settings(course.rank, iterations, PENALTY, RATE, course.threads)
        began = time.perf_counter()
        engine = libmf.factorize(table, settings)
        seconds.append(time.perf_counter() - began)
        errors.append(_error(engine.p_factors(), engine.q_factors(), shape))
    slope = float(np.polyfit(ITERATIONS, seconds, 1)[0])
    every = np.arange(ITERATIONS[-1] + 1)
    run = Run()
    run.seconds = [0.0] + [slope] * ITERATIONS[-1]
    run.test_error = [float(e) for e in np.interp(every, [0, *ITERATIONS], [errors[0] * 10, *errors])]
    run.objective = [0.0] * len(every)
    return run


def _error(P: NDArray[np.float32], Q: NDArray[np.float32], shape: Shape) -> float:
    """Return the test error; queries or targets that training has not seen, which LIBMF leaves out, get the mean."""
    i, j = shape.test.query, shape.test.target
    known = (i < len(P)) & (j < len(Q))
    predicted = np.full(len(i), np.nan, np.float32)
    for begin in range(0, len(i), 1_000_000):
        part = slice(begin, begin + 1_000_000)
        at = np.flatnonzero(known[part]) + begin
        predicted[at] = np.einsum("ek,ek->e", P[i[at]], Q[j[at]])
    predicted[np.isnan(predicted)] = shape.train.y.mean()
    return float(np.sqrt(np.mean(np.square(predicted.astype(np.float64) - shape.test.y))))


def section(name: str, race: Race) -> Section:
    """Return the table of a race."""
    return Section(
        "plain",
        "Plain factorization beside LIBMF",
        f"Both are trained without features until the test error is {race.goal:.5f}, which both reach.",
        tables=[
            Table(
                f"{name} without features",
                ["system", "s to equal test error", "s/round", "best test error"],
                [
                    ["fmfkit", race.seconds, race.seconds_per_round, race.best],
                    ["fmfkit, strengths learnt", race.learnt_seconds, None, race.learnt_best],
                    ["LIBMF", race.libmf_seconds, race.libmf_seconds_per_iteration, race.libmf_best],
                ],
            )
        ],
    )


__all__ = ["Course", "Race", "race", "section"]
