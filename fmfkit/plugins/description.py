"""Components as JSON: the name under which a plugin offers them, and their options."""

from __future__ import annotations

from typing import Any

import attrs

from fmfkit.plugins.registry import BUILTIN, KINDS, Kind, Registry, get_registry

Description = dict[str, Any]


def describe(component: Any) -> Description | None:
    """Return the name of a component and its options; None for one that no plugin offers or JSON cannot hold.

    Options may be components themselves, such as a solver's scheduler.
    """
    registry, factory = get_registry(), f"{type(component).__module__}:{type(component).__qualname__}"
    for kind, (_, interface) in KINDS.items():
        if interface is None or not isinstance(component, interface):
            continue
        for name in registry.names(kind):
            if _path(registry.spec(kind, name).load()) == factory:
                info = registry.plugins[name.partition(":")[0]]
                options = _options(component)
                return (
                    None
                    if options is None
                    else {
                        "kind": kind,
                        "name": name,
                        "options": options,
                        "distribution": info.distribution,
                        "version": info.version,
                    }
                )
    return None


def _path(factory: Any) -> str:
    return f"{getattr(factory, '__module__', '')}:{getattr(factory, '__qualname__', '')}"


def _options(component: Any) -> dict[str, Any] | None:
    if not attrs.has(type(component)):
        return {}
    options = {}
    for field in attrs.fields(type(component)):
        if not field.init:
            continue
        value = getattr(component, field.name)
        if any(isinstance(value, interface) for _, interface in KINDS.values() if interface is not None):
            value = describe(value)
            if value is None:
                return None
        elif isinstance(value, tuple) and all(isinstance(item, bool | int | float | str) for item in value):
            value = list(value)
        elif not (value is None or isinstance(value, bool | int | float | str)):
            return None
        options[field.alias or field.name] = value
    lists = any(isinstance(value, list) for value in options.values())
    return None if lists and type(component)(**options) != component else options


def create(given: Description, where: str, registry: Registry | None = None) -> Any:
    """Make the component that ``describe`` described; ``where`` is what errors call its source."""
    registry = get_registry() if registry is None else registry
    plugin, kind = given["name"].partition(":")[0], given["kind"]
    if plugin != BUILTIN and plugin not in registry.plugins:
        raise LookupError(
            f"{where}: its {kind} {given['name']!r} comes with {given['distribution']} {given['version']}, which is "
            f"not installed: python -m pip install {given['distribution']}"
        )
    options = {
        name: create(value, where, registry) if isinstance(value, dict) else value
        for name, value in given["options"].items()
    }
    return registry.create(kind, given["name"], **options)


__all__ = ["Description", "Kind", "create", "describe"]
