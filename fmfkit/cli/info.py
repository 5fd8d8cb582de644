"""fmfkit info."""

from __future__ import annotations

import json

import click

import fmfkit


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(as_json: bool) -> None:
    """Show version, instruction sets, OpenMP and compiler."""
    info = fmfkit.build_info()
    if as_json:
        click.echo(json.dumps(info))
        return
    for name, value in info.items():
        shown = ", ".join(value) if isinstance(value, list) else "no" if value is None else value
        click.echo(f"{name:14} {shown}")
