"""Progress: a bar of tqdm on terminals and in notebooks, lines elsewhere; and what the logger ``fmfkit`` is told."""

from __future__ import annotations

import logging
from contextlib import suppress
from typing import Any, TextIO

import attrs

from fmfkit.notebooks import in_notebook
from fmfkit.training.events import RoundEvent

log = logging.getLogger("fmfkit")
"""What is said of data and settings at INFO, the end of each fit at INFO, each round at DEBUG."""


@attrs.define
class Bar:
    """How far work has come."""

    label: str
    unit: str
    """What is counted: rounds, trials."""
    total: int
    stream: TextIO
    first: int = 0
    """What was done before."""
    _bar: Any = attrs.field(default=None, init=False)

    def __attrs_post_init__(self) -> None:
        """Open the bar, where one can be drawn."""
        if self.stream.isatty() or in_notebook():
            from tqdm.auto import tqdm  # importing it takes a while

            with suppress(OSError):
                self._bar = tqdm(
                    desc=self.label,
                    total=self.total,
                    initial=self.first,
                    unit=self.unit,
                    file=self.stream,
                    dynamic_ncols=True,
                    mininterval=0,
                )

    def show(self, done: int, told: str) -> None:
        """Say how far it is, and what came of it."""
        with suppress(OSError):  # a terminal that is gone, or a pipe that nobody reads, is no reason to end a fit
            if self._bar is None:
                self.stream.write(f"{self.label}  {self.unit} {done}/{self.total}  {told}\n")
                self.stream.flush()
            else:
                self._bar.set_postfix_str(told, refresh=False)
                self._bar.n = done
                self._bar.refresh()

    def close(self) -> None:
        """Leave the line."""
        if self._bar is not None:
            with suppress(OSError):
                self._bar.close()


@attrs.frozen
class Logged:
    """Tells the logger of each round, and of the end."""

    label: str = "fit"

    def __call__(self, event: RoundEvent) -> None:
        """Tell of a round."""
        log.debug("%s: round %d/%d, %s", self.label, event.record.round, event.last, told(event))

    def end(self, event: RoundEvent) -> None:
        """Tell of the end."""
        why = "" if event.stopped is None else f"; {event.stopped}"
        log.info("%s: %d rounds, %s%s", self.label, event.record.round, told(event), why)


def told(event: RoundEvent) -> str:
    """Return the numbers of a round in a line."""
    line = f"objective {event.record.objective:.6g}"
    line += "".join(f"  {name} {value:.4f}" for name, value in event.measured.items())
    return line + (f"  {event.record.seconds:.3g} s/round" if event.record.seconds else "")


__all__ = ["Bar", "Logged", "log", "told"]
