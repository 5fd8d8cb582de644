"""Components by name with options: "huber", "losses:huber", "huber:delta=0.5", "losses:huber:delta=0.5,other=word"."""

from __future__ import annotations

import contextlib
import inspect
import re
from collections.abc import Callable, Mapping
from typing import Any

from fmfkit.arguments import suggestion

NEXT_OPTION = re.compile(r",(?=[A-Za-z_]\w*=)")
"""Where an option ends: a comma before another one. Other commas belong to values."""

PLAIN: dict[Any, tuple[type, ...]] = {bool: (bool,), int: (int,), float: (int, float), str: (str,)}
"""What a parameter of a plain type takes."""


def parse(text: str) -> tuple[str, dict[str, str]]:
    """Return the name that a text begins with, and its options, as text."""
    head, sign, rest = text.partition("=")
    if not sign:
        return text, {}
    name, _, first = head.rpartition(":")
    options: dict[str, str] = {}
    for part in NEXT_OPTION.split(f"{first}={rest}"):
        key, _, value = part.partition("=")
        if not name or not key.isidentifier() or not value or key in options:
            raise ValueError(f"{text!r}: expected a name and options, each once, such as 'huber:delta=0.5,other=word'")
        options[key] = value
    return name, options


def make(what: str, factory: Callable[..., Any], texts: Mapping[str, str], options: Mapping[str, Any]) -> Any:
    """Call a factory with options, given as text or as themselves; ``what`` is what errors call it."""
    known = _parameters(factory)
    if known is not None:
        _check_names(what, known, [*texts, *options])
    given = {name: _read(what, name, text, known) for name, text in texts.items()} | dict(options)
    try:
        return factory(**given)
    except (TypeError, ValueError) as error:
        if not given:
            raise
        told = ", ".join(f"{name}={value!r}" for name, value in given.items())
        raise ValueError(f"{what} with {told}: {error.args[0] if error.args else error}") from error


def _parameters(factory: Callable[..., Any]) -> dict[str, inspect.Parameter] | None:
    """Return what a factory can be given by name; None where anything, or nobody knows."""
    try:
        found = inspect.signature(factory)
    except (TypeError, ValueError):
        return None
    with contextlib.suppress(Exception):  # annotations may have names that are for type checkers only
        found = inspect.signature(factory, eval_str=True)
    kinds = {parameter.kind for parameter in found.parameters.values()}
    if inspect.Parameter.VAR_KEYWORD in kinds:
        return None
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return {name: parameter for name, parameter in found.parameters.items() if parameter.kind in named}


def _check_names(what: str, known: Mapping[str, inspect.Parameter], given: list[str]) -> None:
    """Refuse options that a factory does not have, and the lack of those that it needs."""
    for name in given:
        if name not in known:
            has = f"it has {list(known)}" if known else "it has none"
            raise ValueError(f"{what}: there is no option {name!r}; {has}{suggestion(name, known)}")
    needed = [name for name, p in known.items() if p.default is inspect.Parameter.empty and name not in given]
    if needed:
        raise ValueError(f"{what}: it needs the option {needed[0]!r}: NAME:{needed[0]}=VALUE")


def _read(what: str, name: str, text: str, known: Mapping[str, inspect.Parameter] | None) -> Any:
    """Return the value that a text stands for; refuse another type than the parameter declares."""
    wanted: Any = None if known is None else known[name].annotation
    if wanted is str:
        return text
    value = _value(text)
    if isinstance(wanted, type) and wanted in PLAIN and type(value) not in PLAIN[wanted]:
        raise ValueError(f"{what}: {name} must be of type {wanted.__name__}, got {text!r}")
    return value


def _value(text: str) -> Any:
    """Return true, false, a number, a list in brackets, or else the text."""
    if text in ("true", "false"):
        return text == "true"
    if text.startswith("[") and text.endswith("]"):
        return [_value(part.strip()) for part in text[1:-1].split(",") if part.strip()]
    for kind in (int, float):
        with contextlib.suppress(ValueError):
            return kind(text)
    return text


__all__ = ["make", "parse"]
