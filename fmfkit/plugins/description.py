"""Components as JSON: the name under which a plugin offers them, and their options."""

from __future__ import annotations

from typing import Any

import attrs

from fmfkit.plugins.registry import BUILTIN, KINDS, Registry, get_registry

Description = dict[str, Any]


def describe(component: Any) -> Description | None:
    """Return the name of a component and its options; None for one that no plugin offers or JSON cannot hold.

    Options may be components themselves, such as a solver's scheduler.
    """
    registry = get_registry()
    for kind, (_, interface) in KINDS.items():
        if interface is None or not isinstance(component, interface):
            continue
        name, options = registry.name_of(kind, type(component)), _options(component)
        if name is not None and options is not None:
            return {"kind": kind, "options": options, **origin(name)}
    return None


def origin(name: str, registry: Registry | None = None) -> Description:
    """Return a full name, and the distribution that it comes with."""
    registry = get_registry() if registry is None else registry
    info = registry.plugins[name.partition(":")[0]]
    return {"name": name, "distribution": info.distribution, "version": info.version}


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
    check_installed(given, f"{where}: its {given['kind']}", registry)
    options = {
        name: create(value, where, registry) if isinstance(value, dict) else value
        for name, value in given["options"].items()
    }
    return registry.create(given["kind"], given["name"], **options)


def check_installed(given: Description, what: str, registry: Registry | None = None) -> None:
    """Refuse what comes with a plugin that is not installed; ``given`` has what ``origin`` returned."""
    registry = get_registry() if registry is None else registry
    plugin = given["name"].partition(":")[0]
    if plugin != BUILTIN and plugin not in registry.plugins:
        raise LookupError(
            f"{what} {given['name']!r} comes with {given['distribution']} {given['version']}, which is not installed: "
            f"python -m pip install {given['distribution']}"
        )


__all__ = ["Description", "check_installed", "create", "describe", "origin"]
