"""fmfkit new-plugin: a package to start from."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

import click

from fmfkit.cli.common import friendly
from fmfkit.cli.scaffold import Kind, new_plugin


@click.command()
@click.argument("package", metavar="NAME")
@click.option("--kind", required=True, type=click.Choice(get_args(Kind)), help="What it offers.")
@click.option("--name", "component", help="What it is called there, such as huber; as the package by default.")
@click.option("--native", is_flag=True, help="In C too: a loss or regularizer that is called without Python; a solver.")
@click.option("--numba", is_flag=True, help="Also compiled by numba, called by solvers without Python (losses).")
@click.option("--in", "folder", default=".", type=click.Path(exists=True, file_okay=False), help="Where to write it.")
@friendly
def command(package: str, kind: Any, component: str | None, native: bool, numba: bool, folder: str) -> None:
    """Write the package fmfkit-NAME, a plugin that works, with tests that pass: edit it into your own."""
    if native and numba:
        raise ValueError("--native and --numba: expected one of them at most")
    compiler: Any = "c" if native else "numba" if numba else None
    for file in new_plugin(package, kind, Path(folder), component=component, compiler=compiler):
        click.echo(file)
    root = Path(folder) / f"fmfkit-{package}"
    click.echo(f"\nnow: edit {root}, then test it: cd {root} && python -m pip install tox && python -m tox")
