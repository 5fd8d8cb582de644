"""What is said while data is read: warnings, which a report repeats."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_said: ContextVar[list[str] | None] = ContextVar("_said", default=None)


def tell(text: str) -> None:
    """Warn of what was made of data."""
    said = _said.get()
    if said is not None:
        said.append(text)
    warnings.warn(text, UserWarning, stacklevel=3)


@contextmanager
def noting() -> Iterator[list[str]]:
    """Note what is told within."""
    said: list[str] = []
    token = _said.set(said)
    try:
        yield said
    finally:
        _said.reset(token)


__all__ = ["noting", "tell"]
