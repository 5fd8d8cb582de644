"""Pointers to arrays, and arrays that begin with a cache line."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fmfkit._core import ffi
from fmfkit.typing import Reals

LINE = 64
"""Bytes of a cache line."""
LANES_BYTES = 32
"""Embedding rows are padded with zeros to a multiple of this many bytes."""


def _buffer(array: NDArray[Any], dtype: Any, *, writable: bool = False) -> Any:
    """Return a pointer to the array, which must be C-ordered and of exactly this dtype."""
    if array.dtype != dtype:
        raise TypeError(f"expected an array of {np.dtype(dtype)}, got {array.dtype}")
    return ffi.from_buffer(array, require_writable=writable)


def pointer(ctype: str, array: NDArray[Any], dtype: Any, *, writable: bool = False) -> Any:
    """Return a pointer of a C type."""
    return ffi.cast(ctype, _buffer(array, dtype, writable=writable))


def int64(array: NDArray[Any]) -> Any:
    """Return a pointer to int64."""
    return pointer("const int64_t *", array, np.int64)


def int32(array: NDArray[Any]) -> Any:
    """Return a pointer to int32."""
    return pointer("const int32_t *", array, np.int32)


def void(array: Reals | None, dtype: np.dtype[Any], *, writable: bool = False) -> Any:
    """Return a pointer to reals, NULL for None."""
    return ffi.NULL if array is None else pointer("void *", array, dtype, writable=writable)


def lines(shape: tuple[int, int], dtype: np.dtype[Any]) -> Reals:
    """Return zeros that begin with a cache line, so that a row of 32 or 64 bytes lies in one."""
    size = shape[0] * shape[1] * dtype.itemsize
    memory = np.zeros(size + LINE, np.uint8)
    begin = -memory.ctypes.data % LINE
    return memory[begin : begin + size].view(dtype).reshape(shape)
