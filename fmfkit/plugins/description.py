"""Components as JSON: the name under which a plugin offers them, and their options."""

from __future__ import annotations

from typing import Any

import attrs

from fmfkit.errors import ModelFileError
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


def create(given: Any, where: str, registry: Registry | None = None, *, kind: str | None = None) -> Any:
    """Make the component that ``describe`` described, which must be of a kind, if one is named.

    ``where`` is what errors call its source: a file that anybody may have made. What is no component is never made.
    """
    registry = get_registry() if registry is None else registry
    described = _checked(given, where, kind)
    check_installed(described, f"{where}: its {described['kind']}", registry)
    options = {
        name: create(value, where, registry) if isinstance(value, dict) else value
        for name, value in described["options"].items()
    }
    return registry.create(described["kind"], described["name"], **options)


def _checked(given: Any, where: str, kind: str | None) -> Description:
    """Return a description that has all of its parts."""
    allowed = [name for name, (_, interface) in KINDS.items() if interface is not None and kind in (None, name)]
    if not isinstance(given, dict) or given.get("kind") not in allowed:
        raise ModelFileError(f"{where}: expected the description of a {' or '.join(allowed)}, got {given!r}")
    if not isinstance(given.get("name"), str) or not isinstance(given.get("options"), dict):
        raise ModelFileError(f"{where}: its {given['kind']} has no name, or no options")
    return given


def check_installed(given: Description, what: str, registry: Registry | None = None) -> None:
    """Refuse what comes with a plugin that is not installed; ``given`` has what ``origin`` returned."""
    registry = get_registry() if registry is None else registry
    plugin = given["name"].partition(":")[0]
    if plugin != BUILTIN and plugin not in registry.plugins:
        distribution = given.get("distribution")
        raise ModelFileError(
            f"{what} {given['name']!r} comes with {distribution} {given.get('version')}, which is not installed: "
            f"python -m pip install {distribution}"
        )


__all__ = ["Description", "check_installed", "create", "describe", "origin"]
