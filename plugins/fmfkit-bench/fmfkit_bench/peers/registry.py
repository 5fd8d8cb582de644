"""Finds packages with adapters and loads each on its own, so that a broken one is reported and left out.

It has the shape of ``fmfkit.registry``, whose hooks and kinds are fixed, and honours the same environment variables:
``FMFKIT_BLOCK_PLUGINS`` names packages to leave out, ``FMFKIT_DISABLE_PLUGIN_AUTOLOAD=1`` leaves only our own.
"""

from __future__ import annotations

import difflib
import importlib.metadata
import os
from collections.abc import Iterator, Mapping
from typing import Any

import attrs
import pluggy
from fmfkit_bench.peers import adapters
from fmfkit_bench.peers.hooks import HOOKS, PROJECT, Hooks, hookimpl
from fmfkit_bench.peers.interface import System

OURS = "fmfkit-bench"


@attrs.frozen
class Package:
    """An entry point, not yet loaded."""

    name: str
    distribution: str
    version: str
    entry_point: Any = attrs.field(eq=False, repr=False)

    def __str__(self) -> str:
        """Return what messages call it."""
        return f"{self.name} ({self.distribution} {self.version})"


@attrs.frozen
class Failure:
    """A package that could not be loaded, and why."""

    package: Package
    error: BaseException = attrs.field(eq=False)

    @property
    def reason(self) -> str:
        """The error in one line."""
        return f"{type(self.error).__name__}: {self.error}"

    def __str__(self) -> str:
        """Return the message for people."""
        return f"the adapter package {self.package} could not be loaded and is left out: {self.reason}"


def find() -> list[Package]:
    """Return the packages that are installed, sorted by name; nothing is imported. Doubled paths count once."""
    found: dict[tuple[str, str], Package] = {}
    for distribution in importlib.metadata.distributions():
        try:
            name, version = distribution.metadata["Name"], distribution.version
            points = list(distribution.entry_points.select(group=PROJECT))
        except Exception:  # broken metadata: there is nothing to name
            continue
        for point in points:
            found.setdefault((point.name, name), Package(point.name, name, version, point))
    return [found[key] for key in sorted(found)]


class Registry:
    """The systems that may take part, and the packages that failed."""

    def __init__(self, found: list[Package] | None = None, environ: Mapping[str, str] = os.environ) -> None:
        """Load our own adapters and those of the packages found (by default, those installed)."""
        self.systems: dict[str, System] = {}
        self.failures: list[Failure] = []
        self._from: dict[str, str] = {}
        self._manager = pluggy.PluginManager(PROJECT)
        self._manager.add_hookspecs(Hooks)
        self._register(OURS, _Ours())
        blocked = {name.strip() for name in environ.get("FMFKIT_BLOCK_PLUGINS", "").split(",")}
        if environ.get("FMFKIT_DISABLE_PLUGIN_AUTOLOAD", "") in ("", "0"):
            for package in find() if found is None else found:
                if package.name not in blocked:
                    self._load(package)
        self.systems = {"fmfkit": self.systems.pop("fmfkit")} | dict(
            sorted(self.systems.items(), key=lambda item: item[0].lower())
        )

    def _load(self, package: Package) -> None:
        key = f"{package.name}@{package.distribution}"
        try:
            self._register(key, package.entry_point.load())
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # a package may even call sys.exit
            if self._manager.has_plugin(key):
                self._manager.unregister(name=key)
            self.failures.append(Failure(package, error))

    def _register(self, key: str, loaded: Any) -> None:
        self._manager.register(loaded, name=key)
        self._check_hooks(loaded)
        offered = list(self._offered(loaded))
        if not offered:
            raise ValueError(f"it offers nothing: {HOOKS[0]} is not implemented, or returns nothing")
        self.systems.update({system.name: system for system in offered})
        self._from.update(dict.fromkeys((system.name for system in offered), key))

    def _check_hooks(self, loaded: Any) -> None:
        """Refuse hooks that do not exist, marked or merely named like ours."""
        self._manager.check_pending()
        for name in dir(loaded):
            if name.startswith("fmfkit_bench_") and name not in HOOKS and callable(getattr(loaded, name, None)):
                near = difflib.get_close_matches(name, HOOKS, 1)
                hint = f"; did you mean {near[0]!r}?" if near else f"; hooks are {list(HOOKS)}"
                raise ValueError(f"unknown hook {name!r}{hint}")

    def _offered(self, loaded: Any) -> Iterator[System]:
        others = [plugin for plugin in self._manager.get_plugins() if plugin is not loaded]
        seen = set()
        for answer in self._manager.subset_hook_caller(HOOKS[0], others)():
            if isinstance(answer, str | bytes | System) or not hasattr(answer, "__iter__"):
                raise TypeError(f"{HOOKS[0]}() returned {answer!r}, expected a list of System")
            for system in answer:
                if not isinstance(system, System):
                    raise TypeError(f"{HOOKS[0]}() gave {system!r}, expected a System")
                if system.name in seen or system.name in self.systems:
                    taken = self._from.get(system.name, "the same package")
                    raise ValueError(f"the system {system.name!r} is already offered by {taken}")
                seen.add(system.name)
                yield system


class _Ours:
    @hookimpl
    def fmfkit_bench_peers(self) -> list[System]:
        """Return the systems that fmfkit-bench has adapters for."""
        return list(adapters.SYSTEMS)


__all__ = ["Failure", "Package", "Registry", "find"]
