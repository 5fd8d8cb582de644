"""fmfkit fit: from a file of pairs to a model file."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import click

from fmfkit.callbacks import Progress
from fmfkit.cli.common import existing, friendly, metrics_line
from fmfkit.data import Dataset
from fmfkit.fitting import RoundEvent
from fmfkit.front import FMF

SPLITS = {
    "random": lambda data, share, seed: data.split_random(share, seed),
    "time": lambda data, share, seed: data.split_by_time(share),
    "cold-target": lambda data, share, seed: data.split_cold("target", share, seed),
    "cold-query": lambda data, share, seed: data.split_cold("query", share, seed),
}


@click.command()
@click.argument("pairs", type=existing)
@click.option("--queries", type=existing, help="Table of attributes of the queries.")
@click.option("--targets", type=existing, help="Table of attributes of the targets.")
@click.option(
    "--out", default="model.fmf", show_default=True, type=click.Path(dir_okay=False), help="Model file to write."
)
@click.option("--query", help="Column of PAIRS with the queries' ids; guessed by name or place if left out.")
@click.option("--target", help="Column with the targets' ids.")
@click.option("--score", help="Column with the scores.")
@click.option("--weight", help="Column with weights.")
@click.option("--time", help="Column with the time of each pair.")
@click.option("--implicit", is_flag=True, help="Give queries the targets they are paired with as features (SVD++).")
@click.option(
    "--duplicates",
    default="error",
    show_default=True,
    type=click.Choice(["error", "last", "mean"]),
    help="What to do with a pair that occurs twice.",
)
@click.option("--rank", default=32, show_default=True, type=click.IntRange(1), help="Latent dimensions.")
@click.option("--loss", default="square", show_default=True, help="Loss, by name: see `fmfkit plugins`.")
@click.option("--l2", default=0.1, show_default=True, type=click.FloatRange(0), help="Strength of the penalty.")
@click.option("--rounds", default=20, show_default=True, type=click.IntRange(1), help="Rounds at most.")
@click.option(
    "--validate",
    default=0.1,
    show_default=True,
    type=click.FloatRange(0, 1, max_open=True),
    help="Share of the training pairs that chooses the round; 0 trains on all, for all rounds.",
)
@click.option(
    "--test",
    "share",
    default=0.0,
    show_default=True,
    type=click.FloatRange(0, 1, max_open=True),
    help="Share to hold out, and to measure the model on at the end.",
)
@click.option(
    "--split", default="random", show_default=True, type=click.Choice(list(SPLITS)), help="How to hold it out."
)
@click.option(
    "--metric", "metrics", multiple=True, help="What to measure, such as rmse or ndcg@10; may be given again."
)
@click.option("--seed", default=0, show_default=True, type=click.IntRange(0), help="Seed.")
@click.option("--threads", type=click.IntRange(1, 1024), help="Threads; all processors by default.")
@click.option("--json", "as_json", is_flag=True, help="Print the outcome as JSON.")
@friendly
def command(
    pairs: str, queries: str | None, targets: str | None, out: str, share: float, split: str, validate: float,
    metrics: tuple[str, ...], as_json: bool, **options: Any,
) -> None:  # fmt: skip
    """Train a model on PAIRS, a CSV, TSV, Parquet or Arrow file with a query, a target and a score in each row.

    Columns of the tables become features by what they look like. Ctrl-C stops after the round that runs, and saves.
    """
    columns = {name: options[name] for name in ("query", "target", "score", "weight", "time")}
    data = Dataset.of(
        pairs,
        queries=queries,
        targets=targets,
        implicit=options["implicit"],
        duplicates=options["duplicates"],
        **columns,
    )
    click.echo(describe(data), err=True)
    test = None
    if share:
        data, test = SPLITS[split](data, share, options["seed"])
    model = FMF(**{name: options[name] for name in ("rank", "loss", "l2", "rounds", "seed", "threads")})
    with stop_after_round() as interrupted:
        trained = model.fit(data, validate=validate or None, callbacks=[Progress(), interrupted])
    trained.save(out)
    outcome: dict[str, Any] = {
        "model": out, "rounds": trained.model.history[-1].round, "stopped": trained.model.stopped,
        "objective": trained.model.history[-1].objective,
    }  # fmt: skip
    if test is not None:
        outcome["test"] = trained.evaluate(test, list(metrics) or None)
    if as_json:
        click.echo(json.dumps(outcome))
        return
    click.echo(f"{out}: {outcome['rounds']} rounds" + (f", {outcome['stopped']}" if outcome["stopped"] else ""))
    if test is not None:
        click.echo(f"on {len(test)} held-out pairs ({split}): {metrics_line(outcome['test'])}")


def describe(data: Dataset) -> str:
    """Return what was read."""
    lines = [f"{len(data)} pairs of {data.shape[0]} queries and {data.shape[1]} targets"]
    for name, side in (("query", data.queries), ("target", data.targets)):
        kinds = [f"{block.title} ({block.kind})" for block in side.blocks]
        lines.append(f"{name} features: {', '.join(['indicator'] * side.indicator + kinds)}")
    return "\n".join(lines)


@contextmanager
def stop_after_round() -> Iterator[Any]:
    """Turn the first Ctrl-C into a stop after the round that is running; the second ends at once."""
    asked = False

    def note(number: int, frame: FrameType | None) -> None:
        nonlocal asked
        if asked:
            raise KeyboardInterrupt
        asked = True
        print("\nstopping after this round; Ctrl-C again ends at once, without a model", file=sys.stderr)

    def callback(event: RoundEvent) -> None:
        if asked:
            event.stop("interrupted")

    before = signal.signal(signal.SIGINT, note)
    try:
        yield callback
    finally:
        signal.signal(signal.SIGINT, before)
