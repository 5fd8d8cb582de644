"""fmfkit new-plugin: a package to start from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from fmfkit.cli.common import friendly


@click.command()
@click.argument("name")
@click.option(
    "--kind", required=True, type=click.Choice(["loss", "regularizer", "scheduler", "solver"]), help="What it offers."
)
@click.option("--native", is_flag=True, help="Also in C, called by solvers without Python (losses, regularizers).")
@click.option("--in", "folder", default=".", type=click.Path(exists=True, file_okay=False), help="Where to write it.")
@friendly
def command(name: str, kind: Any, native: bool, folder: str) -> None:
    """Write the package fmfkit-NAME, a plugin that works, with tests that pass: edit it into your own."""
    from fmfkit.cli.scaffold import new_plugin

    files = new_plugin(name, kind, Path(folder), native=native)
    for file in files:
        click.echo(file)
    root = Path(folder) / f"fmfkit-{name}"
    click.echo(f"\nnow: edit {root}, then test it: cd {root} && python -m pip install tox && python -m tox")
