"""Finds plugins, loads each on its own, and resolves names. One broken plugin never breaks the others.

Environment variables: ``FMFKIT_BLOCK_PLUGINS`` names plugins to leave alone, with commas between;
``FMFKIT_DISABLE_PLUGIN_AUTOLOAD=1`` leaves only the built-in one; ``FMFKIT_PLUGIN_SECONDS`` is how long each may take.
"""

from __future__ import annotations

import contextlib
import difflib
import functools
import importlib.metadata
import os
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal, overload

import attrs
import pluggy

from fmfkit.errors import PluginLoadError, UnknownNameError
from fmfkit.interfaces import Loss, PartitionScheduler, Regularizer, Solver
from fmfkit.plugins import builtin, hookspecs, names
from fmfkit.plugins.discovery import SECONDS, Found, find, limited
from fmfkit.plugins.hookspecs import INTERFACE, OLDEST_INTERFACE, Spec

BUILTIN = "builtin"
LONGEST = 1e6
Kind = Literal["loss", "regularizer", "scheduler", "solver", "metric", "block", "callback", "loader", "command"]
KINDS: dict[Kind, tuple[str, type | None]] = {
    "loss": ("fmfkit_losses", Loss),
    "regularizer": ("fmfkit_regularizers", Regularizer),
    "scheduler": ("fmfkit_schedulers", PartitionScheduler),
    "solver": ("fmfkit_solvers", Solver),
    "metric": ("fmfkit_metrics", None),
    "block": ("fmfkit_blocks", None),
    "callback": ("fmfkit_callbacks", None),
    "loader": ("fmfkit_loaders", None),
    "command": ("fmfkit_commands", None),
}
"""The hook of each kind, and the interface that its components have; None: who uses them checks them."""


@attrs.frozen
class PluginInfo:
    """What became of a plugin."""

    name: str
    distribution: str | None
    version: str | None
    status: Literal["ok", "blocked", "failed"]
    error: BaseException | None = attrs.field(default=None, eq=False)
    offers: Mapping[Kind, tuple[Spec, ...]] = attrs.field(factory=dict, eq=False)
    refused: tuple[str, ...] = ()
    """Why some of what it offers is refused, the rest being accepted."""


class Registry:
    """The plugins of a process, and what they offer."""

    def __init__(self, found: list[Found] | None = None, environ: Mapping[str, str] = os.environ) -> None:
        """Load the built-in plugin and those found (by default, those installed)."""
        self.plugins: dict[str, PluginInfo] = {}
        self._specs: dict[Kind, dict[str, Spec]] = {kind: {} for kind in KINDS}  # by "plugin:name"
        self._manager = pluggy.PluginManager(hookspecs.PROJECT)
        self._manager.add_hookspecs(hookspecs)
        self._register(Found(BUILTIN, "fmfkit", None, None), builtin)
        blocked = {name.strip() for name in environ.get("FMFKIT_BLOCK_PLUGINS", "").split(",")}
        if environ.get("FMFKIT_DISABLE_PLUGIN_AUTOLOAD", "") in ("", "0"):
            seconds = _seconds(environ)
            for plugin in find() if found is None else found:
                self._load(plugin, blocked, seconds)

    def _load(self, plugin: Found, blocked: set[str], seconds: float) -> None:
        if plugin.name in self.plugins:
            taken = self.plugins[plugin.name]
            error = ValueError(f"the plugin name {plugin.name!r} is taken by {taken.distribution}")
            self._fail(attrs.evolve(plugin, name=f"{plugin.name}@{plugin.distribution}"), error)
        elif plugin.name in blocked:
            self._note(plugin, "blocked")
        else:
            try:
                with limited(seconds):
                    loaded = plugin.entry_point.load()
            except KeyboardInterrupt:
                raise
            except BaseException as error:  # a plugin may even call sys.exit
                self._fail(plugin, error)
            else:
                self._register(plugin, loaded)

    def _register(self, plugin: Found, loaded: Any) -> None:
        try:
            _check_interface(loaded)
            self._manager.register(loaded, name=plugin.name)
            optional = self._check_hooks(loaded)
            offers = {kind: tuple(self._offered(kind, loaded)) for kind in KINDS}
            if not any(offers.values()) and not optional:
                raise ValueError("it offers nothing: no hook of fmfkit is implemented, or all return nothing")
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            if self._manager.has_plugin(plugin.name):
                self._manager.unregister(name=plugin.name)
            self._fail(plugin, error)
            return
        taken = {spec.name: why for spec in offers["command"] if (why := self._taken_command(spec.name)) is not None}
        offers["command"] = tuple(spec for spec in offers["command"] if spec.name not in taken)
        for kind, specs in offers.items():
            self._specs[kind].update({f"{plugin.name}:{spec.name}": spec for spec in specs})
        kept = {kind: specs for kind, specs in offers.items() if specs}
        self._note(plugin, "ok", offers=kept, refused=tuple(taken.values()))
        for why in taken.values():
            self._warn(plugin, why)

    def _taken_command(self, name: str) -> str | None:
        """Return why a subcommand is refused, if it is: it must not shadow another one."""
        if name.replace("_", "-") in builtin.COMMANDS:
            return f"offers the subcommand {name!r}, which is refused: fmfkit has one of that name"
        for full in self._specs["command"]:
            plugin, _, other = full.partition(":")
            if other == name:
                return f"offers the subcommand {name!r}, which is refused: plugin {plugin!r} has one of that name"
        return None

    def _check_hooks(self, loaded: Any) -> bool:
        """Refuse hooks that do not exist, marked or merely named like ours; return whether there are optional ones."""
        self._manager.check_pending()
        known = [hook for hook, _ in KINDS.values()]
        optional = False
        for name in dir(loaded):
            if name.startswith("fmfkit_") and name not in known and callable(getattr(loaded, name, None)):
                marks = self._manager.parse_hookimpl_opts(loaded, name)
                if marks is not None and marks["optionalhook"]:
                    optional = True  # of another version of fmfkit
                    continue
                near = difflib.get_close_matches(name, known, 1)
                raise ValueError(
                    f"unknown hook {name!r}" + (f"; did you mean {near[0]!r}?" if near else f"; hooks are {known}")
                )
        return optional

    def _offered(self, kind: Kind, loaded: Any) -> Iterator[Spec]:
        hook = KINDS[kind][0]
        others = [plugin for plugin in self._manager.get_plugins() if plugin is not loaded]
        seen = set()
        for answer in self._manager.subset_hook_caller(hook, others)():
            if isinstance(answer, str | bytes | Spec) or not hasattr(answer, "__iter__"):
                raise TypeError(f"{hook}() returned {answer!r}, expected a list of fmfkit.Spec")
            for spec in answer:
                if not isinstance(spec, Spec):
                    raise TypeError(f"{hook}() gave {spec!r}, expected a fmfkit.Spec")
                if spec.name in seen:
                    raise ValueError(f"{hook}() gave the name {spec.name!r} twice")
                seen.add(spec.name)
                yield spec

    def _note(self, plugin: Found, status: Literal["ok", "blocked", "failed"], **more: Any) -> None:
        version = plugin.version or (importlib.metadata.version("fmfkit") if plugin.name == BUILTIN else None)
        self.plugins[plugin.name] = PluginInfo(plugin.name, plugin.distribution, version, status, **more)

    def _fail(self, plugin: Found, error: BaseException) -> None:
        self._note(plugin, "failed", error=error)
        self._warn(plugin, f"could not be loaded and is ignored: {type(error).__name__}: {error}")

    def _warn(self, plugin: Found, what: str) -> None:
        told = f"fmfkit plugin {plugin.name!r} ({plugin.distribution} {plugin.version}) {what}"
        warnings.warn(told, RuntimeWarning, stacklevel=3)

    def names(self, kind: Kind) -> list[str]:
        """Return what is offered of a kind, as "plugin:name"."""
        return sorted(self._specs[kind])

    def spec(self, kind: Kind, name: str) -> Spec:
        """Return what a name stands for: "plugin:name", or a bare name: the built-in one, else the only one."""
        specs = self._specs[kind]
        plugin, _, bare = name.rpartition(":")
        if plugin:
            if name in specs:
                return specs[name]
            self._raise_if_unusable(plugin, name)
        else:
            if f"{BUILTIN}:{bare}" in specs:
                return specs[f"{BUILTIN}:{bare}"]
            matches = [full for full in sorted(specs) if full.endswith(f":{bare}")]
            if len(matches) == 1:
                return specs[matches[0]]
            if matches:
                raise UnknownNameError(f"{kind} {bare!r} is offered by more than one plugin: write one of {matches}")
        raise UnknownNameError(self._unknown(kind, name))

    def _raise_if_unusable(self, plugin: str, name: str) -> None:
        info = self.plugins.get(plugin)
        if info is not None and info.status == "failed":
            raise PluginLoadError(
                f"{name!r}: plugin {plugin!r} ({info.distribution} {info.version}) could not be loaded: "
                f"{type(info.error).__name__}: {info.error}"
            ) from info.error
        if info is not None and info.status == "blocked":
            raise PluginLoadError(f"{name!r}: plugin {plugin!r} is blocked by FMFKIT_BLOCK_PLUGINS")

    def _unknown(self, kind: Kind, name: str) -> str:
        full = self.names(kind)
        near = difflib.get_close_matches(name, [*full, *dict.fromkeys(key.partition(":")[2] for key in full)], 3)
        message = f"no {kind} is called {name!r}"
        if near:
            message += "; did you mean " + " or ".join(repr(match) for match in near) + "?"
        message += f"; there are {full}"
        for info in self.plugins.values():
            if info.status != "ok":
                message += f"; plugin {info.name!r} is {info.status}" + (f" ({info.error})" if info.error else "")
        return message

    def load(self, kind: Kind, name: str) -> Any:
        """Return the factory that a name stands for: of feature blocks, loaders and commands, the thing itself."""
        spec = self.spec(kind, name)
        try:
            return spec.load()
        except Exception as error:
            raise PluginLoadError(
                f"{kind} {name!r}: {spec.factory!r} could not be imported: {type(error).__name__}: {error}"
            ) from error

    def create(self, kind: Kind, name: str, **options: Any) -> Any:
        """Make the component that a name stands for, with these options and those that follow the name."""
        bare, texts = names.parse(name)
        factory, interface = self.load(kind, bare), KINDS[kind][1]
        made = names.make(f"{kind} {bare!r}", factory, texts, options)
        if interface is not None and not isinstance(made, interface):
            raise PluginLoadError(f"{kind} {bare!r}: {factory!r} made {made!r}, which is no {interface.__name__}")
        return made

    def name_of(self, kind: Kind, factory: Any) -> str | None:
        """Return the full name under which a factory, such as a class, is offered; None if it is not."""
        for name in self.names(kind):
            with contextlib.suppress(PluginLoadError):  # of another plugin
                if self.load(kind, name) is factory:
                    return name
        return None


def _seconds(environ: Mapping[str, str]) -> float:
    """Return how long a plugin may take to be imported."""
    given = environ.get("FMFKIT_PLUGIN_SECONDS", "") or str(SECONDS)
    try:
        seconds = float(given)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= LONGEST:
        raise ValueError(f"FMFKIT_PLUGIN_SECONDS: expected a number above 0, at most {LONGEST:g}, got {given!r}")
    return seconds


def _check_interface(loaded: Any) -> None:
    """Refuse a plugin that was written for hooks and interfaces which this fmfkit does not have, if it says so."""
    written = getattr(loaded, "fmfkit_interface", INTERFACE)
    if isinstance(written, bool) or not isinstance(written, int):
        raise TypeError(f"fmfkit_interface: expected a whole number, such as {INTERFACE}, got {written!r}")
    has = f"fmfkit {importlib.metadata.version('fmfkit')} has version {INTERFACE}"
    if written > INTERFACE:
        raise ValueError(
            f"it was written for version {written} of the plugin interface, and {has}: install a newer fmfkit"
        )
    if written < OLDEST_INTERFACE:
        raise ValueError(
            f"it was written for version {written} of the plugin interface, and {has}, which supports plugins from "
            f"version {OLDEST_INTERFACE} on: install a newer release of the plugin"
        )


@functools.cache
def get_registry() -> Registry:
    """Return the registry of this process, made when first asked for."""
    return Registry()


@overload
def resolve(kind: Literal["loss"], given: Any) -> Loss: ...
@overload
def resolve(kind: Literal["regularizer"], given: Any) -> Regularizer: ...
@overload
def resolve(kind: Literal["scheduler"], given: Any) -> PartitionScheduler: ...
@overload
def resolve(kind: Literal["solver"], given: Any) -> Solver: ...
def resolve(kind: Kind, given: Any) -> Any:
    """Return a component given as itself or by name."""
    interface = KINDS[kind][1]
    assert interface is not None  # the others are resolved by who uses them
    if isinstance(given, str):
        return get_registry().create(kind, given)
    if not isinstance(given, interface):
        hint = f"; write {given.__name__}()" if isinstance(given, type) and issubclass(given, interface) else ""
        raise TypeError(f"{kind}: expected a {interface.__name__} or the name of one, got {given!r}{hint}")
    return given


def resolve_callbacks(given: Any) -> list[Callable[[Any], None]]:
    """Return callbacks, one or several, given as themselves or by name; a name makes a new one each time."""
    several = [given] if isinstance(given, str) or callable(given) else list(given)
    made = [get_registry().create("callback", one) if isinstance(one, str) else one for one in several]
    for one, callback in zip(several, made, strict=True):
        if not callable(callback):
            told = f"{callback!r}" if one is callback else f"{callback!r}, which {one!r} makes"
            raise TypeError(f"callbacks: expected callables that take a RoundEvent, or names of them, got {told}")
    return made


__all__ = ["PluginInfo", "Registry", "get_registry", "resolve", "resolve_callbacks"]
