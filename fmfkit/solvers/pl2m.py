"""PL2M, the paper's Algorithm 3: sets of features updated in parallel under a separable bound.

For each latent dimension k and each set S of the partition, with G_i = Σ_j g_ij V_kj, H_i = β Σ_j V_kj² and
C_i = Σ_{s in S} |x_is|, every feature s of S moves by T(Σ_i G_i x_is, Σ_i H_i |x_is| C_i, P_ks); then
G_i += H_i Σ_s x_is ΔP_ks, and at the end of the dimension score_ij += ΔU_ki V_kj.
"""

from __future__ import annotations

from typing import ClassVar

import attrs
import numpy as np

from fmfkit.interfaces import PartitionScheduler
from fmfkit.problem.problem import Problem
from fmfkit.schedulers import RandomPartition, by_name
from fmfkit.solvers.descent import CoordinateDescent, SideWorkspace, Workspace, descend, imbalance, lay_out
from fmfkit.training.records import Quantiles
from fmfkit.training.state import State


@attrs.frozen(kw_only=True)
class PL2M(CoordinateDescent):
    """Algorithm 3: parallel coordinate descent, one latent dimension at a time, over sets made anew each round."""

    planned: ClassVar[bool] = True
    scheduler: PartitionScheduler = attrs.field(factory=RandomPartition, converter=by_name)

    def _update(self, problem: Problem, state: State, workspace: Workspace, mine: SideWorkspace) -> None:
        lay_out(self.scheduler, state, mine)
        descend(self, problem, state, workspace, mine, mine.plan)

    def _eta(self, workspace: Workspace) -> Quantiles | None:
        return Quantiles.of(np.concatenate([workspace.query.buffers.eta, workspace.target.buffers.eta]))

    def _sigma(self, state: State, workspace: Workspace) -> float | None:
        return imbalance(state, workspace)
