"""The stages of a composed solver during a fit: their names, their ends, and their callbacks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Self

import attrs

from fmfkit.errors import CheckpointError
from fmfkit.interfaces import Solver
from fmfkit.solvers.compose import Composed, Place, Stage, Turn, end, turns_ahead
from fmfkit.training.events import Callback, RoundEvent, notify
from fmfkit.training.state import State

OVER = "all stages are over"


@attrs.define(eq=False)
class Stages:
    """What a fit knows of the stages of its solver; a solver that is not composed has none."""

    solver: Solver
    state: State
    reason: str = OVER
    """Why there are no more rounds, where there are none."""
    _turns: tuple[Turn, ...] = ()
    _entered: dict[Place, Stage] = attrs.field(factory=dict)
    """The stages whose callbacks have seen the start, and not the end."""

    @classmethod
    def entered_at(cls, places: Iterable[Place], solver: Solver, state: State, reason: str) -> Self:
        """Return stages of which those at some places have begun."""
        stages = cls(solver, state, reason)
        stages._entered = {place: _stage_at(solver, place) for place in places}
        return stages

    @property
    def entered(self) -> tuple[Place, ...]:
        """The places of the stages that have begun, and are not over."""
        return tuple(self._entered)

    @property
    def callbacks(self) -> list[Callback]:
        """The callbacks of those stages."""
        return [callback for stage in self._entered.values() for callback in stage.callbacks]

    @property
    def name(self) -> str | None:
        """What the stage of this round is called."""
        return "/".join(turn.name for turn in self._turns) or None

    @property
    def running(self) -> Solver:
        """The solver of this round, which is not composed."""
        last = self._turns[-1].solver if self._turns else self.solver
        return last.solver if isinstance(last, Stage) else last

    def enter(self, event: RoundEvent) -> bool:
        """Begin the stages of the next round; return whether there is one."""
        ahead = turns_ahead(self.solver, self.state)
        self._turns = ahead or ()
        for turn in self._turns:
            if isinstance(turn.solver, Stage) and turn.place not in self._entered:
                self._entered[turn.place], self.reason = turn.solver, OVER
                if self._notify(turn.solver, turn, attrs.evolve(event, moment="start")):
                    self._leave(turn.place, event)
                    return self.enter(event)
        return ahead is not None

    def note(self, event: RoundEvent) -> None:
        """End the stages of this round whose condition holds, or which a callback stops."""
        for turn in self._turns:
            if not isinstance(turn.solver, Stage):
                continue
            stopped = self._notify(turn.solver, turn, event)
            if not stopped and turn.solver.until is not None and turn.solver.until(event.record):
                end(self.state, turn.place)
        for place, stage in [*self._entered.items()]:
            if turns_ahead(stage, self.state, place) is None:
                self._leave(place, event)

    def _notify(self, stage: Stage, turn: Turn, event: RoundEvent) -> bool:
        """Call the callbacks of a stage; end it, and return True, if one of them stops it."""
        seen = attrs.evolve(event, stopped=None)
        notify(stage.callbacks, seen)
        if seen.stopped is None:
            return False
        self.reason = f"{OVER}; {turn.name}: {seen.stopped}"
        end(self.state, turn.place)
        return True

    def leave(self, event: RoundEvent) -> None:
        """Tell the callbacks of all stages that the fit is over."""
        self._leave((), event)

    def _leave(self, place: Place, event: RoundEvent) -> None:
        """Tell the callbacks of the stages at and within a place, the innermost first, that they are over."""
        for inner in sorted(self._entered, key=len, reverse=True):
            if inner[: len(place)] == place:
                notify(self._entered.pop(inner).callbacks, attrs.evolve(event, moment="end"))


def _stage_at(solver: Solver, place: Place) -> Stage:
    """Return the stage at a place of a composition."""
    found: Solver | None = solver
    for index in place:
        parts = found.parts if isinstance(found, Composed) else ()
        found = parts[index] if index < len(parts) else None
    if not isinstance(found, Stage):
        raise CheckpointError(f"its checkpoint has a stage at {place}, where {solver!r} has none")
    return found


__all__ = ["Place", "Stages"]
