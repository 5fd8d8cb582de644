"""fmfkit predict: the ratings of pairs of a file."""

from __future__ import annotations

from typing import Any

import click

from fmfkit.cli.answers import out_option, unknown_option, write
from fmfkit.cli.common import bad_rows_option, existing, friendly, loader_option, pairs_of, readable
from fmfkit.data.delimited import BadRows
from fmfkit.recommend.recommender import Recommender


@click.command()
@click.argument("model", type=existing)
@click.argument("pairs", type=readable)
@loader_option
@bad_rows_option
@out_option
@click.option(
    "--interval",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    help="Add the ends of the intervals that hold the rating with this probability, such as 0.9.",
)
@click.option("--clip", is_flag=True, help="Keep predictions within the range of the ratings.")
@unknown_option
@friendly
def command(
    model: str,
    pairs: str,
    loader: str | None,
    bad_rows: BadRows,
    out: str | None,
    interval: float | None,
    clip: bool,
    unknown: Any,
) -> None:
    """Predict the pairs of PAIRS, a file with the columns of the queries' and targets' ids."""
    options: dict[str, Any] = {"interval": interval, "clip": clip, "unknown": unknown, "bad_rows": bad_rows}
    found = Recommender.load(model).predict_table(pairs_of(pairs, loader), **options)
    write(found, out)
