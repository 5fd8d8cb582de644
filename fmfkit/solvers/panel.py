"""The default solver: Algorithm 3 with a panel of eight latent dimensions at a time.

Per query, over its pairs: G_i = Σ_j g_ij V_Kj, eight numbers, and A_i = Σ_j h_ij V_Kj V_Kjᵀ, eight by eight, so that
one pass over the pairs serves eight dimensions. The step lowers Σ_i G_i u_i + 1/2 u_i A_i u_i + penalty, u = X ΔP.
"""

from __future__ import annotations

from typing import ClassVar

import attrs

from fmfkit._kernels.components import LossForm, is_in_python, is_smooth
from fmfkit._kernels.panel import PanelUpdate, RowsUpdate
from fmfkit._kernels.proximal import ProximalUpdate
from fmfkit._kernels.side import SideUpdate
from fmfkit.arguments import whole
from fmfkit.interfaces import PartitionScheduler
from fmfkit.problem.problem import Problem
from fmfkit.problem.strengths import Side
from fmfkit.schedulers import RandomPartition, by_name
from fmfkit.solvers.descent import CoordinateDescent


def _directions(given: int) -> int:
    return whole("directions", given, least=1)


@attrs.frozen(kw_only=True)
class Panel(CoordinateDescent):
    """Coordinate descent on eight latent dimensions at a time: the default.

    A feature that is a row's own solves its 8 x 8 problem. The features that rows share move all together,
    ``directions`` times, along conjugate directions of the bound; or, if a ``scheduler`` is given, and always where the
    penalty is more than l2, set by set with T; the default scheduler is then RandomPartition(sets=8). Where a penalty
    takes a feature's whole row of parameters, its side takes proximal steps in all dimensions at once.
    """

    learns_strengths: ClassVar[bool] = True
    takes_rows: ClassVar[bool] = True

    directions: int = attrs.field(default=2, converter=_directions)
    scheduler: PartitionScheduler | None = attrs.field(default=None, converter=attrs.converters.optional(by_name))

    def refusals(self, problem: Problem) -> list[str]:
        """Refuse to go set by set where strengths are learnt."""
        reasons = list(super().refusals(problem))
        if problem.strengths is not None and self.scheduler is not None:
            reasons.append("strengths are learnt where shared features move together: leave out the scheduler")
        return reasons

    def side_update(self, problem: Problem, side: Side, loss: LossForm) -> SideUpdate:
        """Rows by themselves where they share no feature, all together else; or all dimensions at once."""
        if any(part.by_row for part in side.parts):
            return ProximalUpdate(problem, side, loss)
        in_python = loss.in_python or any(is_in_python(part.regularizer) for part in side.parts)
        if not side.features.shared.any() and not in_python:
            return RowsUpdate(problem, side, loss)
        together = self.scheduler is None and all(is_smooth(part.regularizer) for part in side.parts)
        return PanelUpdate(problem, side, loss, self.directions if together else 0)

    def scheduler_of(self, update: SideUpdate) -> PartitionScheduler | None:
        """Return the scheduler of an update that goes set after set."""
        if isinstance(update, PanelUpdate) and not update.directions:
            return self.scheduler or RandomPartition(sets=8)
        return None
