"""How many processors this process may use: its affinity mask, and the CPU quota of its container."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from pathlib import Path

CGROUPS = Path("/sys/fs/cgroup")
OWN_CGROUP = Path("/proc/self/cgroup")


def usable() -> int:
    """Return the number of processors, at least 1."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quota = cpu_quota()
    return allowed if quota is None else max(1, min(allowed, math.ceil(quota)))


def cpu_quota(root: Path | None = None, own: Path | None = None) -> float | None:
    """Return the smallest CPU quota of the process's control groups, in processors; None where there is none."""
    found = [quota for quota in _quotas(root or CGROUPS, own or OWN_CGROUP) if quota is not None]
    return min(found, default=None)


def _quotas(root: Path, own: Path) -> Iterator[float | None]:
    for controllers, path in _groups(own):
        unified = not controllers
        if not unified and "cpu" not in controllers:
            continue
        for base in (root,) if unified else (root / ",".join(controllers), root / "cpu"):
            for folder in _and_parents(base, path):
                yield _version_2(folder / "cpu.max") if unified else _version_1(folder)


def _groups(own: Path) -> Iterator[tuple[list[str], str]]:
    """Yield the controllers (none for version 2) and the path of each group of the process; the root at least."""
    yield [], "/"
    yield ["cpu"], "/"
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


def _version_2(file: Path) -> float | None:
    quota, _, period = _read(file).strip().partition(" ")
    return _ratio(quota, period)


def _version_1(folder: Path) -> float | None:
    return _ratio(_read(folder / "cpu.cfs_quota_us"), _read(folder / "cpu.cfs_period_us"))


def _ratio(quota: str, period: str) -> float | None:
    """Return a quota in processors; None for "max", -1 or nothing."""
    allowed, each = _number(quota), _number(period)
    return allowed / each if allowed > 0 and each > 0 else None
