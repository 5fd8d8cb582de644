"""fmfkit compare: two models on the same pairs."""

from __future__ import annotations

import json
import math

import click

from fmfkit.cli.common import (
    bad_rows_option,
    existing,
    friendly,
    loader_option,
    metrics_option,
    pairs_of,
    readable,
)
from fmfkit.cli.streams import echo
from fmfkit.data.delimited import BadRows
from fmfkit.recommend.recommender import Recommender
from fmfkit.recommend.resampling import LEVEL, Paired, compare_models


@click.command()
@click.argument("first", type=existing)
@click.argument("second", type=existing)
@click.argument("pairs", type=readable)
@loader_option
@bad_rows_option
@metrics_option
@click.option(
    "--level",
    default=LEVEL,
    show_default=True,
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    help="How often intervals hold the value that all queries of this kind would give.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@friendly
def command(
    first: str,
    second: str,
    pairs: str,
    loader: str | None,
    bad_rows: BadRows,
    metrics: tuple[str, ...],
    level: float,
    as_json: bool,
) -> None:
    """Tell which of two models, FIRST and SECOND, is better on PAIRS, which neither was trained on.

    Queries are drawn again and again, the same for both models: the interval of the difference tells whether it may be
    chance.
    """
    one, other = Recommender.load(first), Recommender.load(second)
    data = one.pairs(pairs_of(pairs, loader), bad_rows=bad_rows)
    found = compare_models(one, other, data, list(metrics) or None, level=level)
    if as_json:
        click.echo(json.dumps({name: _as_json(paired) for name, paired in found.items()}))
        return
    echo(f"{len(data)} pairs; intervals of {level:.0%}; the difference is {second} less {first}")
    for paired in found.values():
        echo(f"{paired.metric}\n  {first}  {paired.first}\n  {second}  {paired.second}")
        echo(f"  difference  {paired.difference}\n  {_verdict(paired, first, second)}")


def _verdict(one: Paired, first: str, second: str) -> str:
    """Return what it means."""
    if math.isnan(one.p):
        return "it has no interval: what it is depends on how many queries there are"
    if one.better is None:
        return f"the difference may be chance (p = {one.p:.3g})"
    return f"{first if one.better == 'first' else second} is better (p = {one.p:.3g})"


def _as_json(one: Paired) -> dict[str, object]:
    parts = {name: getattr(one, name).to_json() for name in ("first", "second", "difference")}
    return {**parts, "p": None if math.isnan(one.p) else one.p, "better": one.better}
