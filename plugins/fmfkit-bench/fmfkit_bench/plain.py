"""Plain matrix factorization beside LIBMF, the fastest there is: seconds to equal test error."""

from __future__ import annotations

import importlib
import importlib.util
import statistics
import time
from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
from fmfkit_bench.shapes import Shape
from fmfkit_bench.speed import Run
from numpy.typing import NDArray

from fmfkit import fit, solvers

ITERATIONS = (1, 2, 3, 4, 5, 6, 8, 10)
LAMBDA, ETA = 0.03, 0.1
"""LIBMF's penalty and learning rate with the least test error on the ml10m shape, of 0.03, 0.05, 0.08 and 0.05, 0.1."""


@attrs.frozen
class Race:
    """The outcome. Seconds are those of rounds or iterations, without what comes before them."""

    goal: float
    """The test error that both reach."""
    seconds: float
    libmf_seconds: float
    seconds_per_round: float
    libmf_seconds_per_iteration: float
    best: float
    libmf_best: float


def race(
    shape: Shape, rank: int, threads: int, rounds: int, repeats: int, report: Callable[[str], None]
) -> Race | None:
    """Train both; None where LIBMF is not installed."""
    if importlib.util.find_spec("libmf") is None:
        return None
    mf: Any = importlib.import_module("libmf.mf")
    problem = shape.problem(rank, features=False)
    table = np.column_stack([shape.train.query, shape.train.target, shape.train.score]).astype(np.float32)
    ours, theirs = [], []
    for repeat in range(repeats):
        run = Run()
        fit(problem, solver=solvers.PL2M(), rounds=rounds, threads=threads, seed=repeat, callbacks=run.watch(shape))
        ours.append(run)
        report(f"plain, fmfkit: {sum(run.seconds):.2f} s for {rounds} rounds, test error {min(run.test_error):.5f}")
        theirs.append(_libmf(mf, table, shape, rank, threads))
        report(
            f"plain, LIBMF: {theirs[-1].seconds[-1]:.2f} s an iteration, test error {min(theirs[-1].test_error):.5f}"
        )
    goal = max(min(run.test_error) for run in ours + theirs) * 1.0005
    times = [[run.time_to(run.test_error, goal) for run in runs] for runs in (ours, theirs)]
    median = [statistics.median(time for time in some if time is not None) for some in times]
    return Race(
        goal, *median, *(statistics.median(run.seconds_per_round() for run in runs) for runs in (ours, theirs)),
        *(statistics.median(min(run.test_error) for run in runs) for runs in (ours, theirs)),
    )  # fmt: skip


def _libmf(mf: Any, table: NDArray[np.float32], shape: Shape, rank: int, threads: int) -> Run:
    """Run LIBMF for 1, 2, ... iterations, each time anew: it tells no test error in between.

    An iteration's time is the slope over the runs, so that reading and shuffling the data, which a fit does first, are
    not counted.
    """
    seconds, errors = [], []
    for iterations in ITERATIONS:
        engine = mf.MF(
            k=rank, nr_iters=iterations, nr_threads=threads, lambda_p1=0.0, lambda_q1=0.0, lambda_p2=LAMBDA,
            lambda_q2=LAMBDA, eta=ETA, quiet=True,
        )  # fmt: skip
        began = time.perf_counter()
        engine.fit(table)
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
    i, j, score = shape.test.query, shape.test.target, shape.test.score
    known = (i < len(P)) & (j < len(Q))
    predicted = np.full(len(i), np.nan, np.float32)
    for begin in range(0, len(i), 1_000_000):
        part = slice(begin, begin + 1_000_000)
        at = np.flatnonzero(known[part]) + begin
        predicted[at] = np.einsum("ek,ek->e", P[i[at]], Q[j[at]])
    predicted[np.isnan(predicted)] = shape.train.score.mean()
    return float(np.sqrt(np.mean(np.square(predicted.astype(np.float64) - score))))
