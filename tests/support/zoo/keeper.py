"""The list of all broken components."""

from __future__ import annotations

from fmfkit import testing
from fmfkit.testing import running

ZOO: dict[str, tuple[object, set[str]]] = {}


def keep(name, component, *checks):
    """Put a component into the zoo, with the checks that it must fail."""
    ZOO[name] = (component, set(checks))


def animal(*checks, **options):
    """Put a class into the zoo, with the checks that it must fail."""

    def put(cls):
        keep(cls.__name__, cls(**options), *checks)
        return cls

    return put


def of_kind(interface):
    """Return the names of the broken components that have an interface."""
    return sorted(name for name, (component, _) in ZOO.items() if running.interface_of(component) is interface)


def assert_caught(name):
    """Assert that an animal fails the checks it should, and that each failure says all of it."""
    component, expected = ZOO[name]
    results = testing.check(component, only=expected)
    assert set(results.failed) == expected, str(results)
    for result in results.checks:
        assert result.message.startswith(f"{component!r} fails {result.name}\n  law: {result.law}\n  but: ")
        assert result.message.endswith(f"\n  see: python -m fmfkit.testing --explain {result.name}")
