"""The compiled core: its version, instruction sets and threads."""

from __future__ import annotations

import math
import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import fmfkit
from fmfkit._core import ffi, lib

MOST_THREADS = 1024
"""More are refused: OpenMP ends the process when it cannot start its threads."""


def _start() -> None:
    if (built := ffi.string(lib.fmf_version()).decode()) != fmfkit.__version__:
        raise ImportError(
            f"fmfkit {fmfkit.__version__} found a compiled core of version {built}: two installations are mixed up; "
            "uninstall fmfkit, then install it again"
        )
    wanted = os.environ.get("FMFKIT_ISA")
    if wanted and not lib.fmf_choose_isa(wanted.encode()):
        raise ImportError(f"FMFKIT_ISA={wanted!r}: this build on this processor has {', '.join(isa_available())}")


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
    """Return the number of threads to use: as asked, else OMP_NUM_THREADS, else the processors it may use."""
    if threads is not None:
        if isinstance(threads, bool) or not isinstance(threads, int | np.integer) or not 1 <= threads <= MOST_THREADS:
            raise ValueError(f"threads: expected a whole number from 1 to {MOST_THREADS}, or None, got {threads!r}")
        return int(threads)
    asked = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    if asked.isascii() and asked.isdigit() and int(asked) > 0:
        return min(int(asked), MOST_THREADS)
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quota = cpu_quota()
    return processors if quota is None else max(1, min(processors, math.ceil(quota)))


def cpu_quota(root: Path = Path("/sys/fs/cgroup"), own: Path = Path("/proc/self/cgroup")) -> float | None:
    """Return how many processors the container may use at a time, the least of its own and its parents' limits."""
    limits = [_quota_v1(root), *(_quota_v2(folder) for folder in _groups(root, own))]
    return min((limit for limit in limits if limit is not None), default=None)


def _groups(root: Path, own: Path) -> list[Path]:
    """Return the folders of the process's control group (version 2) and of all above it."""
    try:
        lines = own.read_text(encoding="utf-8").splitlines()
    except OSError:
        return [root]
    name = next((line.removeprefix("0::") for line in lines if line.startswith("0::")), "/")
    folder = root / name.strip("/")
    return [folder, *(parent for parent in folder.parents if parent.is_relative_to(root))]


def _quota_v2(folder: Path) -> float | None:
    try:
        quota, period = (folder / "cpu.max").read_text(encoding="ascii").split()[:2]
        return None if quota == "max" else int(quota) / int(period)
    except (OSError, ValueError, ZeroDivisionError):
        return None


def _quota_v1(root: Path) -> float | None:
    try:
        quota = int((root / "cpu" / "cpu.cfs_quota_us").read_text(encoding="ascii"))
        period = int((root / "cpu" / "cpu.cfs_period_us").read_text(encoding="ascii"))
        return quota / period if quota > 0 and period > 0 else None
    except (OSError, ValueError):
        return None


_warned: set[int] = set()  # processes that were told


def team(threads: int) -> int:
    """Return how many of the threads may be used now: 1 in a child forked after its parent used several."""
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
    """Raise the exception that a status code stands for."""
    if status == lib.FMF_OUT_OF_MEMORY:
        raise MemoryError("fmfkit's kernels could not allocate their scratch space")


_start()
