"""What the coordinate descent solvers share: embeddings, scores, and a round as two updates of one side.

A round starts from P and Q alone. Embeddings and scores are made from them afresh whenever a side's turn comes, so
that nothing drifts and a fit that is resumed goes on bit for bit.
"""

from __future__ import annotations

from abc import abstractmethod

import attrs
import numpy as np
from numpy.typing import NDArray

from fmfkit import _native
from fmfkit._native.block import BlockDescent
from fmfkit.checks import check_batch, frozen
from fmfkit.interfaces import Reals, Solver
from fmfkit.problem import Problem, Side
from fmfkit.state import Quantiles, RoundReport, State


@attrs.define(eq=False)
class SideWorkspace:
    """One side's embedding and scratch."""

    side: Side
    embedding: Reals
    buffers: _native.SideBuffers
    plan: _native.Plan | None
    block: BlockDescent | None = None


@attrs.define(eq=False)
class Workspace:
    """Made by ``prepare``: sized by the problem, filled again every round."""

    query: SideWorkspace
    target: SideWorkspace
    score: Reals
    """One score per pair, in the order of the side whose turn it is (less y for the square loss); empty where both
    sides do without."""
    gradient: Reals | None
    """One gradient per pair where the loss is written in Python, unless both sides are taken by blocks."""
    curvature: Reals | None
    """One curvature per pair where such a loss gives one for each."""
    scored: SideWorkspace | None = None
    """The side for which ``score`` is up to date."""

    def other(self, mine: SideWorkspace) -> SideWorkspace:
        """Return the opposite side."""
        return self.target if mine is self.query else self.query


class CoordinateDescent(Solver):
    """A round updates P with Q fixed, then Q with P fixed."""

    planned = False
    """Whether sets of features are laid out for parallel updates."""

    def prepare(self, problem: Problem, state: State) -> Workspace:
        """Allocate buffers and embed both sides."""
        query, target = (
            self._side_workspace(problem, side, other.pairs.rows)
            for side, other in (problem.sides, problem.sides[::-1])
        )
        blocks = query.block is not None and target.block is not None
        external = not blocks and _native.loss_code(problem.loss) == _native.EXTERNAL
        per_pair = external and np.ndim(_native.curvature_of_first(problem)) > 0

        def one_per_pair() -> Reals:
            return np.empty(problem.pairs, problem.dtype)

        alone = all(mine.block is not None and mine.block.alone for mine in (query, target))
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
            _native.new_embedding(problem, side),
            _native.SideBuffers.allocate(side, other_rows),
            _native.Plan.allocate(side.features) if self._plans(side) else None,
        )

    def _plans(self, side: Side) -> bool:
        return self.planned or not all(_native.is_native(part.regularizer) for part in side.parts)

    def round(self, problem: Problem, state: State, workspace: Workspace) -> RoundReport:
        """Update the query side, then the target side."""
        self._turn(problem, state, workspace, workspace.query)
        loss = self._turn(problem, state, workspace, workspace.target)
        if loss is None:
            loss = self._score(problem, state, workspace, workspace.query)
        return RoundReport(loss=loss, eta=self._eta(workspace), sigma=self._sigma(state, workspace))

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
        _native.embed(problem, mine.side, state.parameters(mine.side.name), state.threads, out=mine.embedding)

    def _score(self, problem: Problem, state: State, workspace: Workspace, mine: SideWorkspace) -> float:
        other = workspace.other(mine).embedding
        workspace.scored = mine
        return _native.scores(problem, mine.side, mine.embedding, other, workspace.score, state.threads)

    def _descent(
        self, problem: Problem, state: State, workspace: Workspace, mine: SideWorkspace, plan: _native.Plan | None
    ) -> _native.Descent:
        beta = 1.0 if workspace.gradient is not None else float(_native.curvature_of_first(problem))
        return _native.Descent(
            problem, mine.side, state.parameters(mine.side.name), workspace.other(mine).embedding, workspace.score,
            mine.buffers, plan=plan, gradient=workspace.gradient, curvature=workspace.curvature, beta=beta,
            threads=state.threads,
        )  # fmt: skip


def refresh_gradients(
    problem: Problem, workspace: Workspace, side: Side, part: NDArray[np.int64] | None = None
) -> float:
    """Call a loss written in Python at the current scores; return the largest beta, 1 where curvatures are per pair.

    ``part`` says which pairs, all by default.
    """
    assert workspace.gradient is not None
    loss, pairs, beta = problem.loss, side.pairs, 1.0 if workspace.curvature is not None else 0.0
    for at in _native.blocks(len(pairs)) if part is None else [part]:
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
