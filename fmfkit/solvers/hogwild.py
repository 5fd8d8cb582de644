"""Hogwild!, as the paper runs it: lock-free stochastic gradient descent, pair by pair.

Every pair makes both embeddings anew from all the features of both sides, and updates all of them.
"""

from __future__ import annotations

import math
from typing import Any

import attrs
import numpy as np

from fmfkit._kernels.stochastic import Visits
from fmfkit.problem.problem import Problem
from fmfkit.solvers.sgd import StochasticSolver
from fmfkit.training.records import RoundReport
from fmfkit.training.state import State


@attrs.frozen(kw_only=True)
class Hogwild(StochasticSolver):
    """Lock-free stochastic gradient descent, d |O| (|X|/q + |Z|/p) operations a round.

    Threads share P and Q without locks: the result is the same for the same seed on one thread only. A loss or
    regularizer written in NumPy is called once per pair or touch, on one thread.
    """

    def prepare(self, problem: Problem, state: State) -> Any:
        """Find the penalty's share in each touch, and the query of each pair."""
        pairs = problem.query.pairs
        row_of = pairs.row_of
        return super().prepare(problem, state), row_of

    def workspace_bytes(self, problem: Problem, threads: int) -> int:
        """Return the bytes of the penalty's shares, of what threads need, and of the query of each pair."""
        return super().workspace_bytes(problem, threads) + problem.pairs * np.dtype(np.int32).itemsize

    def round(self, problem: Problem, state: State, workspace: Any) -> RoundReport:
        """Visit every pair once: pair (a t + b) mod |O| in step t, with a and b drawn from the seed."""
        update, row_of = workspace
        multiplier, shift = affine_order(problem.pairs, state.rng("query"))
        visits = Visits(row_of=row_of, multiplier=multiplier, shift=shift)
        update.round(state.P, state.Q, self.rate(state), visits, state.threads)
        return RoundReport()


def affine_order(n: int, rng: np.random.Generator) -> tuple[int, int]:
    """Return a and b such that t -> (a t + b) mod n visits each of n things once, in long leaps."""
    multiplier = int(n * rng.uniform(0.55, 0.7)) or 1
    while math.gcd(multiplier, n) != 1:
        multiplier += 1
    return multiplier, int(rng.integers(n))
