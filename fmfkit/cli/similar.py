"""fmfkit similar: the targets most like some targets, or the queries most like some queries."""

from __future__ import annotations

from typing import Any

import click

from fmfkit.cli.answers import json_option, out_option, parsed, show_ranked, unknown_option
from fmfkit.cli.common import existing, friendly
from fmfkit.cli.streams import text
from fmfkit.recommend.recommender import Recommender


@click.command()
@click.argument("model", type=existing)
@click.option("--target", "targets", multiple=True, type=text, help="Id of a target; may be given again.")
@click.option("--query", "queries", multiple=True, type=text, help="Id of a query, instead; may be given again.")
@click.option("-k", default=10, show_default=True, type=click.IntRange(1), help="How many.")
@unknown_option
@out_option
@json_option
@friendly
def command(
    model: str,
    targets: tuple[str, ...],
    queries: tuple[str, ...],
    k: int,
    unknown: Any,
    out: str | None,
    as_json: bool,
) -> None:
    """Show what is most like some targets, or queries, of MODEL: by the cosine of embeddings."""
    if bool(targets) == bool(queries):
        raise click.UsageError("give --target or --query")
    trained = Recommender.load(model)
    asked = {"targets": parsed(trained.parse_targets, targets), "queries": parsed(trained.parse_queries, queries)}
    show_ranked([trained.similar(k=k, unknown=unknown, **asked)], out, as_json=as_json)
