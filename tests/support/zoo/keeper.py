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


def assert_caught(name, results):
    """Assert that an animal failed the checks it should and no others, and that each failure says all of it."""
    component, expected = ZOO[name]
    assert set(results.failed) == expected, str(results)
    for result in results.checks:
        if result.status == "failed":
            assert result.message.startswith(f"{component!r} fails {result.name}\n  law: {result.law}\n  but: ")
            assert f"docs/conformance.md#{result.name}" in result.message
