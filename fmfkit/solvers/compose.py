"""Solvers made of solvers: one after another, each for some rounds or until a condition holds, or in turns."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable, Iterable
from typing import Any

import attrs
from attrs import validators

from fmfkit.interfaces import Loss, Solver
from fmfkit.plugins.registry import resolve, resolve_callbacks
from fmfkit.problem.objective import LearntPenalty, Penalties
from fmfkit.problem.problem import Problem
from fmfkit.training.records import RoundRecord, RoundReport
from fmfkit.training.state import State

Place = tuple[int, ...]
"""Where a solver is in a composition: () the outermost, (1,) the second of that, (1, 0) the first of that, ..."""


def _solver(given: Solver | str) -> Solver:
    return resolve("solver", given)


def _loss(given: Loss | str | None) -> Loss | None:
    return None if given is None else resolve("loss", given)


def _penalty(given: Any) -> Penalties | None:
    if isinstance(given, LearntPenalty):
        raise TypeError("penalty: strengths are learnt for a whole fit: give them to the problem, not to a stage")
    return None if given is None else Penalties.of(given)


def _callbacks(given: Any) -> tuple[Callable[[Any], None], ...]:
    return tuple(resolve_callbacks(given))


class Composed(Solver):
    """A solver made of others: it has the properties that all its parts have."""

    @property
    @abstractmethod
    def parts(self) -> tuple[Solver, ...]:
        """The solvers that it is made of."""

    @abstractmethod
    def order(self, state: State, place: Place) -> Iterable[int]:
        """Return which of its parts may have the next round, the first whose turn it is first."""

    @property
    def monotone(self) -> bool:  # type: ignore[override]
        """Whether all parts are."""
        return all(part.monotone for part in self.parts)

    @property
    def deterministic(self) -> bool:  # type: ignore[override]
        """Whether all parts are."""
        return all(part.deterministic for part in self.parts)

    @property
    def learns_strengths(self) -> bool:  # type: ignore[override]
        """Whether all parts do."""
        return all(part.learns_strengths for part in self.parts)

    @property
    def takes_rows(self) -> bool:  # type: ignore[override]
        """Whether all parts do."""
        return all(part.takes_rows for part in self.parts)

    @property
    def sampler(self) -> bool:  # type: ignore[override]
        """Whether a part is."""
        return any(part.sampler for part in self.parts)

    def refusals(self, problem: Problem) -> list[str]:
        """Return the reasons of all parts."""
        return [f"{title(part)}: {reason}" for part in self.parts for reason in part.refusals(problem)]

    def _next(self, state: State) -> int:
        """Return the part that has the next round; the first in order where all are over."""
        ahead = turns_ahead(self, state, state.place)
        return next(iter(self.order(state, state.place))) if ahead is None else ahead[0].place[-1]


@attrs.frozen(eq=False)
class _Own:
    """What a stage works in: its problem, where it has one of its own, and its solver's workspace."""

    problem: Problem | None
    inner: Any


@attrs.frozen
class Stage(Composed):
    """A solver for ``rounds`` rounds, for ``seconds`` seconds, or ``until`` a condition on the last record holds.

    It is over with the first of them, or when one of its ``callbacks`` stops it; with none of them it has no end.
    Records are of the objective of the fit, whatever loss and penalty the stage has of its own.
    """

    solver: Solver = attrs.field(converter=_solver)
    rounds: int | None = attrs.field(
        default=None, validator=validators.optional([validators.instance_of(int), validators.ge(1)])
    )
    until: Callable[[RoundRecord], bool] | None = None
    name: str | None = attrs.field(
        default=None, validator=validators.optional(validators.instance_of(str)), kw_only=True
    )
    """What its records call it; by default its number and its solver's class."""
    loss: Loss | None = attrs.field(default=None, converter=_loss, kw_only=True)
    """What it lowers instead of the problem's loss; the offset is the problem's."""
    penalty: Penalties | None = attrs.field(default=None, converter=_penalty, kw_only=True)
    """What it pays instead of the problem's penalty."""
    callbacks: tuple[Callable[[Any], None], ...] = attrs.field(default=(), converter=_callbacks, kw_only=True, eq=False)
    """Called as those of a fit are, during the stage; ``event.stop`` ends the stage."""
    seconds: float | None = attrs.field(default=None, validator=validators.optional(validators.gt(0)), kw_only=True)
    """How much time its rounds may take; the round in which it is over is finished."""

    @property
    def parts(self) -> tuple[Solver, ...]:
        """Its solver."""
        return (self.solver,)

    @property
    def monotone(self) -> bool:  # type: ignore[override]
        """Whether its solver is, and lowers the objective of the fit."""
        return self.loss is None and self.penalty is None and self.solver.monotone

    @property
    def deterministic(self) -> bool:  # type: ignore[override]
        """Whether its solver is, and no clock ends it."""
        return self.seconds is None and self.solver.deterministic

    @property
    def learns_strengths(self) -> bool:  # type: ignore[override]
        """Whether its solver does, or the stage has a penalty of its own."""
        return self.penalty is not None or self.solver.learns_strengths

    @property
    def takes_rows(self) -> bool:  # type: ignore[override]
        """Whether its solver does, or the stage has a penalty of its own."""
        return self.penalty is not None or self.solver.takes_rows

    def order(self, state: State, place: Place) -> Iterable[int]:
        """Return its solver, unless the stage has ended."""
        return () if ended(state, place) else (0,)

    def own_problem(self, problem: Problem) -> Problem | None:
        """Return the problem with the stage's loss and penalty; None if it has neither."""
        changes: Any = {"loss": self.loss, "penalty": self.penalty}
        changes = {name: value for name, value in changes.items() if value is not None}
        return problem.replace(**changes, offset=problem.offset) if changes else None

    def refusals(self, problem: Problem) -> list[str]:
        """Return the reasons of its solver, and what it cannot have of its own."""
        if self.loss is not None and problem.strengths is not None and self.penalty is None:
            return ["a stage with a loss of its own needs a penalty of its own where strengths are learnt"]
        if self.loss is not None and self.loss.learns:
            return [f"{self.loss!r} learns parameters of its own, which only the loss of a problem can"]
        own = self.own_problem(problem) or problem
        if own.penalises_rows and not self.solver.takes_rows:
            return ["it takes parameters one by one, and the stage's penalty whole rows"]
        return list(self.solver.refusals(own))

    def workspace_bytes(self, problem: Problem, threads: int) -> int | None:
        """Return what its solver needs."""
        return self.solver.workspace_bytes(problem, threads)

    def prepare(self, problem: Problem, state: State) -> _Own:
        """Prepare its solver, on the stage's problem."""
        own = self.own_problem(problem)
        with state.within(0):
            return _Own(own, self.solver.prepare(own or problem, state))

    def round(self, problem: Problem, state: State, workspace: _Own) -> RoundReport:
        """Run a round of its solver, and end the stage if that was its last."""
        began, place = time.perf_counter(), state.place
        with state.within(0):
            report = self.solver.round(workspace.problem or problem, state, workspace.inner)
        _, done = state.turns.get(place, (0, 0))
        state.turns[place] = (0, done + 1)
        spent = 0.0
        if self.seconds is not None:
            spent = state.spent[place] = state.spent.get(place, 0.0) + time.perf_counter() - began
        if done + 1 == self.rounds or (self.seconds is not None and spent >= self.seconds):
            end(state, place)
        return report if self.loss is None else attrs.evolve(report, loss=None)


def ended(state: State, place: Place) -> bool:
    """Return whether the stage at a place has ended: its only solver, 0, has no turn any more."""
    return state.turns.get(place, (0, 0))[0] > 0


def end(state: State, place: Place) -> None:
    """End the stage at a place."""
    state.turns[place] = (1, state.turns.get(place, (0, 0))[1])


def _stages(given: Iterable[Solver | str]) -> tuple[Stage, ...]:
    return tuple(stage if isinstance(stage, Stage) else Stage(stage) for stage in given)


@attrs.frozen(init=False)
class Sequence(Composed):
    """One solver after another: ``Sequence(Stage(SGD(), rounds=3), PL2M())``. When its last stage is over, so is it."""

    stages: tuple[Stage, ...]
    """Those that follow each other."""

    def __init__(self, *stages: Solver | str) -> None:
        """Take stages; a bare solver is a stage without an end."""
        if not stages:
            raise ValueError("stages: expected at least one")
        self.__attrs_init__(_stages(stages))

    @property
    def parts(self) -> tuple[Solver, ...]:
        """The stages."""
        return self.stages

    @property
    def rounds(self) -> int | None:
        """The rounds of all stages, where each has a number of them."""
        given = [stage.rounds for stage in self.stages if stage.rounds is not None]
        return sum(given) if len(given) == len(self.stages) else None

    def order(self, state: State, place: Place) -> Iterable[int]:
        """Return the stage whose turn it was, then those after it."""
        return range(state.turns.get(place, (0, 0))[0], len(self.stages))

    def prepare(self, problem: Problem, state: State) -> dict[int, Any]:
        """Keep the workspace of the stage whose turn it is; ``state.turns`` knows which that is."""
        return {}

    def round(self, problem: Problem, state: State, workspace: dict[int, Any]) -> RoundReport:
        """Run a round of the stage whose turn it is."""
        index = self._next(state)
        before, done = state.turns.get(state.place, (0, 0))
        state.turns[state.place] = (index, done + 1 if index == before else 1)
        with state.within(index):
            if index not in workspace:
                workspace.clear()
                workspace[index] = self.stages[index].prepare(problem, state)
            return self.stages[index].round(problem, state, workspace[index])


@attrs.frozen(init=False)
class Alternate(Composed):
    """Solvers in turns, a round each: ``Alternate(PL2M(), SGD())``. Those that are over are passed over."""

    solvers: tuple[Solver, ...]
    """Those that take turns."""

    def __init__(self, *solvers: Solver | str) -> None:
        """Take the solvers in the order of their turns."""
        if not solvers:
            raise ValueError("solvers: expected at least one")
        self.__attrs_init__(tuple(_solver(solver) for solver in solvers))

    @property
    def parts(self) -> tuple[Solver, ...]:
        """The solvers."""
        return self.solvers

    def order(self, state: State, place: Place) -> Iterable[int]:
        """Return the solvers, beginning after the one that had the last round."""
        last, done = state.turns.get(place, (0, 0))
        first = last + 1 if done else 0
        return [(first + n) % len(self.solvers) for n in range(len(self.solvers))]

    def prepare(self, problem: Problem, state: State) -> None:
        """Keep nothing: each round prepares its own solver, from what the one before it left."""

    def round(self, problem: Problem, state: State, workspace: None) -> RoundReport:
        """Run a round of the solver whose turn it is."""
        index, solver = (chosen := self._next(state)), self.solvers[chosen]
        state.turns[state.place] = (index, state.turns.get(state.place, (0, 0))[1] + 1)
        with state.within(index):
            return solver.round(problem, state, solver.prepare(problem, state))


@attrs.frozen(eq=False)
class Turn:
    """A part of a composition that has the next round."""

    place: Place
    solver: Solver
    name: str


def turns_ahead(solver: Solver, state: State, place: Place = (), number: str = "") -> tuple[Turn, ...] | None:
    """Return the parts that have the next round, the outermost first; None where all are over."""
    inner: tuple[Turn, ...] | None = ()
    if isinstance(solver, Composed):
        each = (
            turns_ahead(
                solver.parts[index], state, (*place, index), "" if isinstance(solver, Stage) else f"{index + 1} "
            )
            for index in solver.order(state, place)
        )
        inner = next((found for found in each if found is not None), None)
    if inner is None or not (number or isinstance(solver, Stage)):
        return inner
    return (Turn(place, solver, title(solver, number)), *inner)


def title(solver: Solver, number: str = "") -> str:
    """Return what a part of a composition is called: a stage's name, else its number and its solver's class."""
    if isinstance(solver, Stage):
        return solver.name or title(solver.solver, number)
    return number + type(solver).__name__


__all__ = ["Alternate", "Sequence", "Stage"]
