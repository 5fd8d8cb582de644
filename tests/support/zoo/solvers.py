"""Broken solvers."""

from __future__ import annotations

import attrs

from fmfkit import RoundReport, Solver
from fmfkit.solvers import L2M, Gibbs, Panel
from zoo.keeper import animal


@animal("check_objective_never_rises", "check_reaches_a_known_optimum")
@attrs.frozen(kw_only=True)
class StepsTooFar(Panel):
    """Doubles what it learnt every third round."""

    def round(self, problem, state, workspace):
        report = Panel.round(self, problem, state, workspace)
        if state.round % 3 == 2:
            state.P *= 2
            return RoundReport()
        return report


@animal("check_threads_do_not_change_the_model", "check_resumes_bit_for_bit")
@attrs.frozen(kw_only=True)
class DependsOnThreads(L2M):
    def round(self, problem, state, workspace):
        report = L2M.round(self, problem, state, workspace)
        state.P *= 1 - 1e-9 * state.threads
        return attrs.evolve(report, loss=None)


@animal("check_resumes_bit_for_bit")
@attrs.frozen(kw_only=True)
class KeepsItToItself(L2M):
    """Learns something that does not stand in P and Q."""

    def prepare(self, problem, state):
        return [L2M.prepare(self, problem, state), 0]

    def round(self, problem, state, workspace):
        workspace[1] += 1
        report = L2M.round(self, problem, state, workspace[0])
        state.Q *= 1 - 1e-9 * workspace[1]
        return attrs.evolve(report, loss=None)


@animal("check_objective_is_what_it_says", "check_reaches_a_known_optimum", "check_objective_never_rises")
@attrs.frozen(kw_only=True)
class Boasts(L2M):
    """Reports half the loss."""

    def round(self, problem, state, workspace):
        report = L2M.round(self, problem, state, workspace)
        return attrs.evolve(report, loss=report.loss / 2)


@animal("check_it_learns", "check_reaches_a_known_optimum")
@attrs.frozen
class Idle(Solver):
    def prepare(self, problem, state):
        return None

    def round(self, problem, state, workspace):
        return RoundReport()


@animal("check_stops_when_asked")
@attrs.frozen(kw_only=True)
class CountsRoundsItself(L2M):
    def round(self, problem, state, workspace):
        report = L2M.round(self, problem, state, workspace)
        state.round += 1
        return report


@animal("check_leaves_the_problem_alone", "check_threads_do_not_change_the_model", "check_resumes_bit_for_bit")
@attrs.frozen(kw_only=True)
class SoftensThePenalty(L2M):
    """Lowers the strengths of the problem from round to round."""

    def round(self, problem, state, workspace):
        report = L2M.round(self, problem, state, workspace)
        problem.query.factors.strength[:] *= 0.999
        return attrs.evolve(report, loss=None)


@animal("check_copies_are_equal")
@attrs.frozen(kw_only=True, eq=False)
class SolverWithoutEquality(L2M):
    __eq__ = object.__eq__
    __hash__ = object.__hash__


@animal("check_mean_of_samples_predicts_better_than_one")
@attrs.frozen(kw_only=True)
class ForgetsItsSamples(Gibbs):
    """Its mean is its last sample."""

    def round(self, problem, state, workspace):
        state.mean = None
        return Gibbs.round(self, problem, state, workspace)


@animal("check_mean_of_samples_predicts_better_than_one")
@attrs.frozen(kw_only=True)
class SamplesWithoutWeights(Gibbs):
    """Draws as if all pairs counted alike; what it reports is true."""

    def prepare(self, problem, state):
        return Gibbs.prepare(self, self.seen(problem), state)

    def round(self, problem, state, workspace):
        Gibbs.round(self, self.seen(problem), state, workspace)
        return RoundReport()

    def seen(self, problem):
        return problem.replace(weight=None, offset=problem.offset).with_strengths(problem.strengths)


@animal("check_mean_of_samples_predicts_better_than_one")
@attrs.frozen(kw_only=True)
class SamplesWithoutAnOffset(SamplesWithoutWeights):
    def seen(self, problem):
        return problem.replace(offset=0.0).with_strengths(problem.strengths)
