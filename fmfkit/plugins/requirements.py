"""Whether what a plugin's distribution requires is installed."""

from __future__ import annotations

import importlib.metadata

from packaging.requirements import InvalidRequirement, Requirement


def unmet(distribution: str) -> list[str]:
    """Return what a distribution requires (Requires-Dist) and the installed ones do not fit, a line for each."""
    try:
        given = importlib.metadata.requires(distribution) or []
    except importlib.metadata.PackageNotFoundError:
        return []
    return [line for text in given if (line := _misfit(text)) is not None]


def _misfit(text: str) -> str | None:
    """Return how the installed version does not fit a requirement, if it does not."""
    try:
        wanted = Requirement(text)
    except InvalidRequirement as error:
        return f"requires {text!r}, which is no requirement ({str(error).splitlines()[0]})"
    if wanted.marker is not None and not wanted.marker.evaluate({"extra": ""}):
        return None
    try:
        version = importlib.metadata.version(wanted.name)
    except importlib.metadata.PackageNotFoundError:
        return f"requires {wanted.name}{wanted.specifier}, which is not installed"
    if wanted.specifier.contains(version, prereleases=True):
        return None
    return f"requires {wanted.name}{wanted.specifier}, and {version} is installed"


__all__ = ["unmet"]
