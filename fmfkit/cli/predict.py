"""fmfkit predict: the ratings of pairs of a file."""

from __future__ import annotations

import sys

import click

from fmfkit.cli.common import existing, friendly
from fmfkit.recommend.recommender import Recommender


@click.command()
@click.argument("model", type=existing)
@click.argument("pairs", type=existing)
@click.option("--out", type=click.Path(dir_okay=False), help="CSV file to write instead of printing.")
@friendly
def command(model: str, pairs: str, out: str | None) -> None:
    """Predict the pairs of PAIRS, a file with the columns of the queries' and targets' ids."""
    text = Recommender.load(model).predict_table(pairs).write_csv(out)
    if out is None:
        sys.stdout.write(str(text))
