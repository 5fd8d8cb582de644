"""Runs checks on components: for a table, for pytest, for a plugin by its name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import attrs

from fmfkit.errors import PluginLoadError, UnknownNameError
from fmfkit.interfaces import Loss, PartitionScheduler, Regularizer, Solver
from fmfkit.plugins.registry import Kind, get_registry
from fmfkit.testing import losses, regularizers, schedulers, solvers
from fmfkit.testing.verdict import ConformanceError, Skipped, conformance_error, law

Check = Callable[[Any], None]

CHECKS: dict[type, tuple[Check, ...]] = {
    Loss: losses.CHECKS,
    Regularizer: regularizers.CHECKS,
    PartitionScheduler: schedulers.CHECKS,
    Solver: solvers.CHECKS,
}


@attrs.frozen
class CheckResult:
    """One check on one component."""

    name: str
    law: str
    status: str
    """"passed", "failed" or "skipped"."""
    message: str = ""
    """Why it failed or was skipped."""


@attrs.frozen
class Results:
    """All checks on one component; print it for a table."""

    component: str
    checks: tuple[CheckResult, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing failed."""
        return not self.failed

    @property
    def failed(self) -> tuple[str, ...]:
        """The names of the checks that failed."""
        return tuple(result.name for result in self.checks if result.status == "failed")

    def __str__(self) -> str:
        """Return the table."""
        lines = [self.component]
        for result in self.checks:
            lines.append(f"  {result.status:8} {result.name:48} {result.message if result.status == 'skipped' else ''}")
        lines += ["", *(result.message for result in self.checks if result.status == "failed")]
        return "\n".join(line.rstrip() for line in lines).rstrip()

    __repr__ = __str__


def checks_for(component: Any) -> Iterator[Check]:
    """Yield the checks of a component's interface; each raises ConformanceError, or Skipped, when called with it."""
    for interface, checks in CHECKS.items():
        if isinstance(component, interface):
            for function in checks:
                yield _Explained(function)
            return
    raise TypeError(
        f"expected a Loss, Regularizer, PartitionScheduler or Solver, got {type(component).__name__}: {component!r}"
    )


class _Explained:
    """A check whose failures name the component, the check, the law and where to read on."""

    def __init__(self, function: Check) -> None:
        self.function = function
        self.__name__ = function.__name__
        self.__doc__ = function.__doc__

    def __call__(self, component: Any) -> None:
        try:
            self.function(component)
        except (Skipped, KeyboardInterrupt):
            raise
        except BaseException as error:
            raise conformance_error(error, component, self.function) from error

    def __repr__(self) -> str:
        return self.__name__


def of_plugin(name: str) -> list[Any]:
    """Return the components that an installed plugin offers, each made without options."""
    registry = get_registry()
    info = registry.plugins.get(name)
    if info is None:
        raise UnknownNameError(f"no plugin is called {name!r}; there are {sorted(registry.plugins)}")
    if info.status != "ok":
        raise PluginLoadError(f"plugin {name!r} is {info.status}: {info.error}")
    kinds: tuple[Kind, ...] = ("loss", "regularizer", "scheduler", "solver")
    made = [registry.create(kind, f"{name}:{spec.name}") for kind in kinds for spec in info.offers.get(kind, ())]
    if not made:
        raise UnknownNameError(f"plugin {name!r} offers nothing that can be checked, only {sorted(info.offers)}")
    return made


def check(component: Any) -> Results:
    """Run all checks on a component, and return their results; nothing is raised."""
    results = []
    for function in checks_for(component):
        name, sentence = function.__name__, law(function)
        try:
            function(component)
        except Skipped as reason:
            results.append(CheckResult(name, sentence, "skipped", str(reason)))
        except ConformanceError as error:
            results.append(CheckResult(name, sentence, "failed", str(error)))
        else:
            results.append(CheckResult(name, sentence, "passed"))
    return Results(repr(component), tuple(results))


def parametrize_with_checks(components: Sequence[Any], *, expected_failures: Mapping[str, str] | None = None) -> Any:
    """Return a decorator for a pytest test with the arguments ``component`` and ``check``.

    ``expected_failures`` maps names of checks to the reason why they fail; one that passes is an error.
    """
    import pytest

    return pytest.mark.parametrize(("component", "check"), list(parameters(components, expected_failures or {})))


def parameters(components: Sequence[Any], expected_failures: Mapping[str, str]) -> Iterator[Any]:
    """Yield a pytest parameter for each check of each component."""
    import pytest

    named = {function.__name__ for component in components for function in checks_for(component)}
    if unknown := sorted(set(expected_failures) - named):
        raise ValueError(f"expected_failures: there is no check {unknown[0]!r}; there are {sorted(named)}")
    for component in components:
        for function in checks_for(component):
            reason = expected_failures.get(function.__name__)
            marks = [] if reason is None else [pytest.mark.xfail(reason=reason, strict=True)]
            yield pytest.param(
                component, _skipping(function), id=f"{type(component).__name__}-{function.__name__}", marks=marks
            )


def _skipping(function: Check) -> Check:
    """Return a check that skips as pytest does."""
    import pytest

    def run(component: Any) -> None:
        try:
            function(component)
        except Skipped as reason:
            pytest.skip(str(reason))

    run.__name__ = function.__name__
    run.__doc__ = function.__doc__
    return run


__all__ = ["CHECKS", "CheckResult", "Results", "check", "checks_for", "parametrize_with_checks"]
