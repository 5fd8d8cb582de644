"""The list of all broken components."""

from __future__ import annotations

ZOO: dict[str, tuple[object, set[str]]] = {}


def animal(*checks, **options):
    """Put a class into the zoo, with the checks that it must fail."""

    def put(cls):
        ZOO[cls.__name__] = (cls(**options), set(checks))
        return cls

    return put


def of_kind(interface):
    """Return the names of the broken components that have an interface."""
    return sorted(name for name, (component, _) in ZOO.items() if isinstance(component, interface))
