"""Ready-made callbacks for ``fit(..., callbacks=[...])``. A callback is any callable that takes a RoundEvent."""

from __future__ import annotations

import sys
import time
from typing import TextIO

import attrs
from attrs import validators

from fmfkit.fitting import RoundEvent


@attrs.define
class Tolerance:
    """Stops when a round lowers the objective by less than ``relative`` of it."""

    relative: float = attrs.field(default=1e-4, converter=float, validator=validators.ge(0))
    _before: float | None = attrs.field(default=None, init=False)

    def __call__(self, event: RoundEvent) -> None:
        """Compare with the round before."""
        now, before = event.record.objective, self._before
        self._before = now
        if event.record.seconds and before is not None and before - now < self.relative * abs(before):
            event.stop(f"the objective fell by less than {self.relative:g} of itself")


@attrs.define
class Progress:
    """Prints a line per round; on a terminal, one line with a bar that is written over."""

    label: str = "fit"
    stream: TextIO = attrs.field(factory=lambda: sys.stderr)
    _began: float = attrs.field(factory=time.monotonic, init=False)

    def __call__(self, event: RoundEvent) -> None:
        """Show the round."""
        record = event.record
        line = f"{self.label}  round {record.round}/{event.last}  objective {record.objective:.6g}"
        line += "".join(f"  {name} {value:.4f}" for name, value in event.measured.items())
        if record.seconds:
            line += f"  {record.seconds:.3g} s/round"
        if self.stream.isatty():
            self.stream.write(f"\r\x1b[K{self._bar(event)}  {line}{self._left(event)}")
            if record.round == event.last or event.stopped:
                self.stream.write("\n")
        else:
            self.stream.write(line + "\n")
        self.stream.flush()

    def _bar(self, event: RoundEvent, width: int = 16) -> str:
        done = event.rounds - (event.last - event.record.round)
        full = width * done // event.rounds
        return "█" * full + "░" * (width - full)

    def _left(self, event: RoundEvent) -> str:
        """Return how long the rounds that are left will take, if each takes as long as those so far."""
        left = event.last - event.record.round
        done = event.rounds - left
        if not done or not left or event.stopped:
            return ""
        return f"  {(time.monotonic() - self._began) / done * left:.0f} s left"


__all__ = ["Progress", "Tolerance"]
