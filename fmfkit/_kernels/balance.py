"""Features shared into sets of nearly equal size."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fmfkit._core import lib
from fmfkit._kernels.buffers import integers
from fmfkit._kernels.library import succeed


def balance(order: NDArray[np.int32], sizes: NDArray[np.int64], sets: int) -> NDArray[np.int32]:
    """Return the set of each feature: in the given order, each joins the set with the least total size so far."""
    set_of = np.empty(len(order), np.int32)
    found = integers(set_of, np.int32, writable=True)
    succeed(lib.fmf_balance(len(order), integers(order, np.int32), integers(sizes, np.int64), sets, found))
    return set_of
