"""fmfkit evaluate: a model on pairs of a file."""

from __future__ import annotations

import json

import click

from fmfkit.cli.common import existing, friendly, loader_option, metrics_line, pairs_of, readable
from fmfkit.recommend.recommender import Recommender


@click.command()
@click.argument("model", type=existing)
@click.argument("pairs", type=readable)
@loader_option
@click.option(
    "--metric", "metrics", multiple=True, help="What to measure, such as rmse or ndcg@10; may be given again."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@friendly
def command(model: str, pairs: str, loader: str | None, metrics: tuple[str, ...], as_json: bool) -> None:
    """Measure MODEL on PAIRS, a file like the one it was trained on."""
    trained = Recommender.load(model)
    data = trained.pairs(pairs_of(pairs, loader))
    values = trained.evaluate(data, list(metrics) or None)
    if as_json:
        click.echo(json.dumps(values))
        return
    click.echo(f"{len(data)} pairs: {metrics_line(values)}")
    compared = trained.compare(data, next(iter(values)))
    if compared.baselines:
        click.echo(f"beside: {metrics_line(compared.baselines)}  ({compared.metric})")
