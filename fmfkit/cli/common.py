"""What the subcommands share."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

import click

from fmfkit.errors import PluginLoadError

Command = TypeVar("Command", bound=Callable[..., Any])

existing = click.Path(exists=True, dir_okay=False)


def friendly(command: Command) -> Command:
    """Turn errors that are the user's to mend into one line and exit code 1."""

    @functools.wraps(command)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        try:
            return command(*args, **kwargs)
        except (ValueError, LookupError, TypeError, ArithmeticError, OSError, PluginLoadError) as error:
            raise click.ClickException(str(error)) from error

    return wrapped  # type: ignore[return-value]


@contextmanager
def plain_warnings() -> Iterator[None]:
    """Show users' warnings as lines of text, each where it happens."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = lambda message, *where, **more: click.echo(f"warning: {message}", err=True)
        yield


def metrics_line(values: Mapping[str, float]) -> str:
    """Return metrics for people."""
    return ", ".join(f"{name} {value:.4f}" for name, value in values.items())
