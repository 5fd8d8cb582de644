"""Finds the plugins that are installed, without importing them."""

from __future__ import annotations

import importlib.metadata
from typing import Any

import attrs

GROUP = "fmfkit"
"""The group of entry points."""


@attrs.frozen
class Found:
    """An entry point, not yet loaded."""

    name: str
    distribution: str | None
    version: str | None
    entry_point: Any = attrs.field(eq=False, repr=False)


def find(group: str = GROUP) -> list[Found]:
    """Return the plugins that are installed, sorted by name; nothing is imported. Doubled paths count once."""
    found: dict[tuple[str, str], Found] = {}
    for distribution in importlib.metadata.distributions():
        try:
            name, version = distribution.metadata["Name"], distribution.version
            entry_points = list(distribution.entry_points.select(group=group))
        except Exception:  # broken metadata: nothing that could be named as a plugin
            continue
        for entry_point in entry_points:
            found.setdefault((entry_point.name, name), Found(entry_point.name, name, version, entry_point))
    return [found[key] for key in sorted(found)]


__all__ = ["GROUP", "Found", "find"]
