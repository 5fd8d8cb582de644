"""How a check says what is wrong."""

from __future__ import annotations

import traceback
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

PACKAGE = str(Path(__file__).parent.parent)
EXPLAIN = "python -m fmfkit.testing --explain"


class ConformanceError(AssertionError):
    """A component breaks a law; the message has the component, the check, the law, and the numbers that show it."""


class Skipped(Exception):  # noqa: N818 - no error
    """A check does not apply to a component; the message says why."""


class NotChecked(Skipped):
    """A check applies to a component, but cannot be run here; the message says why. It is never passed over."""


class NotCheckedWarning(UserWarning):
    """Something about a component was not checked that could have been."""


def fail(what: str, **numbers: Any) -> NoReturn:
    """Fail a check with what was found, and the numbers that show it."""
    shown = ", ".join(f"{name} = {_shown(value)}" for name, value in numbers.items())
    raise ConformanceError(f"{what}: {shown}" if shown else what)


def _shown(value: Any) -> str:
    return f"{float(value):.10g}" if isinstance(value, float | np.floating) else repr(value)


def require(holds: NDArray[np.bool_], what: str, **columns: NDArray[Any]) -> None:
    """Fail unless a law holds everywhere; of the places where it does not, show the one with the simplest numbers."""
    holds = np.asarray(holds)
    if holds.all():
        return
    flat = {name: np.broadcast_to(values, holds.shape)[~holds].ravel() for name, values in columns.items()}
    inputs = [values for name, values in flat.items() if name in INPUTS]
    size = sum((_size(values) for values in inputs), np.zeros(int((~holds).sum())))
    place = int(np.argmin(size))
    fail(what, **{name: values[place] for name, values in flat.items()})


INPUTS = ("score", "y", "t", "x", "w", "strength", "curvature_of_the_data")
"""What a component was given, as opposed to what it answered: the simplest of these is shown."""


def _size(values: NDArray[Any]) -> NDArray[np.float64]:
    """Return how far numbers are from simple: small whole ones are the simplest."""
    numbers = values.astype(np.float64)
    return np.asarray(np.abs(numbers) + (numbers != np.round(numbers)), np.float64)


def conformance_error(error: BaseException, component: Any, check: Any) -> ConformanceError:
    """Return the failure of a check with all that a reader needs."""
    what = str(error) if isinstance(error, ConformanceError) else _raised(error)
    return ConformanceError(
        f"{component!r} fails {check.__name__}\n  law: {law(check)}\n  but: {what}\n  see: {EXPLAIN} {check.__name__}"
    )


def _raised(error: BaseException) -> str:
    """Return what was raised, and where: the innermost line that is not fmfkit's, else the innermost."""
    frames = [*traceback.extract_tb(error.__traceback__)]
    theirs = [frame for frame in frames if not frame.filename.startswith(PACKAGE)] or frames
    where = f" ({theirs[-1].filename}:{theirs[-1].lineno}, in {theirs[-1].name})" if theirs else ""
    return f"it raised {type(error).__name__}: {error}{where}"


def law(check: Any) -> str:
    """Return the law that a check checks, in one sentence."""
    return " ".join((check.__doc__ or "").split())


__all__ = [
    "ConformanceError",
    "NotChecked",
    "NotCheckedWarning",
    "Skipped",
    "conformance_error",
    "fail",
    "law",
    "require",
]
