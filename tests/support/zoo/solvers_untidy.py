"""Solvers that keep something to themselves, change the problem for a while, or leave traces in the process."""

from __future__ import annotations

import locale
import os
import random
import tempfile
import warnings
import zlib

import attrs
import numpy as np

from fmfkit import RoundReport
from fmfkit.solvers import L2M
from zoo.keeper import animal

RESUMES = "check_resumes_bit_for_bit"
PROCESS = "check_leaves_the_process_alone"
PROBLEM = "check_leaves_the_problem_alone"


def afresh(problem, state):
    """Run a round of L2M that takes nothing from the one before but the parameters."""
    L2M().round(problem, state, L2M().prepare(problem, state))


class Pushed(L2M):
    """L2M with a push that depends on the round before."""

    def memory(self, problem, state, workspace):
        raise NotImplementedError

    def prepare(self, problem, state):
        return {}

    def round(self, problem, state, workspace):
        memory, before = self.memory(problem, state, workspace), state.Q.copy()
        afresh(problem, state)
        state.Q *= 1 + 1e-6 * np.tanh(np.sum(memory.get("change", 0), dtype=np.float64))
        memory["change"] = state.Q - before
        return RoundReport()


@animal(RESUMES)
@attrs.frozen
class MomentumInTheWorkspace(Pushed):
    def memory(self, problem, state, workspace):
        return workspace


@animal(RESUMES)
@attrs.frozen
class MomentumLate(Pushed):
    """Begins to push in the twelfth round."""

    def memory(self, problem, state, workspace):
        return workspace if state.round >= 12 else {}


EVERYWHERE = {}


@animal(RESUMES)
@attrs.frozen
class MomentumInTheModule(Pushed):
    """Forgets with the first round of a fit; a fit that is resumed in the same process finds it again."""

    def memory(self, problem, state, workspace):
        if state.round == 0:
            EVERYWHERE.clear()
        return EVERYWHERE


OF_PROBLEMS = {}


@animal(RESUMES)
@attrs.frozen
class MomentumByProblem(L2M):
    """Keeps what it learnt by problem and round, as long as the process lives."""

    def round(self, problem, state, workspace):
        key, before = (zlib.crc32(problem.query.pairs.y.tobytes()), repr(problem.objective)), state.Q.copy()
        afresh(problem, state)
        state.Q *= 1 + 1e-6 * np.tanh(OF_PROBLEMS.get((key, state.round), 0.0))
        OF_PROBLEMS[key, state.round + 1] = float(np.sum(state.Q - before, dtype=np.float64))
        return RoundReport()


@animal(PROBLEM)
@attrs.frozen
class PutsTheStrengthsBack(L2M):
    def round(self, problem, state, workspace):
        part = problem.query.factors
        kept = part.strength.copy()
        part.strength[:] *= 0.5
        report = L2M.round(self, problem, state, workspace)
        part.strength[:] = kept
        return attrs.evolve(report, loss=None)


@animal(PROBLEM)
@attrs.frozen
class MakesTheArraysItsOwn(L2M):
    """Lifts the lock of y, centres it, and puts it and the lock back."""

    def round(self, problem, state, workspace):
        y = problem.query.pairs.y
        locked = not y.flags.writeable
        y.setflags(write=True)
        y += 1
        report = L2M.round(self, problem, state, workspace)
        y -= 1
        y.setflags(write=not locked)
        return attrs.evolve(report, loss=None)


@animal(PROBLEM)
@attrs.frozen
class ExchangesTheStrengths(L2M):
    """Puts another array in the place of the strengths for the time of a round."""

    def round(self, problem, state, workspace):
        part = problem.target.factors
        kept = part.strength
        object.__setattr__(part, "strength", kept * 0.5)
        report = L2M.round(self, problem, state, workspace)
        object.__setattr__(part, "strength", kept)
        return report


@animal(PROBLEM)
@attrs.frozen
class SortsThePairs(L2M):
    """Changes the order of y for good."""

    def prepare(self, problem, state):
        problem.target.pairs.y.sort()
        return L2M.prepare(self, problem, state)


class Traces(L2M):
    """L2M, and a trace in the process."""

    def trace(self, state):
        raise NotImplementedError

    def round(self, problem, state, workspace):
        report = L2M.round(self, problem, state, workspace)
        self.trace(state)
        return report


@animal(PROCESS)
@attrs.frozen
class SeedsNumPy(Traces):
    def trace(self, state):
        np.random.seed(state.round)  # noqa: NPY002


@animal(PROCESS)
@attrs.frozen
class DrawsFromNumPy(Traces):
    def trace(self, state):
        np.random.rand()  # noqa: NPY002


@animal(PROCESS)
@attrs.frozen
class SeedsPython(Traces):
    def trace(self, state):
        random.seed(state.seed)


@animal(PROCESS)
@attrs.frozen
class SilencesNumPy(Traces):
    def trace(self, state):
        np.seterr(over="ignore", invalid="ignore")


@animal(PROCESS)
@attrs.frozen
class SetsTheEnvironment(Traces):
    def trace(self, state):
        os.environ["OMP_NUM_THREADS"] = str(state.threads + 1)


@animal(PROCESS)
@attrs.frozen
class ChangesTheFolder(Traces):
    def trace(self, state):
        os.chdir(tempfile.gettempdir())


@animal(PROCESS)
@attrs.frozen
class FiltersWarnings(Traces):
    def trace(self, state):
        warnings.simplefilter("ignore")


@animal(PROCESS)
@attrs.frozen
class ChangesTheLocale(Traces):
    def trace(self, state):
        locale.setlocale(locale.LC_ALL, "C.UTF-8" if locale.setlocale(locale.LC_ALL) == "C" else "C")


@animal(PROCESS)
@attrs.frozen
class PrintsInShort(Traces):
    def trace(self, state):
        np.set_printoptions(precision=3)


@animal("check_threads_do_not_change_the_model")
@attrs.frozen
class JittersByNumPy(L2M):
    """Draws from the global generator, and puts its state back."""

    def round(self, problem, state, workspace):
        afresh(problem, state)
        kept = np.random.get_state()  # noqa: NPY002
        state.P *= 1 + 1e-9 * np.random.rand()  # noqa: NPY002
        np.random.set_state(kept)  # noqa: NPY002
        return RoundReport()
