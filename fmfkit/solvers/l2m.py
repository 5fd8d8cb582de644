"""L2M, the paper's Algorithm 2: feature by feature, each step from sums over instances instead of pairs."""

from __future__ import annotations

import attrs

from fmfkit._kernels import components
from fmfkit.problem.problem import Problem
from fmfkit.schedulers import InOrder
from fmfkit.solvers.descent import CoordinateDescent, SideWorkspace, Workspace, descend, lay_out
from fmfkit.training.state import State


@attrs.frozen
class L2M(CoordinateDescent):
    """Algorithm 2: sequential coordinate descent. Only the passes over the pairs use several threads."""

    def _update(self, problem: Problem, state: State, workspace: Workspace, mine: SideWorkspace) -> None:
        native = all(components.is_native(part.regularizer) for part in mine.side.parts)
        if not native:  # sets of one feature each, in order, are the same thing, set by set
            lay_out(InOrder(size=1), state, mine)
        descend(self, problem, state, workspace, mine, None if native else mine.plan)
