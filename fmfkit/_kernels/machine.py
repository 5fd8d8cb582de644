"""What this process may use of the machine: processors, by affinity mask and quota, and memory, by its limits."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

try:
    import resource
except ImportError:  # not on every system
    resource = None  # type: ignore[assignment]

CGROUPS = Path("/sys/fs/cgroup")
OWN_CGROUP = Path("/proc/self/cgroup")


def processors() -> int:
    """Return the number of processors, at least 1."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quota = cpu_quota()
    return allowed if quota is None else max(1, min(allowed, math.ceil(quota)))


def cpu_quota(root: Path | None = None, own: Path | None = None) -> float | None:
    """Return the smallest CPU quota of the process's control groups, in processors; None where there is none."""
    return _smallest("cpu", _quota, root, own)


def memory(root: Path | None = None, own: Path | None = None) -> int:
    """Return how many bytes of memory the process may use: the machine's, unless a limit is lower."""
    physical = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else None
    limits = [physical, _smallest("memory", _memory_limit, root, own)]
    if resource is not None:
        soft, _ = resource.getrlimit(resource.RLIMIT_AS)
        limits.append(None if soft == resource.RLIM_INFINITY else soft)
    return int(min((limit for limit in limits if limit), default=sys.maxsize))


def _smallest(
    controller: str, read: Callable[[Path], float | None], root: Path | None, own: Path | None
) -> float | None:
    """Return the smallest of a controller's limits in the process's control groups and all above them."""
    folders = _folders(controller, root or CGROUPS, own or OWN_CGROUP)
    return min((limit for folder in folders if (limit := read(folder)) is not None), default=None)


def _folders(controller: str, root: Path, own: Path) -> Iterator[Path]:
    for controllers, path in _groups(controller, own):
        if controllers and controller not in controllers:
            continue
        for base in (root / ",".join(controllers), root / controller) if controllers else (root,):
            yield from _and_parents(base, path)


def _groups(controller: str, own: Path) -> Iterator[tuple[list[str], str]]:
    """Yield the controllers (none for version 2) and the path of each group of the process; the root at least."""
    yield [], "/"
    yield [controller], "/"
    for line in _read(own).splitlines():
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        yield [name for name in controllers.split(",") if name], path


def _and_parents(base: Path, path: str) -> Iterator[Path]:
    """Yield the folder of a group and of all that it stands below."""
    parts = [part for part in path.split("/") if part and part != ".."]
    for depth in range(len(parts) + 1):
        yield base.joinpath(*parts[:depth])


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0


def _quota(folder: Path) -> float | None:
    """Return a group's CPU quota in processors; None for "max", -1 or nothing."""
    quota, _, period = _read(folder / "cpu.max").strip().partition(" ")
    return _ratio(quota, period) or _ratio(_read(folder / "cpu.cfs_quota_us"), _read(folder / "cpu.cfs_period_us"))


def _ratio(quota: str, period: str) -> float | None:
    allowed, each = _number(quota), _number(period)
    return allowed / each if allowed > 0 and each > 0 else None


def _memory_limit(folder: Path) -> float | None:
    """Return a group's limit of memory, in bytes; None for "max" or nothing."""
    return _number(_read(folder / "memory.max")) or _number(_read(folder / "memory.limit_in_bytes")) or None
