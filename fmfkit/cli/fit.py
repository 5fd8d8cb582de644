"""fmfkit fit: from a file of pairs to a model file."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import attrs
import click
from click.core import ParameterSource

from fmfkit.cli.common import existing, friendly, metrics_line
from fmfkit.config import DataConfig, FitConfig, ModelConfig, make_block, read_config
from fmfkit.data import Dataset
from fmfkit.fitting import RoundEvent
from fmfkit.front import FMF, Negatives
from fmfkit.recommender import Recommender, check_metric

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
@click.option("--l2", default=0.5, show_default=True, type=click.FloatRange(0), help="Strength of the penalty.")
@click.option(
    "--scale",
    default="observations",
    show_default=True,
    type=click.Choice(["observations", "uniform"]),
    help="Whether it grows with how often a feature is observed: better for ratings; uniform for positives only.",
)
@click.option("--bias-l2", default=5.0, show_default=True, type=click.FloatRange(0), help="The same for the biases.")
@click.option(
    "--growth",
    default=0.0,
    show_default=True,
    type=click.FloatRange(0),
    help="Above 0, the penalty grows with the latent dimension, for where a lower rank would do.",
)
@click.option(
    "--strength",
    "strengths",
    multiple=True,
    metavar="BLOCK=FACTOR",
    help="Factor of a feature block's penalty, such as target.genres=0.3; may be given again.",
)
@click.option(
    "--negatives",
    default=0.0,
    show_default=True,
    type=click.FloatRange(0),
    help="For data with positives only: pairs to draw for each, score 0.",
)
@click.option("--fresh", is_flag=True, help="Draw them anew in each round.")
@click.option(
    "--balance",
    default=0.0,
    show_default=True,
    type=click.FloatRange(0, 1),
    help="Above 0, pairs of rare queries and targets count for more; 0.3 is good for data with positives only.",
)
@click.option("--rounds", default=30, show_default=True, type=click.IntRange(1), help="Rounds at most.")
@click.option(
    "--tune",
    default=0,
    show_default=True,
    type=click.IntRange(0),
    metavar="TRIALS",
    help="First search for l2, bias-l2, strengths, and growth and balance if above 0, so many trials; then train "
    "on all training pairs.",
)
@click.option(
    "--start",
    type=existing,
    help="Model to go on from, with its settings and, unless asked for, no validation; PAIRS may have new ids.",
)
@click.option(
    "--validate",
    default=0.1,
    show_default=True,
    type=click.FloatRange(0, 1, max_open=True),
    help="Share of the training pairs, held out as the test part is, that chooses the round; 0: all rounds on all.",
)
@click.option(
    "--test",
    "share",
    default=0.0,
    show_default=True,
    type=click.FloatRange(0, 1, max_open=True),
    help="Share to hold out, and to measure the model on at the end.",
)
@click.option("--split", default="random", show_default=True, type=click.Choice(list(SPLITS)), help="How to hold out.")
@click.option("--choose-by", "metric", help="What chooses the round, and settings, such as rmse or ndcg@10.")
@click.option("--metric", "metrics", multiple=True, help="What to measure on the test part; may be given again.")
@click.option("--seed", default=0, show_default=True, type=click.IntRange(0), help="Seed.")
@click.option("--threads", type=click.IntRange(1, 1024), help="Threads; all processors by default.")
@click.option("--json", "as_json", is_flag=True, help="Print the outcome as JSON.")
@friendly
def command(pairs: str, threads: int | None, start: str | None, as_json: bool, **options: Any) -> None:
    """Train a model on PAIRS, a CSV, TSV, Parquet or Arrow file with a query, a target and a score in each row.

    Columns of the tables become features by what they look like. Ctrl-C stops after the round that runs, and saves.

    PAIRS may be a .toml file with all of it, and feature blocks; options go before what it says.
    """
    earlier = None if start is None else Recommender.load(start, threads=threads)
    config = _config(pairs, options, {} if earlier is None else {**earlier.settings, "validate": 0.0})
    names = ("query", "target", "score", "weight", "time", "queries", "targets", "implicit", "duplicates")
    blocks: dict[str, Any] = {
        name: "guess" if listed is None else [make_block(block) for block in listed]
        for name, listed in (("query_blocks", config.data.query_blocks), ("target_blocks", config.data.target_blocks))
    }
    data = Dataset.of(config.data.pairs, **{name: getattr(config.data, name) for name in names}, **blocks)
    test, out, split = None, config.model.out, config.test.split
    for metric in (*config.test.metrics, *([config.model.metric] if config.model.metric else [])):
        check_metric(metric)
    if not os.access(Path(out).absolute().parent, os.W_OK):
        raise OSError(f"--out {out}: there is no folder to write it to")
    if config.test.share:
        data, test = SPLITS[split](data, config.test.share, config.model.seed)
    click.echo(data.report(test), err=True)
    front, train, held_out = _front(config.model, threads), data, None
    if config.model.validate:
        train, held_out = SPLITS[split](data, config.model.validate, config.model.seed + 1)
    if config.model.tune:
        if held_out is None:
            raise click.UsageError("--tune needs a validation part: --validate 0.1")
        front = _tuned(front, train, held_out, config.model)
        train, held_out = data, None
    with stop_after_round() as interrupted:
        trained = front.fit(
            train, validate=held_out, metric=config.model.metric, progress=True, callbacks=[interrupted],
            start=earlier,
        )  # fmt: skip
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


def _config(pairs: str, options: dict[str, Any], earlier: Mapping[str, Any]) -> FitConfig:
    """Return what the file says, if it is a .toml file, and the options that were given.

    ``earlier`` has the settings of a model to go on from, for what neither says.
    """
    config = read_config(pairs) if pairs.endswith(".toml") else FitConfig(data=DataConfig(pairs=pairs))
    fresh = {name: value for name, value in earlier.items() if hasattr(config.model, name)}
    if not pairs.endswith(".toml"):
        config = attrs.evolve(config, model=attrs.evolve(config.model, **fresh))
    source = click.get_current_context().get_parameter_source
    given = {name: value for name, value in options.items() if source(name) is ParameterSource.COMMANDLINE}
    if "strengths" in given:
        given["strengths"] = _strengths(given["strengths"])
    if "metrics" in given:
        given["metrics"] = list(given["metrics"])
    for section in ("data", "model", "test"):
        part = getattr(config, section)
        known = {field.name for field in attrs.fields(type(part))}
        changed = attrs.evolve(part, **{name: value for name, value in given.items() if name in known})
        config = attrs.evolve(config, **{section: changed})
    return config


def _front(model: ModelConfig, threads: int | None) -> FMF:
    """Return the settings."""
    names = ("rank", "loss", "l2", "scale", "bias_l2", "growth", "strengths", "balance", "rounds", "seed")
    negatives = Negatives(ratio=model.negatives, fresh=model.fresh) if model.negatives else None
    return FMF(threads=threads, negatives=negatives, **{name: getattr(model, name) for name in names})


def _tuned(front: FMF, train: Dataset, held_out: Dataset, model: ModelConfig) -> FMF:
    """Search, and tell what was found in the words of the command line."""
    with stop_after_round() as interrupted:
        found = front.tune(
            train, trials=model.tune, validate=held_out, metric=model.metric, progress=True, callbacks=interrupted
        )
    best = found.best
    told = [f"--l2 {best.l2:.4g}", f"--bias-l2 {best.bias_l2:.4g}"]
    told += [f"--{name} {getattr(best, name):.4g}" for name in ("growth", "balance") if getattr(best, name)]
    told += [f"--strength {name}={value:.4g}" for name, value in best.strengths.items()]
    told += [f"--rounds {best.rounds}", "--validate 0"]
    click.echo(f"{found.metric} {found.value:.4f} with {' '.join(told)}", err=True)
    return best


def _strengths(given: tuple[str, ...]) -> dict[str, float]:
    found = {}
    for text in given:
        name, _, factor = text.rpartition("=")
        try:
            found[name] = float(factor)
        except ValueError:
            raise click.BadParameter(f"expected BLOCK=FACTOR, got {text!r}", param_hint="--strength") from None
    return found


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
