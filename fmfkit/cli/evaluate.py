"""fmfkit evaluate: a model on pairs of a file."""

from __future__ import annotations

import json
from typing import Literal

import click

from fmfkit.cli.common import (
    bad_rows_option,
    existing,
    friendly,
    loader_option,
    metrics_line,
    metrics_option,
    pairs_of,
    readable,
)
from fmfkit.data.delimited import BadRows
from fmfkit.recommend.baselines import Known, compare
from fmfkit.recommend.evaluation import metric_of
from fmfkit.recommend.recommender import Recommender
from fmfkit.recommend.resampling import judged_by
from fmfkit.recommend.strata import by_strata


@click.command()
@click.argument("model", type=existing)
@click.argument("pairs", type=readable)
@loader_option
@bad_rows_option
@metrics_option
@click.option(
    "--unknown",
    type=click.Choice(["error", "skip"]),
    default="error",
    show_default=True,
    help="What becomes of pairs with ids that the model does not know: an error, or they are left out.",
)
@click.option(
    "--strata", is_flag=True, help="Also by how often queries, and targets, occur in training, with intervals."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@friendly
def command(
    model: str,
    pairs: str,
    loader: str | None,
    bad_rows: BadRows,
    metrics: tuple[str, ...],
    unknown: Literal["error", "skip"],
    strata: bool,
    as_json: bool,
) -> None:
    """Measure MODEL on PAIRS, a file like the one it was trained on."""
    trained = Recommender.load(model)
    data = trained.pairs(pairs_of(pairs, loader), unknown=unknown, bad_rows=bad_rows)
    values = trained.evaluate(data, list(metrics) or None)
    parts = by_strata(trained, data, list(values)) if strata else []
    if as_json:
        told = [
            {"side": part.side, "least": part.least, "most": part.most, "pairs": len(part)}
            | {name: found.to_json() for name, found in part.metrics.items()}
            for part in parts
        ]
        click.echo(json.dumps(values | ({"strata": told} if strata else {})))
        return
    click.echo(f"{len(data)} pairs: {metrics_line(values)}")
    name, value = next(iter(values.items()))
    compared = compare(metric_of(name), value, judged_by(trained, data), Known.of(trained.seen, trained.weight))
    if compared.baselines:
        click.echo(f"beside: {metrics_line(compared.baselines)}  ({compared.metric})")
    for part in parts:
        click.echo(str(part))
