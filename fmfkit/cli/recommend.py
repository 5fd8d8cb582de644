"""fmfkit recommend: the best targets, by name."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import Any

import click
import polars as pl

from fmfkit.cli.answers import json_option, out_option, parsed, show_ranked, unknown_option
from fmfkit.cli.common import existing, friendly
from fmfkit.cli.streams import text
from fmfkit.recommend.recommender import Recommender

BATCH = 8192
"""Queries that are answered at a time."""


@click.command()
@click.argument("model", type=existing)
@click.option("--query", "queries", multiple=True, type=text, help="Id of a query; may be given again.")
@click.option("--all", "every", is_flag=True, help="All queries, instead.")
@click.option("--new", type=existing, help="Table of attributes of queries that training has not seen, instead.")
@click.option(
    "--pairs",
    type=existing,
    help="Table of pairs that came after training, of these queries: they are taken into account. Alone it asks for "
    "all queries in it as new ones.",
)
@click.option("--new-targets", type=existing, help="Table of attributes of targets that training has not seen, to add.")
@click.option("-k", default=10, show_default=True, type=click.IntRange(1), help="How many targets.")
@click.option("--seen", is_flag=True, help="Also what is in the training data.")
@click.option("--target", "targets", multiple=True, type=text, help="Only these targets; may be given again.")
@click.option("--exclude", multiple=True, type=text, help="Id of a target to leave out; may be given again.")
@click.option(
    "--where",
    multiple=True,
    type=text,
    help="Only targets with this attribute, such as genre=poetry or 'year>=1999'; may be given again.",
)
@click.option("--clip", is_flag=True, help="Keep scores within the range of the ratings.")
@unknown_option
@out_option
@json_option
@friendly
def command(
    model: str,
    queries: tuple[str, ...],
    every: bool,
    new: str | None,
    pairs: str | None,
    new_targets: str | None,
    k: int,
    seen: bool,
    targets: tuple[str, ...],
    exclude: tuple[str, ...],
    where: tuple[str, ...],
    clip: bool,
    unknown: Any,
    out: str | None,
    as_json: bool,
) -> None:
    """Show the best targets for some queries of MODEL."""
    if (asked := bool(queries) + every + (new is not None)) > 1 or not (asked or pairs):
        raise click.UsageError("give --query, --all, --new, or --pairs alone: whom to recommend to")
    trained = Recommender.load(model)
    if new_targets is not None:
        trained = trained.with_targets(new_targets)
    options: dict[str, Any] = {
        "targets": parsed(trained.parse_targets, targets),
        "exclude": parsed(trained.parse_targets, exclude),
        "where": where or None,
        "clip": clip,
    }
    best: Iterable[pl.DataFrame]
    if every:
        best = _all(trained, k, options | {"seen": seen, "pairs": pairs})
    elif queries:
        best = [
            trained.recommend(trained.parse_queries(queries), k, seen=seen, pairs=pairs, unknown=unknown, **options)
        ]
    elif seen or unknown != "error":
        raise click.UsageError("--seen and --unknown are for queries that the model knows; leave them out")
    else:
        best = [trained.recommend_new(new, k, pairs=pairs, **options)]
    show_ranked(best, out, as_json=as_json)


def _all(trained: Recommender, k: int, options: dict[str, Any]) -> Iterator[pl.DataFrame]:
    """Answer all queries, a batch at a time, and show on a terminal how far it is."""
    ids = trained.encoder.queries.ids
    starts = range(0, len(ids), BATCH)
    with click.progressbar(starts, label="recommend", file=sys.stderr, hidden=not sys.stderr.isatty()) as shown:
        for start in shown:
            some = range(start, min(start + BATCH, len(ids)))
            yield trained.recommend(ids.at(some), k, **options)
