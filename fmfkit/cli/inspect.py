"""fmfkit inspect: what a model file holds."""

from __future__ import annotations

import json
from typing import Any

import click

from fmfkit.cli.common import existing, friendly
from fmfkit.cli.streams import echo
from fmfkit.recommend.recommender import Recommender

MOST_NAMES = 20


@click.command()
@click.argument("model", type=existing)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@friendly
def command(model: str, as_json: bool) -> None:
    """Show what MODEL was trained on, and how."""
    trained = Recommender.load(model)
    inner = trained.model
    summary: dict[str, Any] = {
        "data": trained.settings.data,
        "rank": inner.rank,
        "loss": repr(inner.loss),
        "offset": inner.offset,
        "rounds": inner.history[-1].round if inner.history else None,
        "objective": inner.history[-1].objective if inner.history else None,
        "stopped": inner.stopped,
        "metric": trained.metric,
        "validation": list(trained.validation),
        "columns": trained.columns,
        "settings": trained.settings.to_json(),
        "strengths": inner.strengths,
        "remain": trained.remaining_features(),
        "queries": {"count": inner.X.rows, "blocks": _blocks(inner.X)},
        "targets": {"count": inner.Z.rows, "blocks": _blocks(inner.Z)},
    }
    if as_json:
        click.echo(json.dumps(summary))
        return
    for name in ("data", "rank", "loss", "offset", "rounds", "objective", "stopped"):
        echo(f"{name:12} {summary[name]}")
    if trained.validation:
        echo(f"{trained.metric:12} {' '.join(f'{value:.4f}' for value in trained.validation)}  (validation)")
    if inner.strengths:
        listed = sorted(inner.strengths.items(), key=lambda item: -item[1])
        told = ", ".join(f"{name} {deviation:.3g}" for name, deviation in listed)
        echo(f"{'strengths':12} {told}  (the deviation, over random pairs, of what a block adds to the score)")
    for block, names in summary["remain"].items():
        told = ", ".join(names[:MOST_NAMES]) + (", ..." if len(names) > MOST_NAMES else "")
        echo(f"{'remain':12} {block}: {len(names)}{': ' if names else ''}{told}  (the others are zero)")
    for side in ("queries", "targets"):
        blocks = ", ".join(f"{name} ({width})" for name, width in summary[side]["blocks"].items())
        echo(f"{side:12} {summary[side]['count']}: {blocks}")


def _blocks(features: Any) -> dict[str, int]:
    return {name: part.stop - part.start for name, part in features.blocks.items()}
