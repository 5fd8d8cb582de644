"""What a fit is, in words and digests: two fits that are spelled alike have the same result."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

import attrs
import numpy as np

import fmfkit

if TYPE_CHECKING:
    from fmfkit.training.loop import RunningFit

LONGEST = 200
"""What is longer, when spelled, is replaced by its digest."""
DIGEST = "sha256 "


def spelled(value: Any) -> str:
    """Return what a value is: the same in every process; a digest where that would be long.

    Args:
        value: anything; arrays and attrs classes by what they hold.
    """
    text = _text(value)
    return text if len(text) <= LONGEST else DIGEST + hashlib.sha256(text.encode()).hexdigest()[:32]


def _text(value: Any) -> str:
    if isinstance(value, np.ndarray):
        content = cast(Any, np.ascontiguousarray(value).reshape(-1).view(np.uint8))
        return f"{value.dtype} {value.shape} {DIGEST}{hashlib.sha256(content).hexdigest()[:32]}"
    if attrs.has(type(value)):
        held = ((field.name, getattr(value, field.name)) for field in attrs.fields(type(value)) if field.eq)
        return f"{type(value).__name__}({', '.join(f'{name}={_text(one)}' for name, one in held)})"
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{key!r}: {_text(one)}' for key, one in value.items())}}}"
    if isinstance(value, tuple | list):
        return f"[{', '.join(map(_text, value))}]"
    return re.sub(r" at 0x[0-9a-f]+", "", repr(value))


def identity_of(fit: RunningFit) -> dict[str, str]:
    """Return what a fit is, its data apart, by name."""
    state = fit.state
    begin = state.P, state.Q, state.round, state.strengths, state.loss, state.mean, state.turns, state.arrays
    objective = fit.problem.objective
    parts = {field.name: spelled(getattr(objective, field.name)) for field in attrs.fields(type(objective))}
    return parts | {
        "dtype": str(fit.problem.dtype),
        "solver": spelled(fit.solver),
        "rounds": str(fit.rounds),
        "seed": str(state.seed),
        "init": spelled(begin),
        "fmfkit": fmfkit.__version__,
    }


def differences(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """Return what differs between two identities, in words.

    Args:
        before: what was, by name, as ``spelled``.
        now: what is.
    """
    changed = [name for name in {**before, **now} if before.get(name) != now.get(name)]
    return [_difference(name, before.get(name, "not given"), now.get(name, "not given")) for name in changed]


def _difference(name: str, before: str, now: str) -> str:
    return f"{name} differs" if DIGEST in before + now else f"{name} was {before} and is {now}"


__all__ = ["differences", "identity_of", "spelled"]
