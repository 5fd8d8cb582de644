"""What the subcommands share: options, and how a command gets them with a report to add its sections to."""

from __future__ import annotations

import functools
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click
from fmfkit_bench import core
from fmfkit_bench.data.shapes import SHAPES
from fmfkit_bench.results.report import Report

Options = TypeVar("Options")
Command = Callable[..., None]
Decorator = Callable[[Command], Command]
POSITIVE = click.FloatRange(0, min_open=True)
PART = click.FloatRange(0, 1, min_open=True)
THREADS = click.IntRange(1, 1024)

shapes = click.option(
    "--shape",
    "shapes",
    multiple=True,
    default=["ml10m"],
    show_default=True,
    type=click.Choice(sorted(SHAPES)),
    help="Shape of the generated data; may be given more than once.",
)
rank = click.option("--rank", default=64, show_default=True, type=click.IntRange(1), help="Latent dimensions.")
seed = click.option("--seed", default=0, show_default=True, type=click.IntRange(0), help="Seed of data and training.")
threads = click.option("--threads", type=THREADS, help="Threads; all processors by default.")


def scale(default: float | None, help: str = "Size of the data, as a part of the full size.") -> Decorator:
    """Return the option ``--scale``."""
    return click.option("--scale", default=default, show_default=default is not None, type=PART, help=help)


def rounds(default: int, help: str = "Rounds of each fit.") -> Decorator:
    """Return the option ``--rounds``."""
    return click.option("--rounds", default=default, show_default=True, type=click.IntRange(1), help=help)


def repeats(default: int) -> Decorator:
    """Return the option ``--repeats``."""
    text = "How often each is measured; medians are shown."
    return click.option("--repeats", default=default, show_default=True, type=click.IntRange(1), help=text)


def many_threads(*default: int) -> Decorator:
    """Return the option ``--threads`` of commands that measure several numbers of threads."""
    text = "Numbers of threads; may be given more than once" + ("." if default else "; all processors by default.")
    return click.option(
        "--threads", multiple=True, default=default, show_default=bool(default), type=THREADS, help=text
    )


def reported(
    options: Callable[..., Options], title: str, *, out: str | None = None
) -> Callable[[Callable[[Options, Report], None]], Command]:
    """Give a command its options as one object, and a report that writes to ``--json`` and ``--out``."""

    def decorate(run: Callable[[Options, Report], None]) -> Command:
        @functools.wraps(run)
        def command(json: Path | None, out: Path | None, **given: Any) -> None:
            line = command_line(click.get_current_context())
            run(options(**given), Report(title, line, json, out, _settings(given)))

        return _json(_out(out)(command))

    return decorate


_json = click.option(
    "--json",
    type=click.Path(dir_okay=False, writable=True, path_type=Path),
    help="Write the results to this file, for fmfkit bench results.",
)


def _out(default: str | None) -> Decorator:
    return click.option(
        "--out",
        default=default,
        show_default=default is not None,
        type=click.Path(file_okay=False, path_type=Path),
        help="Write the results, their figures and report.html to this folder.",
    )


def _settings(given: dict[str, Any]) -> dict[str, Any]:
    """Return the settings that every page of results shows."""
    found = {name: given[name] for name in ("rank",) if name in given}
    if "threads" in given:
        teams = given["threads"] or core.all_threads()
        found["threads"] = ", ".join(map(str, teams)) if isinstance(teams, tuple) else teams
    return found


UNTOLD = ("json", "out", "threads")


def command_line(context: click.Context, **instead: Any) -> str:
    """Return the command of a run: its arguments and options, files by name, and ``instead`` in place of some.

    Threads are left out, because the machine decides about them; they are among the settings.
    """
    words = ["fmfkit", "bench", str(context.info_name)]
    parameters = sorted(context.command.params, key=lambda parameter: not isinstance(parameter, click.Argument))
    for parameter in parameters:
        value = instead.get(parameter.name or "", context.params.get(parameter.name or ""))
        if parameter.name in UNTOLD or value is None or value is False:
            continue
        for one in value if isinstance(value, tuple | list) else [value]:
            words += [] if isinstance(parameter, click.Argument) else [parameter.opts[0]]
            words += [] if one is True else [_word(parameter, one)]
    return " ".join(words)


def _word(parameter: click.Parameter, value: Any) -> str:
    if isinstance(parameter.type, click.Path):
        value = Path(value).name
    return shlex.quote(f"{value:g}" if isinstance(value, float) else str(value))


__all__ = [
    "command_line",
    "many_threads",
    "rank",
    "repeats",
    "reported",
    "rounds",
    "scale",
    "seed",
    "shapes",
    "threads",
]
