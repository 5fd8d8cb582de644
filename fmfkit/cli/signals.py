"""Signals that ask a fit to end: the first lets the round that runs be finished, the second ends the process."""

from __future__ import annotations

import os
import signal as signals
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import attrs

from fmfkit.training.callbacks import Checkpoint
from fmfkit.training.events import INTERRUPTED, RoundEvent

SIGNALS = tuple(getattr(signals, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signals, name))


@attrs.define(eq=False)
class Stopper:
    """A callback that stops a fit after the round in which a signal came; a checkpoint, where there is one, does."""

    checkpoint: Checkpoint | None
    signal: signals.Signals | None = None
    """The one that came."""
    _stopped: bool = False

    def __call__(self, event: RoundEvent) -> None:
        """Stop if a signal came."""
        if self.checkpoint is None and self.signal is not None and event.moment == "round":
            event.stop(INTERRUPTED)
            self._stopped = True

    @property
    def stopped(self) -> signals.Signals | None:
        """The signal that ended work which was not done; None if nothing was left to do, or none came."""
        cut = self._stopped if self.checkpoint is None else self.checkpoint.interrupted
        return self.signal if cut else None

    def note(self, number: int, frame: object) -> None:
        """Handle a signal: Python calls it in its main thread, between the calls of C."""
        self.signal = self.signal or signals.Signals(number)
        if self.checkpoint is not None:
            self.checkpoint.stop()


@contextmanager
def stop_after_round(checkpoint: Checkpoint | None) -> Iterator[Stopper]:
    """Turn the first signal into a stop after the round that is running; the second ends the process at once.

    Signals that are ignored, as ``nohup`` makes it, stay ignored.
    """
    stopper = Stopper(checkpoint)
    reading, writing = os.pipe()
    if hasattr(os, "set_blocking"):  # Windows has it from Python 3.12 on, and does without
        os.set_blocking(writing, False)
    listener = threading.Thread(target=_listen, args=(reading, checkpoint is not None), daemon=True)
    earlier = signals.set_wakeup_fd(writing, warn_on_full_buffer=False)
    caught = [number for number in SIGNALS if signals.getsignal(number) is not signals.SIG_IGN]
    before = {number: signals.signal(number, stopper.note) for number in caught}
    listener.start()
    try:
        yield stopper
    finally:
        for number, handler in before.items():
            signals.signal(number, handler)
        signals.set_wakeup_fd(earlier)
        os.close(writing)
        listener.join()
        os.close(reading)


def _listen(reading: int, kept: bool) -> None:
    """Answer signals at once, while C runs too: Python's own handlers wait until it is back."""
    came = False
    lost = "what came after the last checkpoint is then lost" if kept else "without a model"
    while number := os.read(reading, 1):
        if number[0] not in SIGNALS:
            continue
        if came:
            os._exit(128 + number[0])
        came = True
        with suppress(OSError):  # the terminal may be gone
            os.write(2, f"\nstopping after this round; a second signal ends at once, {lost}\n".encode())
