"""Ready-made callbacks for ``fit(..., callbacks=[...])``. A callback is any callable that takes a RoundEvent.

It is called at the start and after each round; ``event.moment`` tells which. If it has a method ``end``, that is called
with the last event when the fit is over. ``Checkpoint`` says how one remembers what was before a fit that goes on.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, TextIO

import attrs
from attrs import validators

from fmfkit.model.model import Model
from fmfkit.problem.problem import Problem
from fmfkit.search import BestSoFar
from fmfkit.sections import Section
from fmfkit.training.checkpoint import Checkpoint, standing, with_standing
from fmfkit.training.events import RoundEvent
from fmfkit.training.state import State


@attrs.define
class Tolerance:
    """Stops when a round lowers the objective by less than ``relative`` of it."""

    relative: float = attrs.field(default=1e-4, converter=float, validator=validators.ge(0))
    _before: float | None = attrs.field(default=None, init=False)

    def __call__(self, event: RoundEvent) -> None:
        """Compare with the round before."""
        comparable = event.moment == "round" and not event.record.learnt
        now, before = event.record.objective, self._before if comparable else None
        self._before = now
        if before is not None and before - now < self.relative * abs(before):
            event.stop(f"the objective fell by less than {self.relative:g} of itself")

    def memory(self) -> dict[str, Any]:
        """Return the objective of the round before."""
        return {"before": self._before}

    def remember(self, memory: Mapping[str, Any], event: RoundEvent) -> None:
        """Take it back."""
        self._before = memory["before"]


@attrs.define
class Progress:
    """Prints a line per round; on a terminal, one line with a bar that is written over."""

    label: str = "fit"
    """What is trained, in a word."""
    stream: TextIO = attrs.field(factory=lambda: sys.stderr)
    """What is printed to; stderr by default."""
    _began: float = attrs.field(factory=time.monotonic, init=False)
    _first: int = attrs.field(default=0, init=False)
    """The round that it was at then."""

    def __call__(self, event: RoundEvent) -> None:
        """Show the round."""
        record = event.record
        if event.moment == "start":
            self._began, self._first = time.monotonic(), record.round
        line = f"{self.label}  round {record.round}/{event.last}  objective {record.objective:.6g}"
        line += "".join(f"  {name} {value:.4f}" for name, value in event.measured.items())
        if record.seconds:
            line += f"  {record.seconds:.3g} s/round"
        bar = f"\r\x1b[K{self._bar(event)}  {line}{self._left(event)}"
        self._write(bar if self.stream.isatty() else line + "\n")

    def end(self, event: RoundEvent) -> None:
        """Leave the line."""
        if self.stream.isatty():
            self._write("\n")

    def _write(self, text: str) -> None:
        with suppress(OSError):  # a terminal that is gone, or a pipe that nobody reads, is no reason to end a fit
            self.stream.write(text)
            self.stream.flush()

    def _bar(self, event: RoundEvent, width: int = 16) -> str:
        done = event.rounds - (event.last - event.record.round)
        full = width * done // event.rounds
        return "█" * full + "░" * (width - full)

    def _left(self, event: RoundEvent) -> str:
        """Return how long the remaining rounds will take, if each takes as long as those so far."""
        left, done = event.last - event.record.round, event.record.round - self._first
        if not done or not left or event.stopped:
            return ""
        return f"  {(time.monotonic() - self._began) / done * left:.0f} s left"


@attrs.define
class TimeBudget:
    """Stops when the fit has taken ``seconds``; the round in which that happens is finished."""

    seconds: float = attrs.field(converter=float, validator=validators.gt(0))
    _began: float = attrs.field(default=0.0, init=False)

    def __call__(self, event: RoundEvent) -> None:
        """Look at the clock."""
        if event.moment == "start":
            self._began = time.monotonic()
        elif time.monotonic() - self._began >= self.seconds:
            event.stop(f"its {self.seconds:g} seconds are over")

    def memory(self) -> dict[str, Any]:
        """Return how many seconds the fit has taken."""
        return {"taken": time.monotonic() - self._began}

    def remember(self, memory: Mapping[str, Any], event: RoundEvent) -> None:
        """Count them too."""
        self._began = time.monotonic() - memory["taken"]


def _folder_exists(instance: Any, attribute: attrs.Attribute[Any], value: Any) -> None:
    if isinstance(value, logging.Logger):
        return
    if not isinstance(value, str | os.PathLike):
        raise TypeError(f"{attribute.name}: expected a path or a logging.Logger, got {value!r}")
    if not Path(value).absolute().parent.is_dir():
        raise ValueError(f"{attribute.name}: there is no folder to write {os.fspath(value)!r} to")


@attrs.define
class Log:
    """Writes a line of JSON at the start, after each round and at the end: to a file, after what it has, or a logger.

    A line has the fields of the RoundRecord, ``objective``, ``moment``, what other callbacks before it measured, and at
    the end ``stopped``.
    """

    to: str | os.PathLike[str] | logging.Logger = attrs.field(validator=_folder_exists)

    def __call__(self, event: RoundEvent) -> None:
        """Write the round."""
        self._write(event, {})

    def end(self, event: RoundEvent) -> None:
        """Write why the fit is over: None where all its rounds were done."""
        self._write(event, {"stopped": event.stopped})

    def _write(self, event: RoundEvent, more: dict[str, Any]) -> None:
        record = attrs.asdict(event.record) | {"objective": event.record.objective}
        line = json.dumps({"moment": event.moment} | record | event.measured | more)
        if isinstance(self.to, logging.Logger):
            self.to.info(line)
        else:
            with open(self.to, "a", encoding="utf-8") as file:
                file.write(line + "\n")


@attrs.define(eq=False)
class KeepBest:
    """Keeps the parameters of the round with the best value of a measure; stops after ``patience`` rounds without one.

    ``restore`` returns the model of the best round when the fit is over.
    """

    measure: Callable[[Model], float]
    """What is measured on the model of each round, on held-out pairs."""
    larger: bool
    """Whether larger values are better."""
    name: str = "value"
    """What the measure is called."""
    patience: int = 3
    values: list[float] = attrs.field(factory=list, init=False)
    """The value after each round, from the start on."""
    best: BestSoFar[None] = attrs.field(init=False)
    """The best value, and its place."""
    _kept: State | None = attrs.field(default=None, init=False)

    def __attrs_post_init__(self) -> None:
        """Begin without a value."""
        self.best = BestSoFar(self.larger)

    def again(self) -> KeepBest:
        """Return one with the same measure that has seen nothing yet."""
        return KeepBest(self.measure, self.larger, self.name, self.patience)

    def __call__(self, event: RoundEvent) -> None:
        """Measure the round."""
        value = self.measure(event.model())
        event.measured[self.name] = value
        self.values.append(value)
        if self.best.note(value, None):
            self._kept = event.state.copy_for(event.problem)
        elif self.best.since >= self.patience:
            event.stop(f"{self.name} on the validation part has not improved for {self.patience} rounds")

    def memory(self) -> dict[str, Any]:
        """Return the values, and the parameters of the best round with where the training stood."""
        assert self._kept is not None
        values = [float(value) for value in self.values]
        return {"values": values, "P": self._kept.P, "Q": self._kept.Q, "standing": standing(self._kept)}

    def remember(self, memory: Mapping[str, Any], event: RoundEvent) -> None:
        """Take them back."""
        self.values, self.best = [], BestSoFar(self.larger)
        for value in memory["values"]:
            self.values.append(float(value))
            self.best.note(self.values[-1], None)
        kept = attrs.evolve(event.state, P=memory["P"], Q=memory["Q"])
        kept.check_values(event.problem)
        self._kept = with_standing(kept.copy_for(event.problem), Section(memory["standing"], {}))
        self._kept.check_against(event.problem)

    def restore(self, problem: Problem, model: Model) -> Model:
        """Return the model of the best round, with what strengths and loss have learnt by the end.

        Args:
            problem: what was trained.
        """
        if self._kept is None:
            raise ValueError("restore: no round was measured")
        kept = {name: getattr(self._kept, name) for name in ("P", "Q", "round", "turns", "spent", "record")}
        state = attrs.evolve(model.state, **kept)
        if state.loss is not None:
            problem = problem.with_loss(state.loss)
        return Model.of(problem, state, model.history[: self.best.place + 1], model.stopped)


__all__ = ["Checkpoint", "KeepBest", "Log", "Progress", "TimeBudget", "Tolerance"]
