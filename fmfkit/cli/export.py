"""fmfkit export: vectors of queries and targets for other systems."""

from __future__ import annotations

from typing import Any

import click

from fmfkit.cli.common import existing, friendly
from fmfkit.cli.streams import echo
from fmfkit.recommend.export import FORMS
from fmfkit.recommend.recommender import Recommender


@click.command()
@click.argument("model", type=existing)
@click.option("--to", type=click.Choice(FORMS), default="parquet", show_default=True, help="What to write.")
@click.option("--out", type=click.Path(file_okay=False), required=True, help="Folder to write to.")
@friendly
def command(model: str, to: Any, out: str) -> None:
    """Write the vectors of MODEL, whose inner products give the order in which it recommends."""
    for path in Recommender.load(model).export(out, to):
        echo(f"{path}")
