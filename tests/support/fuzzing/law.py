"""The law that every door keeps."""

from __future__ import annotations

import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attr
import click
import numpy as np
import polars as pl

import fmfkit
from fmfkit import errors
from fmfkit.plugins.discovery import limited

SECONDS = 60.0
"""What takes longer hangs."""
OURS = (str(Path(fmfkit.__file__).parent), str(Path(attr.__file__).parent))
"""Where errors are raised on purpose: here, and by validators."""
OWN = tuple(getattr(errors, name) for name in errors.__all__)


class LawError(AssertionError):
    """The law was broken."""


def keep_the_law(door: Callable[[Any], Any], choices: Any) -> bool:
    """Go through a door; return whether there was a result, not an error. Raise LawError for what must not be."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            with limited(SECONDS):
                door(choices)
        except LawError:
            raise
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt) or not allowed(error):
                told = "".join(traceback.format_exception(error))
                raise LawError(f"{door.__name__}: not an error of fmfkit's: {told}") from error
            return False
    return True


def allowed(error: BaseException) -> bool:
    """Return whether an error is one that fmfkit raises on purpose, and says something."""
    if isinstance(error, (*OWN, click.ClickException)):
        return bool(str(error))
    frames = traceback.extract_tb(error.__traceback__)
    ours = bool(frames) and frames[-1].filename.startswith(OURS)
    return isinstance(error, ValueError | TypeError | FileNotFoundError) and ours and bool(str(error))


def finite(what: str, numbers: Any) -> None:
    """Refuse results that are no numbers."""
    values = np.asarray(numbers, float)
    if np.isnan(values).any() or np.isposinf(values).any():
        raise LawError(f"{what}: {values!r:.500}")


def finite_scores(frame: pl.DataFrame) -> None:
    """Refuse an answer whose scores are no numbers."""
    finite("scores", frame["score"].to_numpy())


__all__ = ["LawError", "allowed", "finite", "finite_scores", "keep_the_law"]
