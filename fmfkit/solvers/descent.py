"""What the coordinate descent solvers share: embeddings, scores, and a round as two updates of one side.

A round starts from P and Q alone. Embeddings and scores are made from them afresh whenever a side's turn comes, so
that nothing drifts and a fit that is resumed goes on bit for bit.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray

from fmfkit._kernels import components, scoring
from fmfkit._kernels.descent import PANEL, Descent, Dimension, SideBuffers, dimensions
from fmfkit._kernels.panel import PanelDescent
from fmfkit._kernels.plan import Plan
from fmfkit.arguments import check_batch, frozen
from fmfkit.interfaces import PartitionScheduler, Solver
from fmfkit.problem.problem import Problem
from fmfkit.problem.strengths import Side
from fmfkit.schedulers import checked_partition
from fmfkit.solvers.memory import work_bytes
from fmfkit.training.records import Quantiles, RoundReport
from fmfkit.training.state import State
from fmfkit.typing import Reals


@attrs.define(eq=False)
class SideWorkspace:
    """One side's embedding and scratch."""

    side: Side
    embedding: Reals
    buffers: SideBuffers
    plan: Plan | None
    panel: PanelDescent | None = None


@attrs.define(eq=False)
class Workspace:
    """Made by ``prepare``: sized by the problem, filled again every round."""

    query: SideWorkspace
    target: SideWorkspace
    score: Reals
    """One score per pair, in the order of the side whose turn it is (less y for the square loss); empty where both
    sides do without."""
    gradient: Reals | None
    """One gradient per pair where the loss is written in Python, unless both sides are taken by panels."""
    curvature: Reals | None
    """One curvature per pair where such a loss gives one for each."""
    scored: SideWorkspace | None = None
    """The side for which ``score`` is up to date."""

    def other(self, mine: SideWorkspace) -> SideWorkspace:
        """Return the opposite side."""
        return self.target if mine is self.query else self.query


class CoordinateDescent(Solver):
    """A round updates P with Q fixed, then Q with P fixed."""

    planned: ClassVar[bool] = False
    """Whether sets of features are laid out for parallel updates."""
    panels: ClassVar[bool] = False
    """Whether latent dimensions are taken by panels."""

    def workspace_bytes(self, problem: Problem, threads: int) -> int:
        """Return the bytes that rounds need beside the problem and the parameters."""
        return work_bytes(problem, self.panels, threads)

    def prepare(self, problem: Problem, state: State) -> Workspace:
        """Allocate buffers and embed both sides."""
        query, target = (
            self._side_workspace(problem, side, other.pairs.rows)
            for side, other in (problem.sides, problem.sides[::-1])
        )
        panels = query.panel is not None and target.panel is not None
        external = not panels and components.loss_code(problem.loss) == components.EXTERNAL
        per_pair = external and np.ndim(components.beta_or_curvature(problem)) > 0

        def one_per_pair() -> Reals:
            return np.empty(problem.pairs, problem.dtype)

        alone = all(mine.panel is not None and mine.panel.alone for mine in (query, target))
        workspace = Workspace(
            query,
            target,
            score=np.empty(0, problem.dtype) if alone else one_per_pair(),
            gradient=one_per_pair() if external else None,
            curvature=one_per_pair() if per_pair else None,
        )
        for mine in (query, target):
            self._embed(problem, state, mine)
        return workspace

    def _side_workspace(self, problem: Problem, side: Side, other_rows: int) -> SideWorkspace:
        side = attrs.evolve(side, features=side.features.with_values())
        return SideWorkspace(
            side,
            scoring.new_embedding(problem, side),
            SideBuffers.allocate(side, other_rows),
            Plan.allocate(side.features) if self._plans(side) else None,
        )

    def _plans(self, side: Side) -> bool:
        return self.planned or not all(components.is_native(part.regularizer) for part in side.parts)

    def round(self, problem: Problem, state: State, workspace: Workspace) -> RoundReport:
        """Update the query side, then the target side."""
        self._turn(problem, state, workspace, workspace.query)
        loss = self._turn(problem, state, workspace, workspace.target)
        if loss is None:
            loss = self._score(problem, state, workspace, workspace.query)
        embeddings = workspace.query.embedding, workspace.target.embedding
        sigma = self._sigma(state, workspace)
        return RoundReport(loss=loss, eta=self._eta(workspace), sigma=sigma, embeddings=embeddings)

    def _turn(self, problem: Problem, state: State, workspace: Workspace, mine: SideWorkspace) -> float | None:
        """Update one side, embedding included; return the loss then, if it is known."""
        if workspace.scored is not mine:
            self._score(problem, state, workspace, mine)
        workspace.scored = None
        self._update(problem, state, workspace, mine)
        self._embed(problem, state, mine)
        return None

    @abstractmethod
    def _update(self, problem: Problem, state: State, workspace: Workspace, mine: SideWorkspace) -> None:
        """Update one side's parameters, given embeddings and scores that are up to date."""

    def _eta(self, workspace: Workspace) -> Quantiles | None:
        return None

    def _sigma(self, state: State, workspace: Workspace) -> float | None:
        return None

    def _embed(self, problem: Problem, state: State, mine: SideWorkspace) -> None:
        scoring.embed(problem, mine.side, state.parameters(mine.side.name), state.threads, out=mine.embedding)

    def _score(self, problem: Problem, state: State, workspace: Workspace, mine: SideWorkspace) -> float:
        other = workspace.other(mine).embedding
        workspace.scored = mine
        return scoring.scores(problem, mine.side, mine.embedding, other, workspace.score, state.threads)

    def descent(
        self, problem: Problem, state: State, workspace: Workspace, mine: SideWorkspace, plan: Plan | None
    ) -> Descent:
        """Return one side's descent, ready to run."""
        beta = 1.0 if workspace.gradient is not None else float(components.beta_or_curvature(problem))
        return Descent(
            problem,
            mine.side,
            state.parameters(mine.side.name),
            workspace.other(mine).embedding,
            workspace.score,
            mine.buffers,
            plan=plan,
            gradient=workspace.gradient,
            curvature=workspace.curvature,
            beta=beta,
            threads=state.threads,
        )


def refresh_gradients(
    problem: Problem, workspace: Workspace, side: Side, part: NDArray[np.int64] | None = None
) -> float:
    """Call a loss written in Python at the current scores; return the largest beta, 1 where curvatures are per pair.

    ``part`` says which pairs, all by default.
    """
    assert workspace.gradient is not None
    loss, pairs, beta = problem.loss, side.pairs, 1.0 if workspace.curvature is not None else 0.0
    for at in scoring.batches(len(pairs)) if part is None else [part]:
        score, y = frozen(workspace.score[at]), frozen(pairs.y[at])
        weight = 1 if pairs.weight is None else pairs.weight[at]
        workspace.gradient[at] = check_batch(loss, "gradient", loss.gradient(score, y), score.shape) * weight
        scalar = workspace.curvature is None
        curvature = check_batch(loss, "curvature", loss.curvature(score, y), () if scalar else score.shape, scalar=True)
        if workspace.curvature is None:
            beta = max(beta, float(curvature))
        else:
            workspace.curvature[at] = curvature * weight
    return beta


def lay_out(scheduler: PartitionScheduler, state: State, mine: SideWorkspace) -> None:
    """Make this round's partition of a side and lay it out."""
    assert mine.plan is not None
    features = mine.side.features
    partition = checked_partition(scheduler, features, state.round, state.rng(mine.side.name))
    mine.plan.lay_out(partition, state.threads)


def descend(
    solver: CoordinateDescent,
    problem: Problem,
    state: State,
    workspace: Workspace,
    mine: SideWorkspace,
    plan: Plan | None,
) -> None:
    """Update every dimension of one side: in C throughout, or with Python's losses and regularizers in between."""
    every = dimensions(problem, mine.side)
    external_loss = workspace.gradient is not None
    if components.all_native(problem, mine.side):
        solver.descent(problem, state, workspace, mine, plan).descend(every)
        return
    descent = solver.descent(problem, state, workspace, mine, plan)
    before = -1
    for dimension in every:
        descent.begin(before, dimension.slot)
        before = dimension.slot
        if external_loss:
            descent.accumulate(refresh_gradients(problem, workspace, mine.side))
        if plan and dimension is every[0]:
            descent.measure()
        if components.is_native(dimension.part.regularizer):
            descent.sweep(dimension)
        else:
            _sweep_in_python(descent, plan, dimension, state.parameters(mine.side.name))


def _sweep_in_python(descent: Descent, plan: Plan | None, dimension: Dimension, W: Reals) -> None:
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


def imbalance(state: State, workspace: Workspace) -> float | None:
    """Return the paper's sigma over both sides, weighed by their non-zeros."""
    plans = [(side.plan, PANEL if side.panel else 1) for side in (workspace.query, workspace.target) if side.plan]
    work = [plan.start[-1] for plan, _ in plans]
    if not sum(work):
        return None
    return float(np.average([plan.imbalance(state.threads, wide) for plan, wide in plans], weights=work))
