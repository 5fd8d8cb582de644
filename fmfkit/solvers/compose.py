"""Solvers made of solvers: one after another, for some rounds or until a condition holds, or in turns."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import attrs
from attrs import validators

from fmfkit.interfaces import Solver
from fmfkit.plugins.registry import resolve
from fmfkit.problem.problem import Problem
from fmfkit.training.records import RoundRecord, RoundReport
from fmfkit.training.state import State


def _solver(given: Solver | str) -> Solver:
    return resolve("solver", given)


@attrs.frozen
class Stage:
    """A solver's turn in a Sequence: for ``rounds`` rounds, or ``until`` a condition on the last record holds.

    With neither, it lasts to the end of the fit; with both, until the first of the two.
    """

    solver: Solver = attrs.field(converter=_solver)
    rounds: int | None = attrs.field(
        default=None, validator=validators.optional([validators.instance_of(int), validators.ge(1)])
    )
    until: Callable[[RoundRecord], bool] | None = None

    def over(self, done: int, record: RoundRecord | None) -> bool:
        """Return whether the stage ends after ``done`` rounds, the last of them on ``record``."""
        if self.rounds is not None and done >= self.rounds:
            return True
        return bool(done and self.until is not None and record is not None and self.until(record))


def _stages(given: Iterable[Stage | Solver | str]) -> tuple[Stage, ...]:
    return tuple(stage if isinstance(stage, Stage) else Stage(stage) for stage in given)


def _join_refusals(solvers: Iterable[Solver], problem: Problem) -> list[str]:
    return [f"{type(solver).__name__}: {reason}" for solver in solvers for reason in solver.refusals(problem)]


@attrs.frozen(init=False)
class Sequence(Solver):
    """One solver after another: ``Sequence(Stage(SGD(), rounds=3), PL2M())``."""

    stages: tuple[Stage, ...]

    def __init__(self, *stages: Stage | Solver | str) -> None:
        """Take stages; a bare solver is a stage without an end."""
        if not stages:
            raise ValueError("stages: expected at least one")
        self.__attrs_init__(_stages(stages))

    @property
    def monotone(self) -> bool:  # type: ignore[override]
        """Whether all stages are."""
        return all(stage.solver.monotone for stage in self.stages)

    @property
    def deterministic(self) -> bool:  # type: ignore[override]
        """Whether all stages are."""
        return all(stage.solver.deterministic for stage in self.stages)

    def refusals(self, problem: Problem) -> list[str]:
        """Return the reasons of all stages."""
        return _join_refusals((stage.solver for stage in self.stages), problem)

    def prepare(self, problem: Problem, state: State) -> list[Any]:
        """Keep the workspace of the stage whose turn it is; ``state.turns`` knows which that is."""
        return [None]

    def round(self, problem: Problem, state: State, workspace: list[Any]) -> RoundReport:
        """Run a round of the stage whose turn it is."""
        index, done = state.turns.get(state.place, (0, 0))
        if index + 1 < len(self.stages) and self.stages[index].over(done, state.record):
            index, done, workspace[0] = index + 1, 0, None
        solver = self.stages[index].solver
        state.turns[state.place] = (index, done + 1)
        with state.within(index):
            if workspace[0] is None:
                workspace[0] = solver.prepare(problem, state)
            return solver.round(problem, state, workspace[0])


@attrs.frozen(init=False)
class Alternate(Solver):
    """Solvers in turns, a round each: ``Alternate(PL2M(), SGD())``."""

    solvers: tuple[Solver, ...]

    def __init__(self, *solvers: Solver | str) -> None:
        """Take the solvers in the order of their turns."""
        if not solvers:
            raise ValueError("solvers: expected at least one")
        self.__attrs_init__(tuple(_solver(solver) for solver in solvers))

    @property
    def monotone(self) -> bool:  # type: ignore[override]
        """Whether all solvers are."""
        return all(solver.monotone for solver in self.solvers)

    @property
    def deterministic(self) -> bool:  # type: ignore[override]
        """Whether all solvers are."""
        return all(solver.deterministic for solver in self.solvers)

    def refusals(self, problem: Problem) -> list[str]:
        """Return the reasons of all solvers."""
        return _join_refusals(self.solvers, problem)

    def prepare(self, problem: Problem, state: State) -> None:
        """Keep nothing: each round prepares its own solver, from what the one before it left."""

    def round(self, problem: Problem, state: State, workspace: None) -> RoundReport:
        """Run a round of the solver whose turn it is."""
        _, done = state.turns.get(state.place, (0, 0))
        index = done % len(self.solvers)
        state.turns[state.place] = (index, done + 1)
        solver = self.solvers[index]
        with state.within(index):
            return solver.round(problem, state, solver.prepare(problem, state))


__all__ = ["Alternate", "Sequence", "Stage"]
