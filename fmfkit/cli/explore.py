"""fmfkit explore: a model in a browser."""

from __future__ import annotations

from contextlib import suppress

import click

from fmfkit.cli.common import existing, friendly
from fmfkit.explore.server import Server
from fmfkit.recommend.recommender import Recommender


@click.command()
@click.argument("model", type=existing)
@click.option("--port", default=0, type=click.IntRange(0, 65535), help="Port to listen on; a free one if left out.")
@friendly
def command(model: str, port: int) -> None:
    """Show MODEL on pages for a browser of this machine: search, recommendations, why, similar ones, a map.

    Nobody else can read them, and they ask nobody else for anything. Ctrl-C ends it.
    """
    trained = Recommender.load(model)
    with Server(trained, port) as server, suppress(KeyboardInterrupt):
        click.echo(f"{model} is at {server.url}  (Ctrl-C ends it)")
        server.serve_forever()
