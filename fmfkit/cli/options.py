"""Command-line options made from settings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from fmfkit.recommend import kinds
from fmfkit.recommend.settings import metadata_of, names

Command = TypeVar("Command", bound=Callable[..., Any])
FACTORS = "BLOCK=FACTOR"


def settings_options(command: Command) -> Command:
    """Add an option for each setting."""
    for name in reversed(names()):
        command = _option(name)(command)
    return command


def flags_of(name: str) -> list[str]:
    """Return the option of a setting, or its two flags; the option of strengths is given once for each block."""
    kind, word = metadata_of(name)["kind"], name.replace("_", "-")
    if isinstance(kind, kinds.Flag):
        return [f"--{word}", f"--no-{word}"]
    if isinstance(kind, kinds.Switch):
        return [f"--{word}" for word in kind.words]
    return ["--strength" if name == "strengths" else f"--{word}"]


def spelled(name: str, value: Any) -> str:
    """Return how a setting is given a number or a word on the command line."""
    if isinstance(metadata_of(name)["kind"], kinds.Switch):
        return f"--{value}"
    return f"{flags_of(name)[0]} {value:.4g}" if isinstance(value, float) else f"{flags_of(name)[0]} {value}"


def _option(name: str) -> Callable[[Command], Command]:
    about = metadata_of(name)
    kind, default = about["kind"], about["default"]
    options: dict[str, Any] = {"help": about["help"]}
    if isinstance(kind, kinds.Factors):
        options |= {"multiple": True, "metavar": FACTORS}
    elif isinstance(kind, kinds.Switch):
        options |= {"default": None}
    elif not isinstance(kind, kinds.Flag):
        options |= {"type": _type(kind), "default": default, "show_default": default is not None}
    if isinstance(kind, kinds.Choice) and kind.numbers is not None:
        options |= {"metavar": f"[{'|'.join(kind.options)}|NUMBER]"}
    return click.option("/".join(flags_of(name)), name, **options)


def _type(kind: kinds.Kind) -> Any:
    if isinstance(kind, kinds.Whole):
        return click.IntRange(kind.least, kind.most)
    if isinstance(kind, kinds.Real):
        return click.FloatRange(kind.least, kind.most)
    if isinstance(kind, kinds.Choice):
        return click.Choice(kind.options) if kind.numbers is None else _word_or_number(kind)
    return str


def _word_or_number(kind: kinds.Choice) -> Callable[[str], str | float]:
    """Return what reads one of the words, or a number."""

    def read(given: str) -> str | float:
        try:
            value: str | float = given if given in kind.options else float(given)
            kind.check("it", value)
        except ValueError:
            options = ", ".join(map(repr, kind.options))
            raise click.BadParameter(f"{given!r} is not one of {options}, or a number") from None
        return value

    return read


def given_options(options: dict[str, Any]) -> dict[str, Any]:
    """Return the options that stand on the command line, not those left at their defaults."""
    source = click.get_current_context().get_parameter_source
    given = {name: value for name, value in options.items() if source(name) is ParameterSource.COMMANDLINE}
    for name in given.keys() & set(names()):
        kind = metadata_of(name)["kind"]
        if isinstance(kind, kinds.Factors):
            given[name] = _factors(given[name])
        elif isinstance(kind, kinds.Switch):
            given[name] = kind.words[0 if given[name] else 1]
    return given


def _factors(given: tuple[str, ...]) -> dict[str, float]:
    found = {}
    for text in given:
        name, _, factor = text.rpartition("=")
        try:
            found[name] = float(factor)
        except ValueError:
            raise click.BadParameter(f"expected {FACTORS}, got {text!r}", param_hint="--strength") from None
    return found


__all__ = ["flags_of", "given_options", "settings_options", "spelled"]
