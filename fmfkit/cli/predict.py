"""fmfkit predict: the scores of pairs of a file."""

from __future__ import annotations

import sys

import click
import polars as pl

from fmfkit.cli.common import existing, friendly
from fmfkit.recommender import Recommender


@click.command()
@click.argument("model", type=existing)
@click.argument("pairs", type=existing)
@click.option("--out", type=click.Path(dir_okay=False), help="CSV file to write instead of printing.")
@friendly
def command(model: str, pairs: str, out: str | None) -> None:
    """Predict the pairs of PAIRS, a file with the columns of the queries' and targets' ids."""
    trained = Recommender.load(model)
    data = trained.pairs(pairs, scores=False)
    frame = pl.DataFrame({
        str(trained.columns["query"]): trained.encoder.queries.ids.column(data.query),
        str(trained.columns["target"]): trained.encoder.targets.ids.column(data.target),
        "predicted": trained.model.predict(data.query, data.target).astype(float),
    })  # fmt: skip
    text = frame.write_csv(out)
    if out is None:
        sys.stdout.write(str(text))
