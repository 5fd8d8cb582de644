"""PL2M, the paper's Algorithm 3: sets of features updated in parallel under a separable bound.

For each latent dimension k and each set S of the partition, with G_i = Σ_j g_ij V_kj, H_i = β Σ_j V_kj² and
C_i = Σ_{s in S} |x_is|, every feature s of S moves by T(Σ_i G_i x_is, Σ_i H_i |x_is| C_i, P_ks); then
G_i += H_i Σ_s x_is ΔP_ks, and at the end of the dimension score_ij += ΔU_ki V_kj.
"""

from __future__ import annotations

import attrs
import numpy as np

from fmfkit import _native
from fmfkit.interfaces import PartitionScheduler, Reals
from fmfkit.problem import Problem, check_batch
from fmfkit.registry import resolve
from fmfkit.schedulers import RandomPartition, checked_partition
from fmfkit.solvers.descent import CoordinateDescent, SideWorkspace, Workspace, refresh_gradients
from fmfkit.state import Quantiles, State


def by_name(given: PartitionScheduler | str) -> PartitionScheduler:
    """Return a scheduler given as itself or by name."""
    return resolve("scheduler", given)


@attrs.frozen(kw_only=True)
class PL2M(CoordinateDescent):
    """Algorithm 3: parallel coordinate descent over the sets that ``scheduler`` makes each round."""

    planned = True
    scheduler: PartitionScheduler = attrs.field(factory=RandomPartition, converter=by_name)

    def _update(self, problem: Problem, state: State, workspace: Workspace, mine: SideWorkspace) -> None:
        lay_out(self.scheduler, state, mine)
        descend(self, problem, state, workspace, mine, mine.plan)

    def _eta(self, workspace: Workspace) -> Quantiles | None:
        return Quantiles.of(np.concatenate([workspace.query.buffers.eta, workspace.target.buffers.eta]))

    def _sigma(self, state: State, workspace: Workspace) -> float | None:
        plans = [plan for plan in (workspace.query.plan, workspace.target.plan) if plan]
        work = [plan.features.nonzeros for plan in plans]
        if not sum(work):
            return None
        return float(np.average([plan.imbalance(state.threads) for plan in plans], weights=work))


def lay_out(scheduler: PartitionScheduler, state: State, mine: SideWorkspace) -> None:
    """Make this round's partition of a side and lay it out."""
    assert mine.plan is not None
    features = mine.side.features
    partition = checked_partition(scheduler, features, state.round, state.rng(mine.side.name))
    mine.plan.lay_out(partition, state.threads)


def descend(
    solver: CoordinateDescent, problem: Problem, state: State, workspace: Workspace, mine: SideWorkspace,
    plan: _native.Plan | None,
) -> None:  # fmt: skip
    """Update every dimension of one side: in C throughout, or with Python's losses and regularizers in between."""
    dimensions = _native.dimensions(problem, mine.side)
    external_loss = workspace.gradient is not None
    if not external_loss and all(_native.is_native(part.regularizer) for part in mine.side.parts):
        solver._descent(problem, state, workspace, mine, plan).descend(dimensions)
        return
    descent = solver._descent(problem, state, workspace, mine, plan)
    before = -1
    for dimension in dimensions:
        descent.begin(before, dimension.slot)
        before = dimension.slot
        if external_loss:
            descent.accumulate(refresh_gradients(problem, workspace, mine.side))
        if plan and dimension is dimensions[0]:
            descent.measure()
        if _native.is_native(dimension.part.regularizer):
            descent.sweep(dimension)
        else:
            _sweep_in_python(descent, plan, dimension, state.parameters(mine.side.name))


def _sweep_in_python(
    descent: _native.Descent, plan: _native.Plan | None, dimension: _native.Dimension, W: Reals
) -> None:
    """Sweep the sets, calling a regularizer's T once per set."""
    assert plan is not None  # made wherever a regularizer is Python's
    regularizer, strength = dimension.part.regularizer, dimension.part.strength
    for index, members in enumerate(plan.partition.sets):
        descent.set_sums(index)
        x, y = descent.sums[: len(members)].T
        step = regularizer.T(x, y, W[members, dimension.column], strength[members])
        check_batch(regularizer, "T", step, members.shape)
        W[members, dimension.column] += step
        descent.delta[: len(members)] = step
        descent.set_apply(index)
