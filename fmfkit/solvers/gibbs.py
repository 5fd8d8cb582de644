"""Samples from the posterior: rounds that learn strengths, then draws of all parameters, panel by panel."""

from __future__ import annotations

from typing import Any, ClassVar

import attrs
import numpy as np
from attrs import validators

from fmfkit._kernels.scoring import embed_mean
from fmfkit._kernels.side import Draws, SideUpdate
from fmfkit.arguments import whole
from fmfkit.losses import Square
from fmfkit.problem.learnt import SideStrengths, Strengths
from fmfkit.problem.objective import LearntPenalty
from fmfkit.problem.problem import Problem
from fmfkit.solvers.descent import Workspace
from fmfkit.solvers.folding import Sides, fold
from fmfkit.solvers.panel import Panel
from fmfkit.training.records import RoundReport
from fmfkit.training.state import Mean, State
from fmfkit.typing import Reals

FOLDED = 4
"""The mean of the samples has at most so many times the dimensions of a sample."""
MOST_DIRECTIONS = 50
"""Of a draw: it ends before, but for systems that no number would do for."""


def _samples(given: Any) -> int:
    return whole("samples", given, least=1)


@attrs.frozen(kw_only=True)
class Gibbs(Panel):
    """A Gibbs sampler for the square loss: its model is the mean of the samples, which predicts better than any one.

    The rounds that learn strengths come first (``LearntPenalty.rounds``); each round after them draws all parameters
    once, and the strengths: the parameters of a panel of dimensions all together, given the rest. The noise stays as it
    was learnt. Draws are functions of the seed, the round, and the row or feature: the same on any number of threads.
    The mean of the samples has up to four times their dimensions.
    """

    monotone: ClassVar[bool] = False
    sampler: ClassVar[bool] = True
    samples: int = attrs.field(default=80, converter=_samples)
    """How many samples are wanted: a fit that is not told its number of rounds has as many, after those that learn."""
    tolerance: float = attrs.field(default=0.05, converter=float, validator=[validators.gt(0), validators.lt(1)])
    """How exactly the draws of shared features solve their system: its residual, as a share of the first."""

    @property
    def rounds(self) -> int:
        """The rounds of a fit that is not told how many."""
        return LearntPenalty().rounds + self.samples

    def refusals(self, problem: Problem) -> list[str]:
        """Refuse other losses than the square one, and strengths that are given."""
        reasons = list(super().refusals(problem))
        if type(problem.loss) is not Square:
            reasons.append(f"it samples for the square loss only, not for {problem.loss!r}")
        penalty = problem.penalty
        if not isinstance(penalty, LearntPenalty):
            return [*reasons, "it draws the strengths: leave out l2, or give penalty=LearntPenalty()"]
        if penalty.shrink != 1 or penalty.spread != 1 or penalty.strengths:
            reasons.append("it draws the strengths: shrink, spread and strengths would be ignored")
        return reasons

    def round(self, problem: Problem, state: State, workspace: Workspace) -> RoundReport:
        """Learn strengths, or draw all parameters and strengths once."""
        if problem.learns:
            return super().round(problem, state, workspace)
        assert problem.strengths is not None
        problem, loss = problem.with_strengths(_certain(problem.strengths)), None
        for mine in workspace.sides:
            mine.take_strengths(problem)
            draws = Draws(self._key(state, mine), self.tolerance, MOST_DIRECTIONS)
            loss = self._turn(state, workspace, mine, draws=draws)
        if loss is None:
            loss = self._score(state, workspace, workspace.query)
        rng = np.random.default_rng([state.seed, 6, state.round])
        assert problem.strengths is not None
        state.strengths = _drawn(problem.strengths, problem, state, rng)
        embeddings = workspace.query.embedding, workspace.target.embedding
        state.mean = _with_sample(problem, state, embeddings, loss)
        return RoundReport(loss=loss, embeddings=embeddings)

    def _key(self, state: State, mine: SideUpdate) -> int:
        sequence = np.random.SeedSequence([state.seed, 5, state.round, mine.side.name == "target"])
        return int(sequence.generate_state(1, np.uint64)[0])


def _certain(strengths: Strengths) -> Strengths:
    """Return strengths without uncertainty: samples are what they are."""

    def side(given: SideStrengths) -> SideStrengths:
        return attrs.evolve(given, variance=np.zeros_like(given.variance), bias_variance=0.0)

    return attrs.evolve(strengths, query=side(strengths.query), target=side(strengths.target))


def _drawn(strengths: Strengths, problem: Problem, state: State, rng: np.random.Generator) -> Strengths:
    """Draw λ of each feature block and dimension, given the parameters: from Gamma distributions."""

    def side(given: SideStrengths, W: Reals, blocks: Any) -> SideStrengths:
        rank = given.factors.shape[1]
        squares = np.array([np.square(W[part], dtype=np.float64).sum(axis=0) for part in blocks.values()])
        shape = np.array([[(1 + part.stop - part.start) / 2] for part in blocks.values()])
        factors = rng.gamma(np.broadcast_to(shape, given.factors.shape), 2 / (strengths.unit + squares[:, :rank]))
        if given.bias is None:
            return attrs.evolve(given, factors=factors)
        return attrs.evolve(given, factors=factors, bias=rng.gamma(shape, 2 / (strengths.unit**2 + squares[:, rank:])))

    query = side(strengths.query, state.P, problem.X.blocks)
    target = side(strengths.target, state.Q, problem.Z.blocks)
    return attrs.evolve(strengths, query=query, target=target)


def _with_sample(problem: Problem, state: State, embeddings: tuple[Reals, Reals], loss: float) -> Mean:
    """Return the mean of all samples, with that of the state."""
    before, rank = state.mean, problem.rank
    if before is None:
        return Mean(P=state.P.copy(), Q=state.Q.copy(), samples=1, loss=loss)
    share, wide = 1 / (before.samples + 1), before.P.shape[1] - problem.query_bias
    U, V = embed_mean(problem, before, state.threads)
    mean = Sides(before.P[:, :wide], before.Q[:, :wide], U[:, :wide], V[:, :wide])
    sample = Sides(state.P[:, :rank], state.Q[:, :rank], embeddings[0][:, :rank], embeddings[1][:, :rank])
    weights = [(side.pairs.totals + 1).astype(problem.dtype) for side in problem.sides]  # those without pairs a little
    P, Q = fold(mean, sample, share, (weights[0], weights[1]), FOLDED * rank)
    loss = before.loss + share * (loss - before.loss)
    return Mean(
        P=_with_bias(P, before.P[:, wide:], state.P[:, rank:], share),
        Q=_with_bias(Q, before.Q[:, wide:], state.Q[:, rank:], share),
        samples=before.samples + 1,
        loss=loss,
    )


def _with_bias(factors: Reals, mean: Reals, sample: Reals, share: float) -> Reals:
    return np.ascontiguousarray(np.concatenate([factors, mean + share * (sample - mean)], axis=1), factors.dtype)


__all__ = ["Gibbs"]
