"""Grouped stochastic gradient descent, after SVDFeature: the honest rival of coordinate descent on rich features.

Queries come in random order. A query's embedding is made once; it moves with each of the query's pairs just as it would
if its features moved each time; and the features are updated once, at the end, by what all the pairs asked for. The
penalty enters as proximal steps, a share with each touch of a feature.
"""

from __future__ import annotations

from typing import Any, ClassVar

import attrs
import numpy as np
from attrs import validators

from fmfkit._kernels.stochastic import StochasticUpdate, Visits
from fmfkit.interfaces import Solver
from fmfkit.problem.problem import Problem
from fmfkit.training.records import RoundReport
from fmfkit.training.state import State


def _rate(instance: Any, attribute: attrs.Attribute[float], value: float) -> None:
    if not 0 < value < np.inf:
        raise ValueError(f"{attribute.name}: expected a finite number above 0, got {value!r}")


@attrs.frozen(kw_only=True)
class StochasticSolver(Solver):
    """The learning rate: ``learning_rate`` in the first round, times ``decay`` in each that follows."""

    monotone: ClassVar[bool] = False
    deterministic: ClassVar[bool] = False

    learning_rate: float = attrs.field(default=0.005, converter=float, validator=_rate)
    decay: float = attrs.field(default=1.0, converter=float, validator=[_rate, validators.le(1)])

    def refusals(self, problem: Problem) -> list[str]:
        """Refuse penalties that grow with the dimension, and a term over all cells."""
        grown = any((part.growth != 1).any() for side in problem.sides for part in side.parts)
        reasons = ["its penalty is the same in all dimensions: a penalty's growth must be 0"] if grown else []
        if problem.cells is not None:
            reasons.append(
                "it visits observed pairs only, and a term over all cells needs sums over all instances: "
                "use a coordinate descent solver, such as 'panel', or draw negatives"
            )
        return reasons

    def prepare(self, problem: Problem, state: State) -> Any:
        """Find the penalty's share in each touch of a feature."""
        return StochasticUpdate(problem)

    def workspace_bytes(self, problem: Problem, threads: int) -> int:
        """Return the bytes of the penalty's shares, and of what threads need."""
        return StochasticUpdate.workspace_bytes(problem, threads)

    def rate(self, state: State) -> float:
        """Return this round's learning rate."""
        return float(self.learning_rate * self.decay**state.round)


@attrs.frozen(kw_only=True)
class SGD(StochasticSolver):
    """Grouped stochastic gradient descent.

    Threads share P and Q without locks: the result is the same for the same seed on one thread only. A loss or
    regularizer written in NumPy is called once per pair or touch, on one thread.
    """

    def round(self, problem: Problem, state: State, workspace: Any) -> RoundReport:
        """Visit every query once, in an order drawn from the seed."""
        order = state.rng("query").permutation(problem.query.pairs.rows).astype(np.int32)
        workspace.round(state.P, state.Q, self.rate(state), Visits(order=order), state.threads)
        return RoundReport()
