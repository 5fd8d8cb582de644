"""The compiled core: loaded once, its instruction set chosen, its threads counted."""

from __future__ import annotations

import os
import warnings
from typing import Any

import numpy as np

import fmfkit
from fmfkit._core import ffi, lib
from fmfkit._kernels import machine

MOST_THREADS = 1024
"""More are refused: OpenMP ends the process when it cannot start its threads."""


def _start() -> None:
    if (built := ffi.string(lib.fmf_version()).decode()) != fmfkit.__version__:
        raise ImportError(
            f"fmfkit {fmfkit.__version__} found a compiled core of version {built}: two installations are mixed up; "
            "uninstall fmfkit, then install it again"
        )
    if wanted := os.environ.get("FMFKIT_ISA"):
        try:
            choose_isa(wanted)
        except ValueError as error:
            raise ImportError(f"FMFKIT_ISA={error}") from None


def choose_isa(name: str) -> None:
    """Use an instruction set from now on."""
    if not lib.fmf_choose_isa(name.encode()):
        raise ValueError(f"{name!r}: this build on this processor has {', '.join(isa_available())}")


def isa_available() -> list[str]:
    """Return the instruction sets that this build and this processor have, best last."""
    names: list[str] = []
    while (name := lib.fmf_isa_available(len(names))) != ffi.NULL:
        names.append(ffi.string(name).decode())
    return names


def build_info() -> dict[str, Any]:
    """Return how the core was built and what it uses here."""
    return {
        "version": ffi.string(lib.fmf_version()).decode(),
        "isa": ffi.string(lib.fmf_isa()).decode(),
        "isa_available": isa_available(),
        "openmp": lib.fmf_openmp() or None,
        "compiler": ffi.string(lib.fmf_compiler()).decode(),
        "threads": resolve_threads(None),
    }


def resolve_threads(threads: int | None) -> int:
    """Return the number of threads to use: as asked, else OMP_NUM_THREADS, else the processors this process may use."""
    if threads is not None:
        if isinstance(threads, bool) or not isinstance(threads, int | np.integer) or not 1 <= threads <= MOST_THREADS:
            raise ValueError(f"threads: expected a whole number from 1 to {MOST_THREADS}, or None, got {threads!r}")
        return int(threads)
    asked = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    if asked.isascii() and asked.isdigit() and int(asked) > 0:
        return min(int(asked), MOST_THREADS)
    return min(machine.processors(), MOST_THREADS)


_warned: set[int] = set()  # processes that were told


def team(threads: int) -> int:
    """Return how many threads can run now: one in a process that was forked after OpenMP ran in its parent."""
    safe: int = lib.fmf_safe_threads(threads)
    if safe < threads and lib.fmf_openmp() and os.getpid() not in _warned:
        _warned.add(os.getpid())
        warnings.warn(
            "this process was forked after its parent used several OpenMP threads: fmfkit runs on one thread here; "
            "start processes with the 'spawn' or 'forkserver' method to use more",
            RuntimeWarning,
            stacklevel=4,
        )
    return safe


def kernels(dtype: np.dtype[Any]) -> Any:
    """Return the kernels of a precision."""
    return lib.fmf_kernels_for(dtype.itemsize)


def succeed(status: int) -> None:
    """Turn a status of C into an exception."""
    if status == lib.FMF_OUT_OF_MEMORY:
        raise MemoryError("fmfkit's kernels could not allocate their scratch space")


_start()
