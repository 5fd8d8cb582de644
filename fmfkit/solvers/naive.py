"""The paper's Algorithm 1: every coordinate sums over all the pairs it touches. The yardstick for the others' cost."""

from __future__ import annotations

import attrs

from fmfkit._kernels.components import LossForm
from fmfkit._kernels.dimension import DimensionUpdate
from fmfkit._kernels.side import SideUpdate
from fmfkit.problem.problem import Problem
from fmfkit.problem.strengths import Side
from fmfkit.solvers.descent import CoordinateDescent


@attrs.frozen
class Naive(CoordinateDescent):
    """Algorithm 1: plain coordinate descent, on one thread, d |O| (|X|/q + |Z|/p) operations a round."""

    def side_update(self, problem: Problem, side: Side, loss: LossForm) -> SideUpdate:
        """Coordinate after coordinate."""
        return DimensionUpdate(problem, side, loss, algorithm=1)
