"""Sets of features with nearly equal numbers of non-zeros."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fmfkit._core import lib
from fmfkit._kernels.buffers import int32, int64, pointer
from fmfkit._kernels.library import succeed


def balance(order: NDArray[np.int32], sizes: NDArray[np.int64], sets: int) -> NDArray[np.int32]:
    """Return the set of each feature: in the given order, each joins the set with the least total size so far."""
    set_of = np.empty(len(order), np.int32)
    succeed(lib.fmf_balance(len(order), int32(order), int64(sizes), sets, pointer("int32_t *", set_of, np.int32)))
    return set_of
