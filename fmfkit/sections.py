"""Sections of files: what they hold is asked for by name and kind, because anybody may have made the file."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from typing import Any

import attrs
import numpy as np
from numpy.typing import DTypeLike, NDArray

Arrays = dict[str, NDArray[Any]]


@attrs.frozen(eq=False)
class Section:
    """A part of a file: what JSON can hold, and arrays.

    The methods return what has the name and is as they say; a ValueError tells of anything else.
    """

    about: dict[str, Any]
    arrays: Arrays

    def get(self, name: str) -> Any:
        """Return whatever has a name."""
        if name not in self.about:
            raise ValueError(f"{name} is missing")
        return self.about[name]

    def whole(self, name: str, least: int = 0, most: int = 2**63 - 1) -> int:
        """Return a whole number within bounds."""
        value = self.get(name)
        if type(value) is not int or not least <= value <= most:
            raise _unexpected(name, f"a whole number from {least} to {most}", value)
        return value

    def real(self, name: str, *, least: float = -math.inf, above: float = -math.inf) -> float:
        """Return a finite number, at least ``least`` and above ``above``."""
        value = self.get(name)
        if not is_real(value) or value < least or value <= above:
            raise _unexpected(name, "a finite number of its range", value)
        return float(value)

    def flag(self, name: str) -> bool:
        """Return True or False."""
        value = self.get(name)
        if type(value) is not bool:
            raise _unexpected(name, "true or false", value)
        return value

    def text(self, name: str) -> str:
        """Return text that UTF-8 can hold."""
        value = self.get(name)
        if not is_text(value):
            raise _unexpected(name, "text", value)
        return str(value)

    def text_or_none(self, name: str) -> str | None:
        """Return text, or None."""
        return None if self.get(name) is None else self.text(name)

    def number(self, name: str) -> float:
        """Return a number, which may be infinite or NaN."""
        value = self.get(name)
        if type(value) is not float and not is_real(value):
            raise _unexpected(name, "a number", value)
        return float(value)

    def items(self, name: str) -> list[Any]:
        """Return a list."""
        value = self.get(name)
        if type(value) is not list:
            raise _unexpected(name, "a list", value)
        return value

    def part(self, name: str) -> Section:
        """Return what is told under a name, with the same arrays."""
        return Section(mapping(name, self.get(name)), self.arrays)

    def parts(self, name: str) -> list[Section]:
        """Return a list of such parts."""
        return [Section(mapping(f"{name}[{n}]", value), self.arrays) for n, value in enumerate(self.items(name))]

    def within(self, prefix: str) -> Arrays:
        """Return the arrays whose names begin with a prefix, by what follows it."""
        return {name.removeprefix(prefix): array for name, array in self.arrays.items() if name.startswith(prefix)}

    def array(self, name: str, dtype: DTypeLike, shape: tuple[int, ...]) -> Any:
        """Return an array of a type and shape; if of real numbers, they are finite."""
        return checked_array(self.arrays, name, dtype, shape)


def checked_array(arrays: Mapping[str, NDArray[Any]], name: str, dtype: DTypeLike, shape: tuple[int, ...]) -> Any:
    """Return an array of a type and shape, -1 being any length; real numbers must be finite."""
    if name not in arrays:
        raise ValueError(f"the array {name} is missing")
    array = arrays[name]
    fits = len(shape) == array.ndim and all(w in (-1, n) for w, n in zip(shape, array.shape, strict=True))
    if array.dtype != dtype or not fits:
        raise ValueError(
            f"{name}: expected {np.dtype(dtype)} of shape {shape}, got {array.dtype} of shape {array.shape}"
        )
    # the extremes are NaN where anything is
    if array.dtype.kind == "f" and array.size and not np.isfinite([array.min(), array.max()]).all():
        raise ValueError(f"{name} holds NaN or infinite values")
    return array


def check_rows(name: str, ptr: NDArray[np.int64], index: NDArray[np.int32], cols: int) -> None:
    """Refuse pointers and indices that are not those of rows of a sparse matrix with so many columns."""
    if ptr[0] != 0 or ptr[-1] != len(index) or (ptr[1:] < ptr[:-1]).any():
        raise ValueError(f"{name}: the rows' ends do not run from 0 to {len(index)}")
    if len(index) and not (index.min() >= 0 and index.max() < cols):
        raise ValueError(f"{name}: columns run from {index.min()} to {index.max()}, expected 0 to {cols - 1}")


def check_ascending(name: str, ptr: NDArray[np.int64], index: NDArray[np.int32], first: NDArray[np.int64]) -> None:
    """Refuse rows whose indices do not ascend; ``first`` are places that need not lie above the one before."""
    free = np.zeros(len(index) + 1, bool)
    free[ptr] = free[first] = True
    if ((index[1:] <= index[:-1]) & ~free[1:-1]).any():
        raise ValueError(f"{name}: the columns of a row do not ascend")


def mapping(name: str, value: Any) -> dict[str, Any]:
    """Return a JSON object with names that UTF-8 can hold."""
    if type(value) is not dict or not all(map(is_text, value)):
        raise _unexpected(name, "a mapping", value)
    return value


def is_text(value: Any) -> bool:
    """Return whether a value is text that UTF-8 can hold."""
    if type(value) is not str:
        return False
    try:
        value.encode()
    except UnicodeEncodeError:  # half of a character, which JSON can name
        return False
    return True


def is_real(value: Any) -> bool:
    """Return whether a value is a number that double precision can hold."""
    return type(value) in (int, float) and abs(value) <= sys.float_info.max


def _unexpected(name: str, expected: str, value: Any) -> ValueError:
    told = repr(value)
    return ValueError(f"{name}: expected {expected}, got {told if len(told) <= 80 else told[:77] + '...'}")


__all__ = ["Arrays", "Section", "check_ascending", "check_rows", "checked_array", "is_real", "is_text", "mapping"]
