"""From keys to row numbers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fmfkit._core import lib
from fmfkit._kernels.buffers import integers
from fmfkit._kernels.library import succeed


def number_keys(keys: NDArray[np.uint64]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return the number of each key, different ones being numbered as they come, and where each came first."""
    keys = np.ascontiguousarray(keys, np.uint64)
    number_of, first = np.empty(len(keys), np.int32), np.empty(len(keys), np.int64)
    count = lib.fmf_number_keys(
        len(keys),
        integers(keys, np.uint64),
        integers(number_of, np.int32, writable=True),
        integers(first, np.int64, writable=True),
    )
    succeed(lib.FMF_OUT_OF_MEMORY if count < 0 else lib.FMF_OK)
    return number_of, first[:count].copy()
