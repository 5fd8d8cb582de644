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
readable = click.Path(exists=True)
"""What pairs are read from: a file, or for some loaders a folder."""

loader_option = click.option(
    "--loader", help="What reads PAIRS, such as movielens for its folder: see `fmfkit plugins`; a table if left out."
)


def pairs_of(path: str, loader: str | None) -> Any:
    """Return the pairs of a path: itself where it is a table, else what the loader reads."""
    if loader is None:
        return path
    from fmfkit.recommend.loading import read_pairs

    return read_pairs(path, loader)


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
