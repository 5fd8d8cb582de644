"""Ready-made callbacks for ``fit(..., callbacks=[...])``. A callback is any callable that takes a RoundEvent."""

from __future__ import annotations

import sys
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
    """Prints a line per round; on a terminal, one line that is written over."""

    label: str = "fit"
    stream: TextIO = attrs.field(factory=lambda: sys.stderr)

    def __call__(self, event: RoundEvent) -> None:
        """Show the round."""
        record = event.record
        line = f"{self.label}  round {record.round}/{event.last}  objective {record.objective:.6g}"
        if record.seconds:
            line += f"  {record.seconds:.3g} s/round"
        if self.stream.isatty():
            end = "\n" if record.round == event.last or event.stopped else ""
            self.stream.write(f"\r\x1b[K{line}{end}")
        else:
            self.stream.write(line + "\n")
        self.stream.flush()


__all__ = ["Progress", "Tolerance"]
