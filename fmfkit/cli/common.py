"""What the subcommands share."""

from __future__ import annotations

import functools
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from fmfkit.cli.streams import echo, shown
from fmfkit.data.delimited import BAD_ROWS
from fmfkit.errors import PluginLoadError, WriteError
from fmfkit.files import replacing

if TYPE_CHECKING:
    import polars as pl

    from fmfkit.recommend.recommender import Recommender

Command = TypeVar("Command", bound=Callable[..., Any])

existing = click.Path(exists=True, dir_okay=False)
readable = click.Path(exists=True)
"""What pairs are read from: a file, or for some loaders a folder."""

loader_option = click.option(
    "--loader", help="What reads PAIRS, such as movielens for its folder: see `fmfkit plugins`; a table if left out."
)

bad_rows_option = click.option(
    "--bad-rows",
    default="error",
    show_default=True,
    type=click.Choice(BAD_ROWS),
    help="What to do with rows that cannot be read: list them in an error, or leave them out, with a warning.",
)

metrics_option = click.option(
    "--metric", "metrics", multiple=True, help="What to measure, such as rmse or ndcg@10; may be given again."
)


def pairs_of(path: str, loader: str | None) -> Any:
    """Return the pairs of a path: itself where it is a table, else what the loader reads."""
    if loader is None:
        return path
    from fmfkit.recommend.loading import read_pairs

    return read_pairs(path, loader)


MENDABLE = (
    *(ValueError, LookupError, TypeError, ArithmeticError, MemoryError, OSError),
    *(PluginLoadError, ModuleNotFoundError),
)
"""Errors that are told in a line."""


def friendly(command: Command) -> Command:
    """Turn errors that are the user's to mend into one line and exit code 1, and warnings into lines."""

    @functools.wraps(command)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        try:
            with plain_warnings():
                return command(*args, **kwargs)
        except BrokenPipeError:
            raise
        except MENDABLE as error:
            raise click.ClickException(shown(str(error))) from error

    return wrapped  # type: ignore[return-value]


@contextmanager
def plain_warnings() -> Iterator[None]:
    """Show users' warnings as lines of text, each where it happens."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = lambda message, *where, **more: echo(f"warning: {message}", err=True)
        yield


def keep(trained: Recommender, out: str) -> None:
    """Save a model; where that fails, save it elsewhere, and say where: it may have taken hours.

    Args:
        trained: the model.
        out: the file.
    """
    try:
        trained.save(out)
    except OSError as error:
        try:
            elsewhere = Path(tempfile.mkdtemp(prefix="fmfkit-")) / Path(out).name
            trained.save(elsewhere)
        except OSError as again:
            raise WriteError(f"{error}; nor could the model be saved elsewhere: {again}") from error
        raise WriteError(f"{error}; the model is not lost: it was saved as {elsewhere}") from error


def write_table(frame: pl.DataFrame, out: str | None) -> None:
    """Write a table as CSV, in UTF-8, to a file, or print it."""
    content = frame.write_csv().encode()
    if out is None:
        click.echo(content, nl=False)
        return
    with replacing(out) as file:
        file.write(content)


def metrics_line(values: Mapping[str, float]) -> str:
    """Return metrics for people."""
    return ", ".join(f"{name} {value:.4f}" for name, value in values.items())
