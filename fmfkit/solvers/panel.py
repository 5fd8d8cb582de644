"""Panel, the default solver: Algorithm 3 with a panel of eight latent dimensions at a time.

Per row, over its pairs: G_i = Σ_j g_ij V_j (8 numbers), A_i = Σ_j h_ij V_j V_j' (8 x 8). The step of the side's
parameters lowers the quadratic bound Σ_i G_i u_i + 1/2 u_i A_i u_i + penalty, u_i = Σ_s x_is δ_s.
"""

from __future__ import annotations

from typing import ClassVar

import attrs
import numpy as np

from fmfkit._kernels import components
from fmfkit._kernels.panel import PanelDescent
from fmfkit.arguments import whole
from fmfkit.interfaces import PartitionScheduler
from fmfkit.problem.problem import Problem
from fmfkit.problem.strengths import Side
from fmfkit.schedulers import RandomPartition, by_name, checked_partition
from fmfkit.solvers.descent import CoordinateDescent, SideWorkspace, Workspace, descend, imbalance, lay_out
from fmfkit.training.records import Quantiles
from fmfkit.training.state import State


def _directions(given: int) -> int:
    return whole("directions", given, least=1)


@attrs.frozen(kw_only=True)
class Panel(CoordinateDescent):
    """Eight latent dimensions together, with one pass over the pairs for all of them.

    A feature that is a row's own solves its 8 x 8 problem. The features that rows share move all together,
    ``directions`` times, along conjugate directions of the bound; or, if a ``scheduler`` is given, and always where the
    penalty has l1 > 0, set by set (by default RandomPartition(sets=8)). A regularizer other than the elastic net is
    taken one dimension at a time, as by ``PL2M``.
    """

    planned: ClassVar[bool] = True
    panels: ClassVar[bool] = True
    directions: int = attrs.field(default=2, converter=_directions)
    scheduler: PartitionScheduler | None = attrs.field(default=None, converter=attrs.converters.optional(by_name))

    def _side_workspace(self, problem: Problem, side: Side, other_rows: int) -> SideWorkspace:
        if not components.takes_panels(side):
            return super()._side_workspace(problem, side, other_rows)
        l1 = max(components.elastic_net(part.regularizer)[0] for part in side.parts)
        panel = PanelDescent(problem, side, other_rows, 0 if l1 > 0 or self.scheduler else self.directions)
        return SideWorkspace(panel.side, panel.embedding, panel.buffers, panel.plan, panel)

    def _turn(self, problem: Problem, state: State, workspace: Workspace, mine: SideWorkspace) -> float | None:
        if mine.panel is None:
            return super()._turn(problem, state, workspace, mine)
        features, partition = mine.side.features, None
        if not mine.panel.alone and not mine.panel.moves_together:
            chosen = self.scheduler or RandomPartition(sets=8)
            partition = checked_partition(chosen, features, state.round, state.rng(mine.side.name))
        scored, workspace.scored = workspace.scored is mine, None
        W, theirs = state.parameters(mine.side.name), workspace.other(mine).embedding
        loss = mine.panel.descend(partition, W, theirs, workspace.score, state.threads, scored=scored)
        if not mine.panel.alone:
            self._embed(problem, state, mine)
        return loss

    def _update(self, problem: Problem, state: State, workspace: Workspace, mine: SideWorkspace) -> None:
        lay_out(self.scheduler or RandomPartition(), state, mine)
        descend(self, problem, state, workspace, mine, mine.plan)

    def _eta(self, workspace: Workspace) -> Quantiles | None:
        if any(side.panel and side.panel.moves_together for side in (workspace.query, workspace.target)):
            return None  # no sets, no bound
        return Quantiles.of(np.concatenate([workspace.query.buffers.eta, workspace.target.buffers.eta]))

    def _sigma(self, state: State, workspace: Workspace) -> float | None:
        return imbalance(state, workspace)
