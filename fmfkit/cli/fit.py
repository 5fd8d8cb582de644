"""fmfkit fit: from a file of pairs to a model file."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import attrs
import click
from click.core import ParameterSource

from fmfkit.callbacks import Progress
from fmfkit.cli.common import existing, friendly, metrics_line
from fmfkit.config import DataConfig, FitConfig, make_block, read_config
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
@click.option("--l2", default=0.4, show_default=True, type=click.FloatRange(0), help="Strength of the penalty.")
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
def command(pairs: str, threads: int | None, as_json: bool, **options: Any) -> None:
    """Train a model on PAIRS, a CSV, TSV, Parquet or Arrow file with a query, a target and a score in each row.

    Columns of the tables become features by what they look like. Ctrl-C stops after the round that runs, and saves.

    PAIRS may be a .toml file with all of it, and feature blocks; options go before what it says.
    """
    config = _config(pairs, options)
    names = ("query", "target", "score", "weight", "time", "queries", "targets", "implicit", "duplicates")
    blocks: dict[str, Any] = {
        name: "guess" if listed is None else [make_block(block) for block in listed]
        for name, listed in (("query_blocks", config.data.query_blocks), ("target_blocks", config.data.target_blocks))
    }
    data = Dataset.of(config.data.pairs, **{name: getattr(config.data, name) for name in names}, **blocks)
    click.echo(describe(data), err=True)
    test, out, split = None, config.model.out, config.test.split
    if config.test.share:
        data, test = SPLITS[split](data, config.test.share, config.model.seed)
    model = FMF(
        threads=threads, **{name: getattr(config.model, name) for name in ("rank", "loss", "l2", "rounds", "seed")}
    )
    with stop_after_round() as interrupted:
        trained = model.fit(data, validate=config.model.validate or None, callbacks=[Progress(), interrupted])
    trained.save(out)
    outcome: dict[str, Any] = {
        "model": out, "rounds": trained.model.history[-1].round, "stopped": trained.model.stopped,
        "objective": trained.model.history[-1].objective,
    }  # fmt: skip
    if test is not None:
        outcome["test"] = trained.evaluate(test, config.test.metrics or None)
    if as_json:
        click.echo(json.dumps(outcome))
        return
    click.echo(f"{out}: {outcome['rounds']} rounds" + (f", {outcome['stopped']}" if outcome["stopped"] else ""))
    if test is not None:
        click.echo(f"on {len(test)} held-out pairs ({split}): {metrics_line(outcome['test'])}")


def _config(pairs: str, options: dict[str, Any]) -> FitConfig:
    """Return what the file says, if it is a .toml file, and the options that were given."""
    config = read_config(pairs) if pairs.endswith(".toml") else FitConfig(data=DataConfig(pairs=pairs))
    source = click.get_current_context().get_parameter_source
    given = {name: value for name, value in options.items() if source(name) is ParameterSource.COMMANDLINE}
    if "metrics" in given:
        given["metrics"] = list(given["metrics"])
    for section in ("data", "model", "test"):
        part = getattr(config, section)
        known = {field.name for field in attrs.fields(type(part))}
        changed = attrs.evolve(part, **{name: value for name, value in given.items() if name in known})
        config = attrs.evolve(config, **{section: changed})
    return config


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
        # not print: the handler may run amid a write to the same stream
        os.write(2, b"\nstopping after this round; Ctrl-C again ends at once, without a model\n")

    def callback(event: RoundEvent) -> None:
        if asked:
            event.stop("interrupted")

    before = signal.signal(signal.SIGINT, note)
    try:
        yield callback
    finally:
        signal.signal(signal.SIGINT, before)
