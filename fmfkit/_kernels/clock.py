"""How long the phases of kernels take, and what the machine can do at most."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import attrs
import numpy as np
from numpy.typing import NDArray

from fmfkit._core import ffi, lib
from fmfkit._kernels.buffers import LINE, integers


@attrs.frozen
class PhaseTime:
    """The phases of one kind that kernels went through."""

    name: str
    """That of the function in ``csrc`` which does the work."""
    seconds: float
    count: int


@contextmanager
def watched_phases() -> Iterator[list[PhaseTime]]:
    """Note how long the phases of kernels take that this thread calls; the list is filled at the end."""
    times: list[PhaseTime] = []
    lib.fmf_watch(1)
    try:
        yield times
    finally:
        one = ffi.new("fmf_phase_time *")
        while lib.fmf_watched(len(times), one):
            times.append(PhaseTime(ffi.string(one.name).decode(), one.seconds, one.count))
        lib.fmf_watch(0)


def gather(index: NDArray[np.int32], lines: NDArray[np.float32]) -> float:
    """Return the sum of rows wherever they lie: nothing but gathering, to compare kernels with.

    Args:
        index: which rows, in any order.
        lines: rows of 16 numbers, a cache line each.
    """
    if (
        lines.ndim != 2
        or lines.shape[1] != LINE // 4
        or not len(index)
        or not 0 <= index.min() <= index.max() < len(lines)
    ):
        raise ValueError("expected indices of rows of 16 numbers")
    return float(lib.fmf_kernels_for(4).gather(len(index), integers(index, np.int32), ffi.from_buffer(lines)))
