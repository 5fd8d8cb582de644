"""Checks of arguments: of numbers that callers give, and of what plugins return."""

from __future__ import annotations

import difflib
import operator
from collections.abc import Iterable, Mapping
from typing import Any

import attrs
import numpy as np

from fmfkit.errors import PluginContractError
from fmfkit.typing import Reals


def whole(name: str, value: Any, *, least: int, most: int | None = None) -> int:
    """Return a whole number given by the caller, or say what is wrong with it."""
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name}: expected a whole number, got {value!r}") from None
    if number < least:
        raise ValueError(f"{name}: expected at least {least}, got {number}")
    if most is not None and number > most:
        raise ValueError(f"{name}: expected at most {most}, got {number}")
    return number


def not_negative(instance: Any, attribute: attrs.Attribute[Any], value: float) -> None:
    """Refuse an attribute that is not a finite number of at least 0."""
    if not 0 <= value < np.inf:
        raise ValueError(f"{attribute.name}: expected a finite number of at least 0, got {value!r}")


def floats(given: Mapping[str, float]) -> dict[str, float]:
    """Return numbers by name."""
    return {name: float(number) for name, number in given.items()}


def suggestion(name: str, known: Iterable[str]) -> str:
    """Return what a misspelt name may have meant, as the end of a message: "; did you mean 'square'?"."""
    near = difflib.get_close_matches(name, list(known), 1, 0.5)
    return f"; did you mean {near[0]!r}?" if near else ""


def frozen(array: Reals) -> Reals:
    """Return a view that a plugin cannot write to."""
    view = array.view()
    view.flags.writeable = False
    return view


def check_batch(component: Any, method: str, result: Any, shape: tuple[int, ...], *, scalar: bool = False) -> Any:
    """Return what a plugin's method gave for a batch, or say how it breaks its interface."""
    try:
        values = np.asarray(result)
    except ValueError:
        values = np.array(None)
    got, wrong = values.shape, None
    if got != shape and not (scalar and got == ()):
        wrong = f"shape {got} for a batch of shape {shape}; it must return one number per element"
    elif values.dtype.kind not in "fiu":
        wrong = f"{values.dtype}, expected real numbers"
    elif method != "penalty" and not np.isfinite(values).all():  # a penalty may forbid values
        wrong = "NaN or infinite values"
    elif method == "curvature" and (values < 0).any():
        wrong = f"{values.min()}, expected no negative curvature"
    if wrong:
        raise PluginContractError(
            f"{type(component).__module__}.{type(component).__qualname__}.{method} returned {wrong}"
        )
    return result


__all__ = ["check_batch", "floats", "frozen", "not_negative", "suggestion", "whole"]
