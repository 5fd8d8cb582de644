"""fmfkit predict: the ratings of pairs of a file."""

from __future__ import annotations

import click

from fmfkit.cli.common import existing, friendly, loader_option, pairs_of, readable, write_table
from fmfkit.files import destination
from fmfkit.recommend.recommender import Recommender


@click.command()
@click.argument("model", type=existing)
@click.argument("pairs", type=readable)
@loader_option
@click.option("--out", type=click.Path(dir_okay=False), help="CSV file to write instead of printing.")
@click.option(
    "--interval",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    help="Add the ends of the intervals that hold the rating with this probability, such as 0.9.",
)
@friendly
def command(model: str, pairs: str, loader: str | None, out: str | None, interval: float | None) -> None:
    """Predict the pairs of PAIRS, a file with the columns of the queries' and targets' ids."""
    if out is not None:
        destination(out)
    write_table(Recommender.load(model).predict_table(pairs_of(pairs, loader), interval=interval), out)
