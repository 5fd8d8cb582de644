"""fmfkit explain: what each feature adds to the score of a pair."""

from __future__ import annotations

import json
from typing import Any

import attrs
import click

from fmfkit.cli.answers import unknown_option
from fmfkit.cli.common import existing, friendly
from fmfkit.cli.streams import echo, text
from fmfkit.recommend.recommender import Recommender


@click.command()
@click.argument("model", type=existing)
@click.option("--query", required=True, type=text, help="Id of the query.")
@click.option("--target", required=True, type=text, help="Id of the target.")
@unknown_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@friendly
def command(model: str, query: str, target: str, unknown: Any, as_json: bool) -> None:
    """Show what each feature adds to the score that MODEL gives to a query and a target."""
    trained = Recommender.load(model)
    (i,), (j,) = trained.parse_queries([query]), trained.parse_targets([target])
    told = trained.explain(i, j, unknown=unknown)
    if told is not None:
        echo(json.dumps(attrs.asdict(told)) if as_json else str(told))
