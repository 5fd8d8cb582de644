"""What the commands share that answer by ids."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
import polars as pl

from fmfkit.cli.common import write_table
from fmfkit.cli.streams import echo
from fmfkit.errors import WriteError
from fmfkit.files import destination, replacing

unknown_option = click.option(
    "--unknown",
    type=click.Choice(["error", "skip", "features"]),
    default="error",
    show_default=True,
    help="What becomes of ids that the model does not know: an error lists them; they are left out; or each is "
    "answered by what else is given of it.",
)
out_option = click.option(
    "--out",
    type=click.Path(dir_okay=False),
    callback=lambda context, parameter, value: value if value is None else checked(value),
    help="Write a file instead of printing: Parquet if it is called .parquet, else CSV.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON, one object per line.")


def checked(out: str) -> str:
    """Refuse a file that cannot be written, before any work."""
    try:
        destination(out)
    except OSError as error:
        raise click.ClickException(str(error)) from error
    return out


def write(frame: pl.DataFrame, out: str | None) -> None:
    """Write a table as Parquet or CSV, by the name of the file, or print it as CSV."""
    if out is None or not _is_parquet(out):
        write_table(frame, out)
        return
    with replacing(out) as file, _refusing(out):
        frame.write_parquet(file)


def write_parts(frames: Iterable[pl.DataFrame], out: str) -> None:
    """Write tables, one below the other, as one Parquet or CSV file, and hold one of them at a time.

    Parquet has its table of contents at the end, and polars cannot add to a file: each table gets a file of its own,
    in a hidden folder beside the one that they are then copied to.
    """
    with replacing(out) as file:
        if not _is_parquet(out):
            for n, frame in enumerate(frames):
                frame.write_csv(file, include_header=n == 0)
            return
        with tempfile.TemporaryDirectory(prefix=".fmfkit-", dir=Path(file.name).parent) as folder:
            parts = []
            for n, frame in enumerate(frames):
                parts.append(Path(folder) / f"{n}.parquet")
                with _refusing(out):
                    frame.write_parquet(parts[-1])
            with _refusing(out):
                pl.scan_parquet(parts).sink_parquet(file.name)


def _is_parquet(out: str) -> bool:
    return Path(out).suffix.lower() in (".parquet", ".pq")


@contextmanager
def _refusing(out: str) -> Iterator[None]:
    """Tell what polars says of a disk that is full, as other errors of writing are told."""
    try:
        yield
    except pl.exceptions.ComputeError as error:
        raise WriteError(f"{out}: cannot be written: {str(error).rpartition('IO error: ')[2]}") from error


def show_ranked(frames: Iterable[pl.DataFrame], out: str | None, *, as_json: bool) -> None:
    """Write rankings, or print them for people or as JSON; the first column says what each is for."""
    if out is not None:
        write_parts(frames, out)
        return
    for frame in frames:
        if as_json:
            click.echo(frame.write_ndjson().encode(), nl=False)
        else:
            _print_ranked(frame)


def _print_ranked(frame: pl.DataFrame) -> None:
    asked, found = frame.columns[0], frame.columns[2]
    for (one,), group in frame.group_by(asked, maintain_order=True):
        echo(f"{one}")
        for row in group.iter_rows(named=True):
            echo(f"  {row['rank']:>3}  {row['score']:8.4f}  {row['label']}  ({row[found]})")


def parsed(known: Any, given: tuple[str, ...]) -> list[Any] | None:
    """Return ids given as text by a function that parses them; None where none were."""
    return known(given) if given else None
