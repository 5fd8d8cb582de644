"""Finds the plugins that are installed, without importing them, and limits the time that importing may take."""

from __future__ import annotations

import importlib.metadata
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import attrs

GROUP = "fmfkit"
"""The group of entry points."""

SECONDS = 30.0
"""How long a plugin may take to be imported, unless FMFKIT_PLUGIN_SECONDS says otherwise."""


@attrs.frozen
class Found:
    """An entry point, not yet loaded."""

    name: str
    distribution: str | None
    version: str | None
    entry_point: Any = attrs.field(eq=False, repr=False)


def find(group: str = GROUP) -> list[Found]:
    """Return the plugins that are installed, sorted by name; nothing is imported. Doubled paths count once."""
    found: dict[tuple[str, str], Found] = {}
    for distribution in importlib.metadata.distributions():
        try:
            name, version = distribution.metadata["Name"], distribution.version
            entry_points = list(distribution.entry_points.select(group=group))
        except Exception:  # broken metadata: nothing that could be named as a plugin
            continue
        for entry_point in entry_points:
            found.setdefault((entry_point.name, name), Found(entry_point.name, name, version, entry_point))
    return [found[key] for key in sorted(found)]


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raise a TimeoutError in what takes longer: again and again, should it be caught there.

    Signals interrupt the main thread only: in others there is no limit, nor where the system has no such signal.
    """
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        yield
        return

    def late(number: int, frame: FrameType | None) -> None:
        raise TimeoutError(f"it took longer than {seconds:g} seconds, which FMFKIT_PLUGIN_SECONDS may raise")

    handler = signal.signal(signal.SIGALRM, late)
    left, every = signal.setitimer(signal.ITIMER_REAL, seconds, 0.1)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, left, every)
        signal.signal(signal.SIGALRM, handler)


__all__ = ["GROUP", "SECONDS", "Found", "find", "limited"]
