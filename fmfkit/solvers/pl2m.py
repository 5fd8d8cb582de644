"""PL2M, the paper's Algorithm 3: sets of features updated in parallel under a separable bound.

For each latent dimension k and each set S of the partition, with G_i = Σ_j g_ij V_kj, H_i = β Σ_j V_kj² and
C_i = Σ_{s in S} |x_is|, every feature s of S moves by T(Σ_i G_i x_is, Σ_i H_i |x_is| C_i, P_ks); then
G_i += H_i Σ_s x_is ΔP_ks, and at the end of the dimension score_ij += ΔU_ki V_kj.
"""

from __future__ import annotations

import attrs

from fmfkit._kernels.components import LossForm
from fmfkit._kernels.dimension import DimensionUpdate
from fmfkit._kernels.side import SideUpdate
from fmfkit.interfaces import PartitionScheduler
from fmfkit.problem.problem import Problem
from fmfkit.problem.strengths import Side
from fmfkit.schedulers import RandomPartition, by_name
from fmfkit.solvers.descent import CoordinateDescent


@attrs.frozen(kw_only=True)
class PL2M(CoordinateDescent):
    """Algorithm 3: parallel coordinate descent over the sets that ``scheduler`` makes each round."""

    scheduler: PartitionScheduler = attrs.field(factory=lambda: RandomPartition(500), converter=by_name)

    def side_update(self, problem: Problem, side: Side, loss: LossForm) -> SideUpdate:
        """Dimension after dimension, set after set."""
        return DimensionUpdate(problem, side, loss, algorithm=3)

    def scheduler_of(self, update: SideUpdate) -> PartitionScheduler:
        """Return the scheduler."""
        return self.scheduler
