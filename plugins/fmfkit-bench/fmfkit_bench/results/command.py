"""``fmfkit bench results``: one page of the results of several runs."""

from __future__ import annotations

import click
from fmfkit_bench.results import pages, sections

from fmfkit.files import replacing


@click.command("results")
@click.argument("files", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False))
@click.option(
    "--out", required=True, type=click.Path(dir_okay=False, writable=True), help="The Markdown page to write."
)
def command(files: tuple[str, ...], out: str) -> None:
    """Make a Markdown page of FILES, which other subcommands wrote with --json or --out."""
    try:
        read = [sections.read(file) for file in files]
    except ValueError as error:
        raise click.ClickException(str(error)) from error
    with replacing(out) as file:
        file.write(pages.markdown(read).encode())
    click.echo(out)


__all__ = ["command"]
