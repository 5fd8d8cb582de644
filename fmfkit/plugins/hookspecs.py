"""The hooks by which a plugin tells what it offers.

A plugin is a module (or object) named by an entry point of group ``fmfkit``::

    # pyproject.toml
    [project.entry-points.fmfkit]
    mine = "my_package.fmfkit_plugin"

    # my_package/fmfkit_plugin.py
    from fmfkit import Spec, hookimpl

    @hookimpl
    def fmfkit_losses():
        return [Spec("huber", "my_package.losses:Huber", "quadratic near zero, linear far away")]

The loss is then ``mine:huber``, and ``huber`` where nobody else offers one. Hooks are called once, when something first
asks the registry; nothing is imported for a factory given as a string until it is used. The plugin may say for which
``INTERFACE`` it was written: ``fmfkit_interface = 1``.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import attrs
import pluggy
from attrs import validators

PROJECT = "fmfkit"
hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)

INTERFACE = 1
"""The version of the hooks and interfaces that this fmfkit has; whatever is added or changed raises it."""
OLDEST_INTERFACE = 1
"""The oldest version for which a plugin may have been written; what is taken away raises it."""


@attrs.frozen
class Spec:
    """One thing that a plugin offers."""

    name: str = attrs.field(validator=[validators.instance_of(str), validators.matches_re(r"[a-z][a-z0-9_]*")])
    factory: str | Callable[..., Any] = attrs.field(
        validator=validators.or_(
            validators.and_(validators.instance_of(str), validators.matches_re(r"[\w.]+:[\w.]+")),
            validators.is_callable(),
        )
    )
    """A class or function that makes the component, or where to find it, as "package.module:attribute"."""
    doc: str = attrs.field(default="", validator=validators.instance_of(str))
    """One line for listings."""
    examples: Sequence[dict[str, Any]] = attrs.field(
        default=(), validator=validators.deep_iterable(validators.instance_of(dict))
    )
    """Options of further components, such as ``[{"delta": 0.5}]``, that the conformance suite checks beside the one
    without options."""

    def load(self) -> Callable[..., Any]:
        """Return the factory, importing its module if need be."""
        if not isinstance(self.factory, str):
            return self.factory
        module, _, attribute = self.factory.partition(":")
        found: Any = importlib.import_module(module)
        for part in attribute.split("."):
            found = getattr(found, part)
        factory: Callable[..., Any] = found
        return factory


@hookspec
def fmfkit_losses() -> Iterable[Spec]:
    """Return the losses that the plugin offers: factories of fmfkit.Loss."""
    return ()


@hookspec
def fmfkit_regularizers() -> Iterable[Spec]:
    """Return the regularizers that the plugin offers: factories of fmfkit.Regularizer."""
    return ()


@hookspec
def fmfkit_schedulers() -> Iterable[Spec]:
    """Return the schedulers that the plugin offers: factories of fmfkit.PartitionScheduler."""
    return ()


@hookspec
def fmfkit_solvers() -> Iterable[Spec]:
    """Return the solvers that the plugin offers: factories of fmfkit.Solver."""
    return ()


@hookspec
def fmfkit_metrics() -> Iterable[Spec]:
    """Return the metrics that the plugin offers: factories of fmfkit.Metric."""
    return ()


@hookspec
def fmfkit_blocks() -> Iterable[Spec]:
    """Return the feature blocks that the plugin offers: each factory is a subclass of fmfkit.data.Block, or its path,
    and the name is its ``kind``."""
    return ()


@hookspec
def fmfkit_callbacks() -> Iterable[Spec]:
    """Return the callbacks that the plugin offers: factories of callables that take a fmfkit.RoundEvent."""
    return ()


@hookspec
def fmfkit_loaders() -> Iterable[Spec]:
    """Return the loaders that the plugin offers: each factory is a function that takes a path, and options by name,
    and returns a fmfkit.Dataset or a table of pairs."""
    return ()


@hookspec
def fmfkit_commands() -> Iterable[Spec]:
    """Return the subcommands that the plugin adds to the command line: each factory is a click.Command, or its path."""
    return ()


__all__ = [
    "INTERFACE",
    "OLDEST_INTERFACE",
    "Spec",
    "fmfkit_blocks",
    "fmfkit_callbacks",
    "fmfkit_commands",
    "fmfkit_loaders",
    "fmfkit_losses",
    "fmfkit_metrics",
    "fmfkit_regularizers",
    "fmfkit_schedulers",
    "fmfkit_solvers",
    "hookimpl",
]
