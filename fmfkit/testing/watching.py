"""A problem that cannot be changed, or is looked at while a round runs: for solvers that change it and put it back."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fmfkit.interfaces import Loss
from fmfkit.problem import Problem
from fmfkit.typing import Reals


def _owners(problem: Problem) -> Iterator[tuple[str, Any]]:
    """Yield what holds the arrays of a problem, by name."""
    for side in problem.sides:
        yield f"{side.name}", side
        yield f"{side.name}.pairs", side.pairs
        yield f"{side.name}.features", side.features
        for part, name in ((side.factors, "factors"), (side.bias, "bias")):
            if part is not None:
                yield f"{side.name}.{name}", part


def arrays(problem: Problem) -> Iterator[tuple[str, Any, str, NDArray[Any]]]:
    """Yield all arrays of a problem: their name, what holds them, the name there, and the array."""
    for owner, holder in _owners(problem):
        for field in attrs.fields(type(holder)):
            value = getattr(holder, field.name)
            if isinstance(value, np.ndarray):
                yield f"{owner}.{field.name}", holder, field.name, value


def locked(problem: Problem) -> Problem:
    """Return the problem with arrays that nobody can write to: their memory is that of bytes."""
    for _, holder, name, array in list(arrays(problem)):
        fixed = np.frombuffer(array.tobytes(), array.dtype).reshape(array.shape)
        object.__setattr__(holder, name, fixed)
    return problem


def fingerprint(problem: Problem) -> dict[str, Any]:
    """Return what tells whether a problem is as it was: which arrays it holds, and what stands in them."""
    found: dict[str, Any] = {
        name: (id(array), array.shape, zlib.crc32(np.ascontiguousarray(array).tobytes()))
        for name, _, _, array in arrays(problem)
    }
    held = {name: id(getattr(problem, name)) for name in ("observations", "objective", "query", "target")}
    return found | held | {"offset": problem.offset}


def changed(before: dict[str, Any], problem: Problem) -> list[str]:
    """Return the names of what is not as it was."""
    now = fingerprint(problem)
    return [name for name in before if now.get(name) != before[name]]


@attrs.frozen(eq=False)
class WatchingLoss(Loss):
    """(s - y)² in NumPy; whenever it is asked for something it looks around first."""

    look: Callable[[], None]

    def value(self, score: Reals, y: Reals) -> Reals:
        """(s - y)²."""
        self.look()
        return np.asarray(np.square(score - y))

    def gradient(self, score: Reals, y: Reals) -> Reals:
        """2 (s - y)."""
        self.look()
        return np.asarray(2 * (score - y))

    def curvature(self, score: Reals, y: Reals) -> float:
        """2."""
        self.look()
        return 2.0


__all__ = ["WatchingLoss", "arrays", "changed", "fingerprint", "locked"]
