"""Solvers that do not see a part of the problem, or do so only late or on some number of threads."""

from __future__ import annotations

import attrs
import numpy as np

from fmfkit import Penalties, RoundReport
from fmfkit.regularizers import ElasticNet
from fmfkit.solvers import L2M, Panel
from zoo.keeper import animal

STATIONARY = "check_ends_at_a_stationary_point"
OPTIMUM = "check_reaches_a_known_optimum"


class Blind:
    """Runs its base on a problem that lacks something; what it reports is true."""

    base = L2M

    def seen(self, problem):
        raise NotImplementedError

    def prepare(self, problem, state):
        seen = self.seen(problem) if problem.strengths is None else problem
        return seen, self.base.prepare(self, seen, state)

    def round(self, problem, state, workspace):
        self.base.round(self, workspace[0], state, workspace[1])
        return RoundReport()


def each(penalties, change):
    """Return penalties of which each was changed."""
    names = ("P", "Q", "query_bias", "target_bias")
    return Penalties(**{name: change(getattr(penalties, name)) for name in names})


@animal(STATIONARY, OPTIMUM)
@attrs.frozen
class IgnoresWeights(Blind, L2M):
    def seen(self, problem):
        return problem.replace(weight=None)


@animal(STATIONARY)
@attrs.frozen(kw_only=True)
class IgnoresWeightsInPanels(Blind, Panel):
    base = Panel

    def seen(self, problem):
        return problem.replace(weight=None)


@animal(STATIONARY, OPTIMUM)
@attrs.frozen
class WeightsAreYesOrNo(Blind, L2M):
    """A weight counts as 1 unless it is 0."""

    def seen(self, problem):
        weight = problem.query.pairs.weight
        return problem if weight is None else problem.replace(weight=(weight > 0).astype(weight.dtype))


@animal(STATIONARY)
@attrs.frozen
class IgnoresGrowth(Blind, L2M):
    def seen(self, problem):
        return problem.replace(penalty=each(problem.penalty, lambda penalty: attrs.evolve(penalty, growth=0.0)))


@animal(STATIONARY)
@attrs.frozen
class GrowthOfTheTargetsAlone(Blind, L2M):
    def seen(self, problem):
        given = problem.penalty
        return problem.replace(penalty=attrs.evolve(given, P=attrs.evolve(given.P, growth=0.0)))


@animal(STATIONARY, OPTIMUM)
@attrs.frozen
class IgnoresTheOffset(Blind, L2M):
    def seen(self, problem):
        return problem.replace(offset=0.0)


@animal(STATIONARY, OPTIMUM)
@attrs.frozen
class TakesTheMeanForTheOffset(Blind, L2M):
    def seen(self, problem):
        return problem.replace(offset=None)


@animal(STATIONARY, OPTIMUM)
@attrs.frozen
class IgnoresCells(Blind, L2M):
    def seen(self, problem):
        return problem.replace(cells=None, offset=problem.offset)


@animal(STATIONARY, OPTIMUM)
@attrs.frozen
class CellsAreDrawnToZero(Blind, L2M):
    def seen(self, problem):
        if problem.cells is None:
            return problem
        return problem.replace(cells=attrs.evolve(problem.cells, value=0.0), offset=problem.offset)


@animal(STATIONARY)
@attrs.frozen
class IgnoresTheWeightsOfCells(Blind, L2M):
    """Every row's cells count alike."""

    def seen(self, problem):
        if problem.cells is None:
            return problem
        return problem.replace(cells=attrs.evolve(problem.cells, queries=None, targets=None))


@animal(STATIONARY)
@attrs.frozen
class IgnoresBlockStrengths(Blind, L2M):
    def seen(self, problem):
        return problem.replace(penalty=each(problem.penalty, lambda penalty: attrs.evolve(penalty, strengths={})))


@animal(STATIONARY)
@attrs.frozen
class OnePenaltyForAll(Blind, L2M):
    """The queries' penalty is that of the targets too."""

    def seen(self, problem):
        return problem.replace(penalty=Penalties(P=problem.penalty.P, Q=problem.penalty.P))


@animal(STATIONARY)
@attrs.frozen
class IgnoresTheScale(Blind, L2M):
    """Strengths do not follow how often a feature is observed."""

    def seen(self, problem):
        return problem.replace(penalty=each(problem.penalty, lambda penalty: attrs.evolve(penalty, scale="uniform")))


@animal(STATIONARY)
@attrs.frozen
class IgnoresL1(Blind, L2M):
    def seen(self, problem):
        def without(penalty):
            if not isinstance(penalty.regularizer, ElasticNet):
                return penalty
            return attrs.evolve(penalty, regularizer=ElasticNet(l2=penalty.regularizer.l2))

        return problem.replace(penalty=each(problem.penalty, without))


@animal(STATIONARY)
@attrs.frozen
class EveryLossIsSquare(Blind, L2M):
    def seen(self, problem):
        return problem.replace(loss="square", offset=problem.offset)


class Afterwards(L2M):
    """L2M, and then something else is done to the state."""

    def afterwards(self, problem, state, before):
        raise NotImplementedError

    def round(self, problem, state, workspace):
        before = state.P.copy(), state.Q.copy()
        L2M.round(self, problem, state, L2M.prepare(self, problem, state))
        self.afterwards(problem, state, before)
        return RoundReport()


@animal(STATIONARY)
@attrs.frozen
class LeavesTheLastDimension(Afterwards):
    """Of many dimensions the last is not learnt."""

    def afterwards(self, problem, state, before):
        if problem.rank > 30:
            state.P[:, problem.rank - 1] = before[0][:, problem.rank - 1]
            state.Q[:, problem.rank - 1] = before[1][:, problem.rank - 1]


@animal("check_many_pairs_are_learnt_from")
@attrs.frozen
class SamplesLargeProblems(Blind, L2M):
    """Looks at every second pair of large problems."""

    def seen(self, problem):
        if problem.pairs < 100_000:
            return problem
        weight = problem.query.pairs.weight
        weight = np.ones(problem.pairs, problem.dtype) if weight is None else weight.copy()
        weight[::2] = 0
        return problem.replace(weight=weight, offset=problem.offset)


@animal("check_threads_do_not_change_the_model")
@attrs.frozen
class DiffersOnThreeThreads(Afterwards):
    def afterwards(self, problem, state, before):
        if state.threads == 3:
            state.P *= 1 + 1e-6


@animal("check_threads_do_not_change_the_model")
@attrs.frozen
class DiffersOnThreadsIfLarge(Afterwards):
    def afterwards(self, problem, state, before):
        if state.threads > 1 and problem.pairs > 50_000:
            state.Q *= 1 + 1e-6


@animal("check_threads_do_not_change_the_model")
@attrs.frozen
class DiffersOnThreadsLate(Afterwards):
    def afterwards(self, problem, state, before):
        if state.round >= 20:
            state.Q *= 1 + 1e-9 * state.threads


@animal("check_objective_never_rises")
@attrs.frozen
class RisesLate(Afterwards):
    def afterwards(self, problem, state, before):
        if state.round == 40:
            state.P *= 1.1


@animal(STATIONARY)
@attrs.frozen
class ShrinksLate(Afterwards):
    """From round 25 on its factors are drawn to zero."""

    def afterwards(self, problem, state, before):
        if state.round >= 25:
            state.P[:, : problem.rank] *= 0.7


@animal(STATIONARY)
@attrs.frozen
class GivesUpTooEarly(Afterwards):
    """After the fourth round the targets stay as they are."""

    def afterwards(self, problem, state, before):
        if state.round >= 4:
            state.Q[...] = before[1]


@animal("check_objective_is_what_it_says")
@attrs.frozen
class BoastsLate(L2M):
    """Reports a tenth less from round 15 on."""

    def round(self, problem, state, workspace):
        report = L2M.round(self, problem, state, workspace)
        return attrs.evolve(report, loss=report.loss * (0.9 if state.round > 15 else 1))


@animal("check_objective_is_what_it_says")
@attrs.frozen
class ReportsOldEmbeddings(L2M):
    """The embeddings that it reports are those of the round before."""

    def round(self, problem, state, workspace):
        old = tuple(side.embedding.copy() for side in workspace.sides)
        report = L2M.round(self, problem, state, workspace)
        return attrs.evolve(report, embeddings=old)
