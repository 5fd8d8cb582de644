"""Samples from the posterior: rounds that learn strengths, then draws of all parameters, panel by panel."""

from __future__ import annotations

from typing import Any, ClassVar, cast

import attrs
import numpy as np
from attrs import validators
from numpy.typing import NDArray

from fmfkit._kernels import scoring
from fmfkit._kernels.buffers import table_bytes
from fmfkit._kernels.side import Draws, SideUpdate
from fmfkit.arguments import frozen, whole
from fmfkit.losses import Square
from fmfkit.problem.learnt import SideStrengths, Strengths
from fmfkit.problem.objective import LearntPenalty
from fmfkit.problem.problem import Problem
from fmfkit.solvers.chebyshev import Steps
from fmfkit.solvers.descent import Workspace
from fmfkit.solvers.folding import Sides, fold
from fmfkit.solvers.panel import Panel
from fmfkit.training.records import RoundReport
from fmfkit.training.state import Mean, Parameters, State
from fmfkit.typing import Reals

FOLDED = 4
"""The mean of the samples has at most so many times the dimensions of a sample,"""
TOGETHER = 4
"""once those that were added are folded into it, so many at a time."""
MOST_DIRECTIONS = 50
"""Of a draw: it ends before, but for systems that no number would do for."""
LEAST_EIGENVALUE = 0.02
"""Of the posterior's precision, as a share of the paper's bound: what is less is forgotten more slowly."""


def _samples(given: Any) -> int:
    return whole("samples", given, least=1)


def _burn_in(given: Any) -> int:
    return whole("burn_in", given, least=0)


def _keep(given: Any) -> int:
    return whole("keep", given, least=0)


@attrs.define(eq=False)
class SamplerWorkspace(Workspace):
    """What draws need beside what steps do."""

    latent: Latent | None = None
    """What lies behind y, for a loss that says so."""


@attrs.frozen(eq=False)
class Latent:
    """What lies behind y: numbers that the square loss is right for, drawn again in each round."""

    problem: Problem
    workspace: Workspace
    order: NDArray[np.int64]
    """The pairs by target, as numbers of the pairs by query."""
    rows: NDArray[np.int32]
    """The query of each pair."""

    @classmethod
    def of(cls, solver: Gibbs, problem: Problem, state: State) -> Latent:
        """Make room, and lay out the problem that is solved with what is drawn."""
        pairs = problem.query.pairs
        rows = pairs.row_of
        behind = problem.behind(np.zeros_like(pairs.y), np.zeros_like(pairs.y))
        workspace = Panel.prepare(solver, behind.with_strengths(_of_probit(behind)), state)
        return cls(behind, workspace, np.lexsort((rows, pairs.other)), rows)

    def drawn(self, problem: Problem, state: State) -> tuple[Problem, Workspace]:
        """Draw what lies behind y, given the scores."""
        embeddings = scoring.embed_both(problem, state)
        score = scoring.pair_scores(self.rows, problem.query.pairs.other, *embeddings, problem.offset, state.threads)
        uniform = np.random.default_rng([state.seed, 7, state.round]).random(len(score))
        z = problem.loss.augmented(frozen(score), frozen(problem.query.pairs.y), uniform)
        self.problem.query.pairs.y[...] = z
        self.problem.target.pairs.y[...] = z[self.order]
        self.workspace.scored = None
        return self.problem.with_strengths(_of_probit(problem)), self.workspace


def _of_probit(problem: Problem) -> Strengths:
    """Return the strengths of a problem for numbers that deviate from their scores by 1."""
    assert problem.strengths is not None
    return attrs.evolve(certain(problem.strengths), noise=0.5, curvature=2.0)


@attrs.frozen(kw_only=True)
class Gibbs(Panel):
    """A Gibbs sampler: its model is the mean of the samples, which predicts better than any one of them.

    It samples for the square loss, and for losses that say what lies behind y (``Loss.augmented``), such as probit.

    The rounds that learn strengths come first (``LearntPenalty.rounds``); each round after them draws all parameters
    once, and the strengths: the parameters of a panel of dimensions all together, given the rest. The noise stays as it
    was learnt. Draws are functions of the seed, the round, and the row or feature: the same on any number of threads.
    The mean of the samples has up to four times their dimensions.
    """

    monotone: ClassVar[bool] = False
    sampler: ClassVar[bool] = True
    samples: int = attrs.field(default=80, converter=_samples)
    """How many samples are wanted: a fit that is not told its number of rounds has as many, after those that learn."""
    burn_in: int = attrs.field(default=0, converter=_burn_in)
    """How many samples are drawn before those: they do not count."""
    keep: int = attrs.field(default=0, converter=_keep)
    """How many samples, spread evenly, are kept beside their mean: ``model.samples``."""
    tolerance: float = attrs.field(default=0.05, converter=float, validator=[validators.gt(0), validators.lt(1)])
    """How exactly the draws of shared features solve their system: its residual, as a share of the first."""
    exact: bool = attrs.field(default=False, validator=validators.instance_of(bool))
    """Draw shared features by the paper's bound: whatever the tolerance, the posterior is left as it is. Then a draw
    keeps about ``tolerance`` of the one before. It takes several times as long."""

    @property
    def rounds(self) -> int:
        """The rounds of a fit that is not told how many."""
        return LearntPenalty().rounds + self.burn_in + self.samples

    def refusals(self, problem: Problem) -> list[str]:
        """Refuse losses that it cannot sample for, and strengths that are given."""
        reasons = list(super().refusals(problem))
        if type(problem.loss) is not Square and not problem.loss.augments:
            reasons.append(f"it samples for the square loss, and for losses such as probit, not for {problem.loss!r}")
        if problem.loss.augments and problem.query.pairs.weight is not None:
            reasons.append(f"it samples for {problem.loss!r} without weights only")
        penalty = problem.penalty
        if not isinstance(penalty, LearntPenalty):
            return [*reasons, "it draws the strengths: leave out l2, or give penalty=LearntPenalty()"]
        if penalty.shrink != 1 or penalty.spread != 1 or penalty.strengths:
            reasons.append("it draws the strengths: shrink, spread and strengths would be ignored")
        return reasons

    def workspace_bytes(self, problem: Problem, threads: int) -> int:
        """Return the bytes of what steps, draws and the mean of the samples need."""
        tables = (update.draws_table(self._draws(0)) for update in self._updates(problem))
        drawn = sum(table_bytes(table) for table in tables)
        return super().workspace_bytes(problem, threads) + drawn + self._mean_bytes(problem)

    def _mean_bytes(self, problem: Problem) -> int:
        """Return the bytes of the mean, of the samples added to it, and of folding them into it."""
        features, rows = problem.X.cols + problem.Z.cols, problem.X.rows + problem.Z.rows
        wide = FOLDED + TOGETHER  # the mean and what is added, apart and then side by side
        folding = max(2 * wide * rows, wide * rows + 2 * FOLDED * features)  # their embeddings twice, or the new mean
        square = 8 * (wide * problem.rank) ** 2  # of which linear algebra has about ten
        return (
            2 * wide * features + folding + self.keep * features
        ) * problem.rank * problem.dtype.itemsize + 10 * square

    def prepare(self, problem: Problem, state: State) -> SamplerWorkspace:
        """Allocate buffers and embed both sides."""
        made = super().prepare(problem, state)
        return SamplerWorkspace(made.query, made.target, made.score)

    def round(self, problem: Problem, state: State, workspace: Workspace) -> RoundReport:
        """Learn strengths, or draw all parameters and strengths once."""
        if problem.learns:
            return super().round(problem, state, workspace)
        assert problem.strengths is not None
        assert isinstance(workspace, SamplerWorkspace)
        drawn, within = problem.with_strengths(certain(problem.strengths)), cast(Workspace, workspace)
        if problem.loss.augments:
            workspace.latent = workspace.latent or Latent.of(self, problem, state)
            drawn, within = workspace.latent.drawn(problem, state)
        loss = self._draw(drawn, state, within)
        rng = np.random.default_rng([state.seed, 6, state.round])
        state.strengths = _drawn(problem.strengths, problem, state, rng)
        embeddings = within.query.embedding, within.target.embedding
        state.mean = self._with_sample(state, problem.rank, loss)
        if state.mean.samples % TOGETHER == 0 or state.mean.samples == self.samples:
            state.mean = _folded(problem, state.mean, state.threads)
        return RoundReport(loss=None if problem.loss.augments else loss, embeddings=embeddings)

    def _draw(self, problem: Problem, state: State, workspace: Workspace) -> float:
        """Draw all parameters once; return the loss then."""
        loss = None
        for mine in workspace.sides:
            mine.take_strengths(problem)
            loss = self._turn(state, workspace, mine, draws=self._draws(self._key(state, mine)))
        return self._score(state, workspace, workspace.query) if loss is None else loss

    def _with_sample(self, state: State, rank: int, loss: float) -> Mean:
        """Return the mean with one sample more."""
        sample, mean = (state.P.copy(), state.Q.copy()), state.mean
        if mean is None or mean.skipped < self.burn_in:
            skipped = 0 if mean is None else mean.skipped + 1
            first = Mean(P=sample[0], Q=sample[1], rank=rank, samples=1, loss=loss, skipped=skipped)
            return attrs.evolve(first, kept=self._kept(first, sample))
        more = attrs.evolve(mean, samples=mean.samples + 1, added=(*mean.added, sample))
        average = mean.loss + (loss - mean.loss) / more.samples
        return attrs.evolve(more, loss=average, kept=self._kept(more, sample))

    def _kept(self, mean: Mean, sample: Parameters) -> tuple[Parameters, ...]:
        """Return the samples that are kept, the last of the mean's among them if its turn has come."""
        turn = mean.samples * self.keep // self.samples > (mean.samples - 1) * self.keep // self.samples
        return (*mean.kept, sample)[-self.keep :] if turn else mean.kept

    def _key(self, state: State, mine: SideUpdate) -> int:
        sequence = np.random.SeedSequence([state.seed, 5, state.round, mine.side.name == "target"])
        return int(sequence.generate_state(1, np.uint64)[0])

    def _draws(self, key: int) -> Draws:
        if not self.exact:
            return Draws(key, tolerance=self.tolerance, most=MOST_DIRECTIONS)
        steps = Steps.of(LEAST_EIGENVALUE, self.tolerance)
        return Draws(key, tau=steps.tau, chebyshev=steps.rows)


def certain(strengths: Strengths) -> Strengths:
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


def _folded(problem: Problem, mean: Mean, threads: int) -> Mean:
    """Return the mean with as many dimensions as it may have, and nothing added."""
    whole, most = mean.joined(), FOLDED * problem.rank
    if whole.rank <= most:
        return whole
    wide = whole.rank
    U, V = scoring.embed_mean(problem, whole.P, whole.Q, threads)
    weights = [(side.pairs.totals + 1).astype(problem.dtype) for side in problem.sides]  # those without pairs a little
    sides = Sides(whole.P[:, :wide], whole.Q[:, :wide], U[:, :wide], V[:, :wide])
    P, Q = fold(sides, (weights[0], weights[1]), most, threads)
    joined = (np.concatenate([W, before[:, wide:]], axis=1) for W, before in ((P, whole.P), (Q, whole.Q)))
    return attrs.evolve(whole, P=next(joined), Q=next(joined), rank=P.shape[1])


__all__ = ["Gibbs"]
