"""Data that has positives only: pairs that happened, whose values say nothing more."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray


def all_positive(y: NDArray[Any]) -> bool:
    """Return whether all values are one number above 0."""
    return len(y) > 0 and bool(y[0] > 0) and bool((y == y[0]).all())


__all__ = ["all_positive"]
