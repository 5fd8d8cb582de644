"""The options of the conformance suite for pytest; loaded with every pytest run, so it imports nothing until used."""

from __future__ import annotations

from typing import Any

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("fmfkit", "conformance of fmfkit plugins")
    group.addoption(
        "--fmfkit-plugin",
        action="append",
        default=[],
        metavar="NAME",
        help="check the components of this installed plugin; may be given again",
    )
    group.addoption(
        "--fmfkit-expect-failure",
        action="append",
        default=[],
        metavar="CHECK=REASON",
        help="a check that is known to fail, and why; may be given again",
    )


def pytest_generate_tests(metafunc: Any) -> None:
    """Make a test of each check of each component of the plugins that were named."""
    if metafunc.module.__name__ != "fmfkit.testing.test_conformance":
        return
    from fmfkit.testing.running import of_plugin, parameters

    names = metafunc.config.getoption("--fmfkit-plugin")
    if not names:
        raise pytest.UsageError("the conformance suite needs to know what to check: --fmfkit-plugin NAME")
    expected = dict(_expected(given) for given in metafunc.config.getoption("--fmfkit-expect-failure"))
    try:
        components = [component for name in names for component in of_plugin(name)]
        made = list(parameters(components, expected))
    except (LookupError, ValueError, RuntimeError) as error:
        raise pytest.UsageError(str(error)) from None
    metafunc.parametrize(("component", "check"), made)


def _expected(given: str) -> tuple[str, str]:
    name, _, reason = given.partition("=")
    if not reason:
        raise pytest.UsageError(f"--fmfkit-expect-failure: expected CHECK=REASON, got {given!r}")
    return name, reason
