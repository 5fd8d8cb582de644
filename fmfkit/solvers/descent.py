"""What the coordinate descent solvers share: embeddings, scores, and a round as two updates of one side.

A round starts from P and Q alone. Embeddings and scores are made from them afresh whenever a side's turn comes, so
that nothing drifts and a fit that is resumed goes on bit for bit.
"""

from __future__ import annotations

from abc import abstractmethod

import attrs
import numpy as np

from fmfkit._kernels.cells import Gram, value
from fmfkit._kernels.components import LossForm
from fmfkit._kernels.library import team
from fmfkit._kernels.side import Draws, Given, SideUpdate
from fmfkit.interfaces import Partition, PartitionScheduler, Solver
from fmfkit.problem.learnt import Strengths, spread_squares
from fmfkit.problem.problem import Problem
from fmfkit.problem.strengths import Side
from fmfkit.schedulers import checked_partition
from fmfkit.training.records import Quantiles, RoundReport
from fmfkit.training.state import State
from fmfkit.typing import Reals, SideName


@attrs.define(eq=False)
class Workspace:
    """Made by ``prepare``: sized by the problem, filled again every round."""

    query: SideUpdate
    target: SideUpdate
    score: Reals
    """One score per pair, in the order of the side whose turn it is (less y for the square loss); empty where both
    sides do without."""
    scored: SideUpdate | None = None
    """The side for which ``score`` is up to date."""
    grams: dict[SideName, Gram | None] = attrs.field(factory=dict)
    """The sides as the term over all cells sees them, where they are up to date."""

    @property
    def sides(self) -> tuple[SideUpdate, SideUpdate]:
        """Both."""
        return self.query, self.target

    def other(self, mine: SideUpdate) -> SideUpdate:
        """Return the opposite side."""
        return self.target if mine is self.query else self.query

    def gram(self, side: SideUpdate, threads: int) -> Gram | None:
        """Return a side as the term over all cells sees it; None without such a term."""
        if side.side.name not in self.grams:
            self.grams[side.side.name] = side.gram(threads)
        return self.grams[side.side.name]


class CoordinateDescent(Solver):
    """A round updates P with Q fixed, then Q with P fixed."""

    @abstractmethod
    def side_update(self, problem: Problem, side: Side, loss: LossForm) -> SideUpdate:
        """Return what will update one side."""

    def scheduler_of(self, update: SideUpdate) -> PartitionScheduler | None:
        """Return what makes the sets of a side's update; None for an update without sets."""
        return None

    def _updates(self, problem: Problem) -> tuple[SideUpdate, SideUpdate]:
        loss = LossForm.of(problem.loss, problem.dtype)
        query, target = (self.side_update(problem, side, loss) for side in problem.sides)
        return query, target

    def workspace_bytes(self, problem: Problem, threads: int) -> int:
        """Return the bytes of embeddings, scores and what the updates of both sides need."""
        updates, threads = self._updates(problem), team(threads)
        sides = sum(update.nbytes(self._sample(update), threads) for update in updates)
        scores = problem.pairs * problem.dtype.itemsize if any(update.stores_scores for update in updates) else 0
        return sides + scores + max(update.passing_bytes(threads) for update in updates)

    def _sample(self, update: SideUpdate) -> Partition | None:
        """Return a partition such as rounds will have."""
        scheduler = self.scheduler_of(update)
        if scheduler is None:
            return None
        return checked_partition(scheduler, update.side.features, 0, np.random.default_rng(0))

    def prepare(self, problem: Problem, state: State) -> Workspace:
        """Allocate buffers and embed both sides."""
        updates = self._updates(problem)
        for update in updates:
            update.prepare(state.parameters(update.side.name), state.threads)
        stored = any(update.stores_scores for update in updates)
        return Workspace(*updates, score=np.empty(problem.pairs if stored else 0, problem.dtype))

    def round(self, problem: Problem, state: State, workspace: Workspace) -> RoundReport:
        """Update the query side, then the target side."""
        loss, learns = None, problem.learns
        for mine in workspace.sides:
            if problem.strengths is not None:
                mine.take_strengths(problem)
            loss = self._turn(state, workspace, mine, learn=learns)
            if learns:
                problem = _with_found(problem, mine)
        if loss is None:
            loss = self._score(state, workspace, workspace.query)
        query, target = (workspace.gram(side, state.threads) for side in workspace.sides)
        cells = None if query is None or target is None else value(problem, query, target)
        embeddings = workspace.query.embedding, workspace.target.embedding
        if learns:
            state.strengths = _after_round(problem, loss, embeddings)
        return RoundReport(
            loss=loss, cells=cells, eta=_eta(workspace), sigma=_sigma(state, workspace), embeddings=embeddings
        )

    def _turn(
        self,
        state: State,
        workspace: Workspace,
        mine: SideUpdate,
        *,
        learn: bool = False,
        draws: Draws | None = None,
    ) -> float | None:
        """Update one side, embedding included; return the loss then, if it is known."""
        if mine.needs_scores and workspace.scored is not mine:
            self._score(state, workspace, mine)
        scored, workspace.scored = workspace.scored is mine, None
        W, other = state.parameters(mine.side.name), workspace.other(mine)
        gram = workspace.gram(other, state.threads)
        given = Given(W, other.embedding, workspace.score, state.threads, scored, gram, learn, draws)
        loss = mine.update(given, self._partition(state, mine))
        if loss is None:
            mine.embed(W, state.threads)
        workspace.grams.pop(mine.side.name, None)
        return loss

    def _partition(self, state: State, mine: SideUpdate) -> Partition | None:
        scheduler = self.scheduler_of(mine)
        if scheduler is None:
            return None
        return checked_partition(scheduler, mine.side.features, state.round, state.rng(mine.side.name))

    def _score(self, state: State, workspace: Workspace, mine: SideUpdate) -> float:
        workspace.scored = mine
        return mine.score(workspace.other(mine).embedding, workspace.score, state.threads)


def _with_found(problem: Problem, mine: SideUpdate) -> Problem:
    """Return the problem with the strengths that follow from the update of a side."""
    assert problem.strengths is not None
    assert mine.found is not None
    return problem.with_strengths(problem.strengths.after_update(problem, mine.side.name, mine.found))


def _after_round(problem: Problem, loss: float, embeddings: tuple[Reals, Reals]) -> Strengths:
    """Return the strengths that follow from a round."""
    assert problem.strengths is not None
    U, V = (spread_squares(side, W) for side, W in zip(problem.sides, embeddings, strict=True))
    return problem.strengths.after_round(problem, loss, (U, V))


def _eta(workspace: Workspace) -> Quantiles | None:
    """Return the spread of eta over the features of both sides; None where a side has no sets, hence no bound."""
    found = [update.eta for update in workspace.sides if update.eta is not None]
    return Quantiles.of(np.concatenate(found)) if len(found) == len(workspace.sides) else None


def _sigma(state: State, workspace: Workspace) -> float | None:
    """Return the imbalance of both sides' sets, by how much there is to do in them."""
    plans = [(update.plan, update.wide) for update in workspace.sides if update.plan is not None]
    work = [plan.work for plan, _ in plans]
    if not sum(work):
        return None
    return float(np.average([plan.imbalance(state.threads, wide) for plan, wide in plans], weights=work))
