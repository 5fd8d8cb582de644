"""Checks that several modules share: on numbers that callers give, and on what plugins return."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from fmfkit.errors import PluginContractError
from fmfkit.interfaces import Reals


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


__all__ = ["check_batch", "frozen", "whole"]
