"""Numbers for keys."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fmfkit._core import lib
from fmfkit._kernels.buffers import pointer
from fmfkit._kernels.library import succeed


def number_keys(keys: NDArray[np.uint64]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return the number of each key, different ones being numbered as they come, and where each came first."""
    keys = np.ascontiguousarray(keys, np.uint64)
    number_of, first = np.empty(len(keys), np.int32), np.empty(len(keys), np.int64)
    count = lib.fmf_number_keys(
        len(keys),
        pointer("uint64_t *", keys, np.uint64),
        pointer("int32_t *", number_of, np.int32),
        pointer("int64_t *", first, np.int64),
    )
    succeed(lib.FMF_OUT_OF_MEMORY if count < 0 else lib.FMF_OK)
    return number_of, first[:count].copy()
