"""PL2M, the paper's Algorithm 3: sets of features updated in parallel under a separable bound.

For each latent dimension k and each set S of the partition, with G_i = Σ_j g_ij V_kj, H_i = β Σ_j V_kj² and
C_i = Σ_{s in S} |x_is|, every feature s of S moves by T(Σ_i G_i x_is, Σ_i H_i |x_is| C_i, P_ks); then
G_i += H_i Σ_s x_is ΔP_ks, and at the end of the dimension score_ij += ΔU_ki V_kj.
"""

from __future__ import annotations

import attrs
import numpy as np
from attrs import validators

from fmfkit import _native
from fmfkit._native.block import BlockDescent
from fmfkit.checks import check_batch, frozen, whole
from fmfkit.interfaces import PartitionScheduler, Reals
from fmfkit.problem import Problem, Side
from fmfkit.schedulers import RandomPartition, by_name, checked_partition
from fmfkit.solvers.descent import CoordinateDescent, SideWorkspace, Workspace, refresh_gradients
from fmfkit.state import Quantiles, State


def _directions(given: int) -> int:
    return whole("directions", given, least=1)


@attrs.frozen(kw_only=True)
class PL2M(CoordinateDescent):
    """Algorithm 3: parallel coordinate descent over the sets that ``scheduler`` makes each round.

    ``block=1`` is the paper's algorithm: one latent dimension at a time. ``block=8``, the default, updates eight
    together, with one pass over the pairs for all of them. A regularizer other than the elastic net is always taken one
    dimension at a time.

    In a block, a feature that is a row's own solves its 8 x 8 problem. The features that rows share move all together,
    ``directions`` times, along conjugate directions of the bound; or, if a ``scheduler`` is given, and always where the
    penalty has l1 > 0, set by set. The default scheduler, where one is needed, is RandomPartition(500) for ``block=1``
    and RandomPartition(sets=8) for ``block=8``.
    """

    planned = True
    block: int = attrs.field(default=_native.BLOCK, validator=validators.in_((1, _native.BLOCK)))
    scheduler: PartitionScheduler | None = attrs.field(default=None, converter=attrs.converters.optional(by_name))
    directions: int = attrs.field(default=2, converter=_directions)

    def _scheduler(self, wide: bool) -> PartitionScheduler:
        if self.scheduler is not None:
            return self.scheduler
        return RandomPartition(sets=8) if wide else RandomPartition(500)

    def _side_workspace(self, problem: Problem, side: Side, other_rows: int) -> SideWorkspace:
        if self.block == 1 or not _native.takes_blocks(side):
            return super()._side_workspace(problem, side, other_rows)
        l1 = max(_native.elastic_net(part.regularizer)[0] for part in side.parts)
        block = BlockDescent(problem, side, other_rows, 0 if l1 > 0 or self.scheduler else self.directions)
        return SideWorkspace(block.side, block.embedding, block.buffers, block.plan, block)

    def _turn(self, problem: Problem, state: State, workspace: Workspace, mine: SideWorkspace) -> float | None:
        if mine.block is None:
            return super()._turn(problem, state, workspace, mine)
        features, partition = mine.side.features, None
        if not mine.block.alone and not mine.block.moves_together:
            rng = state.rng(mine.side.name)
            partition = checked_partition(self._scheduler(wide=True), features, state.round, rng)
        scored, workspace.scored = workspace.scored is mine, None
        loss = mine.block.descend(
            partition, state.parameters(mine.side.name), workspace.other(mine).embedding, workspace.score,
            state.threads, scored=scored,
        )  # fmt: skip
        if not mine.block.alone:
            self._embed(problem, state, mine)
        return loss

    def _update(self, problem: Problem, state: State, workspace: Workspace, mine: SideWorkspace) -> None:
        lay_out(self._scheduler(wide=False), state, mine)
        descend(self, problem, state, workspace, mine, mine.plan)

    def _eta(self, workspace: Workspace) -> Quantiles | None:
        if any(side.block and side.block.moves_together for side in (workspace.query, workspace.target)):
            return None  # no sets, no bound
        return Quantiles.of(np.concatenate([workspace.query.buffers.eta, workspace.target.buffers.eta]))

    def _sigma(self, state: State, workspace: Workspace) -> float | None:
        sides = [side for side in (workspace.query, workspace.target) if side.plan]
        work = [side.plan.start[-1] for side in sides if side.plan]
        if not sum(work):
            return None
        sigma = [side.plan.imbalance(state.threads, self.block if side.block else 1) for side in sides if side.plan]
        return float(np.average(sigma, weights=work))


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
    if _native.all_native(problem, mine.side):
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
    regularizer, column = dimension.part.regularizer, dimension.column
    for index, members in enumerate(plan.partition.sets):
        descent.set_sums(index)
        x, y = frozen(descent.sums[: len(members)]).T
        step = regularizer.T(x, y, W[members, column], dimension.part.strength_in(column, members))
        check_batch(regularizer, "T", step, members.shape)
        W[members, column] += step
        descent.delta[: len(members)] = step
        descent.set_apply(index)
