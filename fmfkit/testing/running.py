"""Runs checks on components: for a table, for pytest, for a plugin by its name."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs
import numpy as np

from fmfkit.errors import PluginLoadError, UnknownNameError
from fmfkit.interfaces import Loss, PartitionScheduler, Regularizer, RowRegularizer, Solver
from fmfkit.plugins.registry import Kind, get_registry
from fmfkit.testing import losses, process, regularizers, row_regularizers, schedulers, solvers
from fmfkit.testing.verdict import (
    ConformanceError,
    NotChecked,
    NotCheckedWarning,
    Skipped,
    conformance_error,
    law,
)

Check = Callable[[Any], None]

CHECKS: dict[type, tuple[Check, ...]] = {
    Loss: losses.CHECKS,
    RowRegularizer: row_regularizers.CHECKS,
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
    """"passed", "failed", "skipped", or "MISSING" where it applies but could not be run here."""
    message: str = ""
    """Why it failed, was skipped or is missing."""


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
            why = "" if result.status == "failed" else result.message
            lines.append(f"  {result.status:8} {result.name:48} {why}")
        lines += ["", *(result.message for result in self.checks if result.status == "failed")]
        return "\n".join(line.rstrip() for line in lines).rstrip()

    __repr__ = __str__


def checks_for(component: Any) -> Iterator[Check]:
    """Yield the checks of a component's interface; each raises ConformanceError, or Skipped, when called with it.

    Args:
        component: what the checks are for.
    """
    for function in CHECKS[interface_of(component)]:
        yield _Explained(function)


def interface_of(component: Any) -> type:
    """Return the interface whose laws a component keeps."""
    for interface in CHECKS:
        if isinstance(component, interface):
            return interface
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
            with process.put_back(), np.errstate(all="ignore"):  # far out an overflow on the way is no mistake
                self.function(component)
        except NotChecked as reason:
            missing = f"NOT CHECKED: {self.__name__} of {component!r}: {reason}"
            warnings.warn(missing, NotCheckedWarning, stacklevel=2)
            raise
        except (Skipped, KeyboardInterrupt):
            raise
        except BaseException as error:
            raise conformance_error(error, component, self.function) from error

    def __repr__(self) -> str:
        return self.__name__


def of_plugin(name: str) -> list[Any]:
    """Return the components that an installed plugin offers, each made without options, and as its examples say."""
    registry = get_registry()
    info = registry.plugins.get(name)
    if info is None:
        raise UnknownNameError(f"no plugin is called {name!r}; there are {sorted(registry.plugins)}")
    if info.status != "ok":
        raise PluginLoadError(f"plugin {name!r} is {info.status}: {info.error}")
    kinds: tuple[Kind, ...] = ("loss", "regularizer", "scheduler", "solver")
    made = [
        registry.create(kind, f"{name}:{spec.name}", **options)
        for kind in kinds
        for spec in info.offers.get(kind, ())
        for options in ({}, *spec.examples)
    ]
    if not made:
        raise UnknownNameError(f"plugin {name!r} offers nothing that can be checked, only {sorted(info.offers)}")
    return made


def check(component: Any, *, only: Collection[str] | None = None) -> Results:
    """Run all checks on a component, or only those that are named, and return their results; nothing is raised.

    Args:
        component: what is checked.
        only: the names of the checks to run; all by default.
    """
    functions = list(checks_for(component))
    if only is not None:
        _known(only, functions, "only")
        functions = [function for function in functions if function.__name__ in only]
    results = []
    for function in functions:
        name, sentence = function.__name__, law(function)
        try:
            function(component)
        except Skipped as reason:
            status = "MISSING" if isinstance(reason, NotChecked) else "skipped"
            results.append(CheckResult(name, sentence, status, str(reason)))
        except ConformanceError as error:
            results.append(CheckResult(name, sentence, "failed", str(error)))
        else:
            results.append(CheckResult(name, sentence, "passed"))
    return Results(repr(component), tuple(results))


def parametrize_with_checks(components: Sequence[Any], *, expected_failures: Mapping[str, str] | None = None) -> Any:
    """Return a decorator for a pytest test with the arguments ``component`` and ``check``.

    ``expected_failures`` maps names of checks to the reason why they fail; one that passes is an error.

    Args:
        components: the components to check.
    """
    import pytest

    return pytest.mark.parametrize(("component", "check"), list(parameters(components, expected_failures or {})))


def _known(names: Collection[str], functions: Sequence[Check], argument: str) -> None:
    """Refuse names of checks that there are not."""
    there = {function.__name__ for function in functions}
    if unknown := sorted(set(names) - there):
        raise ValueError(f"{argument}: there is no check {unknown[0]!r}; there are {sorted(there)}")


def parameters(components: Sequence[Any], expected_failures: Mapping[str, str]) -> Iterator[Any]:
    """Yield a pytest parameter for each check of each component."""
    import pytest

    _known(expected_failures, [each for component in components for each in checks_for(component)], "expected_failures")
    kinds = [type(component) for component in components]
    for component, kind in zip(components, kinds, strict=True):
        called = kind.__name__ if kinds.count(kind) == 1 else repr(component)
        for function in checks_for(component):
            reason = expected_failures.get(function.__name__)
            marks = [] if reason is None else [pytest.mark.xfail(reason=reason, strict=True)]
            yield pytest.param(component, _told(function), id=f"{called}-{function.__name__}", marks=marks)


def _told(function: Check) -> Check:
    """Return a check that skips and fails as pytest does, with its message alone."""
    import pytest

    def run(component: Any) -> None:
        try:
            function(component)
        except Skipped as reason:
            pytest.skip(str(reason))
        except ConformanceError as error:
            message = str(error)
        else:
            return
        pytest.fail(message, pytrace=False)  # out here, so that the error it comes from is not shown again

    run.__name__ = function.__name__
    run.__doc__ = function.__doc__
    return run


def explained(name: str) -> str:
    """Return the law of a check, for each kind of component that has it, and how it is tried."""
    found = [
        f"{interface.__name__}: {law(function)}\n\n{inspect.getsource(function)}"
        for interface, checks in CHECKS.items()
        for function in checks
        if function.__name__ == name
    ]
    if not found:
        _known([name], [function for checks in CHECKS.values() for function in checks], "--explain")
    where = Path(__file__).parent
    return f"{name}\n\n" + "\n\n".join(found) + f"\n\nThe grids and problems that it uses stand in {where}."


__all__ = ["CHECKS", "CheckResult", "Results", "check", "checks_for", "explained", "parametrize_with_checks"]
