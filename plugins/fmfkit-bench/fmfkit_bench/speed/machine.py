"""What the machine can do: memory bandwidth and arithmetic, to compare measurements with; and memory in use."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import attrs
import numpy as np
from threadpoolctl import threadpool_limits

from fmfkit.kernels import gather

GATHERED = 16_384
"""Bytes of the array that is gathered from: so few that they stay in the nearest cache."""


@attrs.frozen
class Rates:
    """What the machine can do in a second."""

    bytes: float
    """Streamed."""
    lines: float
    """Of 64 bytes, gathered from all over an array in the nearest cache."""
    flops: float


def rates(threads: int) -> Rates:
    """Measure them."""
    return Rates(bandwidth(threads), gathering(threads), arithmetic(threads))


@contextmanager
def kept_busy(processes: int) -> Iterator[None]:
    """Run so many other processes that do nothing but keep a processor busy."""
    running = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(processes)]
    try:
        yield
    finally:
        for process in running:
            process.kill()
            process.wait()


def _best(task: Callable[[], object], threads: int, repeats: int = 5) -> float:
    """Return the least seconds in which ``threads`` threads each do the task at once."""
    times = []
    with ThreadPoolExecutor(threads) as pool:
        for _ in range(repeats):
            began = time.perf_counter()
            list(pool.map(lambda _: task(), range(threads)))
            times.append(time.perf_counter() - began)
    return min(times)


def bandwidth(threads: int) -> float:
    """Return bytes per second of a = b + c over arrays far larger than the caches."""
    n = 20_000_000

    def add() -> None:
        np.add(b, c, out=np.frombuffer(a, np.float32))

    a, b, c = bytearray(4 * n), np.ones(n, np.float32), np.ones(n, np.float32)
    return threads * 12 * n / _best(add, threads)


def arithmetic(threads: int) -> float:
    """Return floating-point operations per second of multiplying small float32 matrices, which stay in the caches."""
    a = np.ones((128, 128), np.float32)

    def multiply() -> None:
        out = np.empty_like(a)
        for _ in range(200):
            np.dot(a, a, out=out)

    with threadpool_limits(1):  # of the linear algebra: each thread multiplies alone
        return threads * 200 * 2 * 128**3 / _best(multiply, threads)


def gathering(threads: int) -> float:
    """Return lines of 64 bytes per second, gathered in any order."""
    lines = np.ones((GATHERED // 64, 16), np.float32)
    index = np.random.default_rng(0).integers(len(lines), size=10_000_000, dtype=np.int32)
    return threads * len(index) / _best(lambda: gather(index, lines), threads)


def reset_peak() -> bool:
    """Start a new measurement of the process's peak memory; return whether the system can."""
    try:
        with open("/proc/self/clear_refs", "w", encoding="ascii") as file:
            file.write("5")
    except OSError:
        return False
    return True


def peak_bytes() -> int | None:
    """Return the process's peak resident memory since ``reset_peak``; None where the system does not show it."""
    return _status("VmHWM")


def resident_bytes() -> int | None:
    """Return the process's resident memory; None where the system does not show it."""
    return _status("VmRSS")


def _status(name: str) -> int | None:
    try:
        with open("/proc/self/status", encoding="ascii") as file:
            return next(int(line.split()[1]) * 1024 for line in file if line.startswith(name))
    except (OSError, StopIteration):
        return None


__all__ = ["Rates", "peak_bytes", "rates", "reset_peak", "resident_bytes"]
