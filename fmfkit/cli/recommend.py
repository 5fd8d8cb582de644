"""fmfkit recommend: the best targets, by name."""

from __future__ import annotations

import click

from fmfkit.cli.common import existing, friendly, write_table
from fmfkit.cli.streams import echo, text
from fmfkit.files import destination
from fmfkit.recommend.recommender import Recommender


@click.command()
@click.argument("model", type=existing)
@click.option(
    "--query", "queries", multiple=True, type=text, help="Id of a query; may be given again. All queries if left out."
)
@click.option("--new", type=existing, help="Table of attributes of queries that training has not seen, instead.")
@click.option("-k", default=10, show_default=True, type=click.IntRange(1), help="How many targets.")
@click.option("--seen", is_flag=True, help="Also what is in the training data.")
@click.option("--out", type=click.Path(dir_okay=False), help="Write a CSV file instead of printing.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, one object per line.")
@friendly
def command(
    model: str, queries: tuple[str, ...], new: str | None, k: int, seen: bool, out: str | None, as_json: bool
) -> None:
    """Show the best targets for some queries of MODEL."""
    if out is not None:
        destination(out)
    trained = Recommender.load(model)
    if new is not None:
        best = trained.recommend_new(new, k)
    else:
        best = trained.recommend(trained.parse_queries(queries) or None, k, seen=seen)
    if out is not None:
        write_table(best, out)
    elif as_json:
        click.echo(best.write_ndjson().encode(), nl=False)
    else:
        for (query,), group in best.group_by("query", maintain_order=True):
            echo(f"{query}")
            for row in group.iter_rows(named=True):
                echo(f"  {row['rank']:>3}  {row['score']:8.4f}  {row['label']}  ({row['target']})")
