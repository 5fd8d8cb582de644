"""L2M, the paper's Algorithm 2: feature by feature, each step from sums over instances instead of pairs."""

from __future__ import annotations

import attrs

from fmfkit._kernels.components import LossForm
from fmfkit._kernels.dimension import DimensionUpdate
from fmfkit._kernels.side import SideUpdate
from fmfkit.problem.problem import Problem
from fmfkit.problem.strengths import Side
from fmfkit.solvers.descent import CoordinateDescent


@attrs.frozen
class L2M(CoordinateDescent):
    """Algorithm 2: sequential coordinate descent. Only the passes over the pairs use several threads."""

    def side_update(self, problem: Problem, side: Side, loss: LossForm) -> SideUpdate:
        """Dimension after dimension, feature after feature."""
        return DimensionUpdate(problem, side, loss, algorithm=2)
