"""NumPy arrays as C sees them: pointers that are checked, arrays that begin with a cache line, tables of arrays."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fmfkit._core import ffi

LINE = 64
"""Bytes of a cache line."""
LANES_BYTES = 32
"""Embedding rows are padded with zeros to a multiple of this many bytes."""
ALIGNED = 4096
"""Arrays of at least so many bytes begin with a cache line."""

POINTERS = {
    np.dtype(np.int32): "int32_t *",
    np.dtype(np.int64): "int64_t *",
    np.dtype(np.uint64): "uint64_t *",
}


def buffer(array: NDArray[Any], dtype: Any, *, writable: bool = False) -> Any:
    """Return a pointer to the array, which must be C-ordered and of exactly this dtype."""
    if array.dtype != dtype:
        raise TypeError(f"expected an array of {np.dtype(dtype)}, got {array.dtype}")
    return ffi.from_buffer(array, require_writable=writable)


def integers(array: NDArray[Any], dtype: Any, *, writable: bool = False) -> Any:
    """Return a pointer to whole numbers."""
    return ffi.cast(POINTERS[np.dtype(dtype)], buffer(array, dtype, writable=writable))


def doubles(array: NDArray[np.float64]) -> Any:
    """Return a pointer to double-precision numbers that C writes, whatever the precision of the problem."""
    return ffi.cast("double *", buffer(array, np.float64, writable=True))


def reals(array: NDArray[Any] | None, dtype: np.dtype[Any], *, writable: bool = False) -> Any:
    """Return a pointer to numbers of the problem's precision; NULL for None."""
    return ffi.NULL if array is None else ffi.cast("void *", buffer(array, dtype, writable=writable))


def aligned(shape: tuple[int, ...], dtype: Any) -> NDArray[Any]:
    """Return zeros that begin with a cache line, so that a row of 32 or 64 bytes lies in one."""
    size = math.prod(shape) * np.dtype(dtype).itemsize
    memory = np.zeros(size + LINE, np.uint8)
    begin = -memory.ctypes.data % LINE
    rows: NDArray[Any] = memory[begin : begin + size].view(dtype).reshape(shape)
    return rows


def padded_width(used: int, dtype: np.dtype[Any]) -> int:
    """Return the length of a row of ``used`` numbers and zeros up to whole vectors."""
    lanes = LANES_BYTES // dtype.itemsize
    return -(-used // lanes) * lanes


def padded(rows: NDArray[Any]) -> NDArray[Any]:
    """Return the rows with zeros up to whole vectors."""
    return np.pad(rows, ((0, 0), (0, padded_width(rows.shape[1], rows.dtype) - rows.shape[1])))


@attrs.frozen
class Array:
    """The shape and type of an array to be allocated."""

    shape: tuple[int, ...]
    dtype: Any

    @property
    def nbytes(self) -> int:
        """Its size."""
        return int(math.prod(self.shape)) * int(np.dtype(self.dtype).itemsize)


Table = Mapping[str, Array]
"""Arrays by name: what a workspace allocates, and what it tells it will need."""


def table_bytes(table: Table) -> int:
    """Return the bytes of all arrays of a table."""
    return sum(array.nbytes for array in table.values())


def allocate(table: Table) -> dict[str, NDArray[Any]]:
    """Allocate the arrays of a table, filled with zeros."""
    return {
        name: aligned(array.shape, array.dtype) if array.nbytes >= ALIGNED else np.zeros(array.shape, array.dtype)
        for name, array in table.items()
    }


def pointers(arrays: Mapping[str, NDArray[Any]], dtype: np.dtype[Any], doubles_named: frozenset[str]) -> dict[str, Any]:
    """Return the members of a C struct for arrays that it writes; ``doubles_named`` are double in any precision."""
    made: dict[str, Any] = {}
    for name, array in arrays.items():
        if name in doubles_named:
            made[name] = doubles(array)
        elif array.dtype in POINTERS:
            made[name] = integers(array, array.dtype, writable=True)
        else:
            made[name] = reals(array, dtype, writable=True)
    return made
