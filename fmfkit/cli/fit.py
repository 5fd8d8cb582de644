"""fmfkit fit: from a file of pairs to a model file."""

from __future__ import annotations

import json
import shlex
import sys
from contextlib import suppress
from typing import Any

import attrs
import click

from fmfkit.cli.common import existing, friendly, keep, loader_option, metrics_line, plain_warnings, readable
from fmfkit.cli.config import DataConfig, FitConfig, read_config
from fmfkit.cli.options import given_options, settings_options, spelled
from fmfkit.cli.signals import Stopper, stop_after_round
from fmfkit.cli.streams import echo, text
from fmfkit.data.delimited import BAD_ROWS
from fmfkit.data.report import Report
from fmfkit.data.roles import DUPLICATES
from fmfkit.data.splits import SPLITS
from fmfkit.files import destination
from fmfkit.plugins.registry import resolve_callbacks
from fmfkit.recommend.fmf import FMF
from fmfkit.recommend.recipe import Outcome, Recipe
from fmfkit.recommend.recommender import Recommender
from fmfkit.recommend.settings import names
from fmfkit.recommend.tuning import Tuned
from fmfkit.training.callbacks import Checkpoint

ELSEWHERE = ("out", "callbacks", "checkpoint", "checkpoint_every")
"""What a file says of a recipe that is no part of a ``Recipe``."""
SHARE = click.FloatRange(0, 1, max_open=True)


@click.command()
@click.argument("pairs", type=readable)
@loader_option
@click.option("--queries", type=existing, help="Table of attributes of the queries.")
@click.option("--targets", type=existing, help="Table of attributes of the targets.")
@click.option(
    "--out", default="model.fmf", show_default=True, type=click.Path(dir_okay=False), help="Model file to write."
)
@click.option("--query", type=text, help="Column of PAIRS with the queries' ids; found by name or place if left out.")
@click.option("--target", type=text, help="Column with the targets' ids.")
@click.option("--rating", type=text, help="Column with the ratings.")
@click.option("--weight", type=text, help="Column with weights.")
@click.option("--time", type=text, help="Column with the time of each pair.")
@click.option("--history/--no-history", help="Give queries the targets they are paired with as features (SVD++).")
@click.option(
    "--duplicates",
    default="auto",
    show_default=True,
    type=click.Choice(DUPLICATES),
    help="What to do with a pair that occurs twice; auto counts it twice, as a weight, where there are no ratings or "
    "all are equal, and is an error otherwise.",
)
@click.option(
    "--bad-rows",
    default="error",
    show_default=True,
    type=click.Choice(BAD_ROWS),
    help="What to do with rows that cannot be read: list them in an error, or leave them out, with a warning.",
)
@settings_options
@click.option(
    "--tune",
    default=0,
    show_default=True,
    type=click.IntRange(0),
    metavar="TRIALS",
    help="First search for l2, bias-l2, strengths, and growth and balance if above 0, for that many trials (positives "
    "only: l2, cells, balance, strengths); then train on all training pairs.",
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
    type=SHARE,
    help="Share of the training pairs, held out as the test part is, that chooses the number of rounds before all are "
    "trained on; 0: all rounds.",
)
@click.option(
    "--refit/--no-refit",
    default=True,
    show_default=True,
    help="Whether to train on all training pairs, the validation part too, once it has chosen the number of rounds.",
)
@click.option(
    "--test", default=0.0, show_default=True, type=SHARE, help="Share to hold out and to measure the model on."
)
@click.option(
    "--split",
    type=click.Choice(SPLITS),
    help="How to hold out; per-query if the data has positives only, else random, if left out.",
)
@click.option("--choose-by", "metric", help="What chooses the round, and settings, such as rmse or ndcg@10.")
@click.option("--metric", "metrics", multiple=True, help="What to measure on the test part; may be given again.")
@click.option(
    "--callback",
    "callbacks",
    multiple=True,
    help="What to call after each round, such as log:to=FILE or time_budget:seconds=60: see `fmfkit plugins`; may be "
    "given again.",
)
@click.option(
    "--checkpoint",
    type=click.Path(file_okay=False),
    metavar="FOLDER",
    help="Folder to keep where the work stands in, so that --resume can go on from there, bit for bit.",
)
@click.option(
    "--checkpoint-every",
    default="60s",
    show_default=True,
    metavar="ROUNDS|SECONDSs",
    help="After how many rounds, such as 5, or seconds, such as 60s.",
)
@click.option(
    "--resume",
    is_flag=True,
    help="Go on from the checkpoint in FOLDER, if there is one; data and settings must be the same.",
)
@click.option(
    "--report",
    type=click.Path(dir_okay=False),
    help="Page of HTML to write, with charts; it needs --test to be of use.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the outcome as JSON.")
@friendly
def command(pairs: str, start: str | None, resume: bool, report: str | None, as_json: bool, **options: Any) -> None:
    """Train a model on PAIRS, a CSV, TSV, Parquet or Arrow file with a query, a target and a rating in each row.

    Columns of the tables become features by what they look like. Ctrl-C, SIGTERM and SIGHUP stop after the round that
    runs, and save; a second one ends at once. The exit code is then 128 and the signal's number.

    PAIRS may be a .toml file with all of it, and feature blocks; command-line options override the file.
    """
    given = given_options(options)
    config = _config(pairs, given)
    earlier = None if start is None else Recommender.load(start, threads=config.settings.get("threads"))
    recipe = _recipe(config, earlier)
    recipe.check(earlier)
    resolve_callbacks(config.recipe.callbacks)
    out = config.recipe.out
    destination(out)
    if report is not None:
        destination(report)
    checkpoint = _checkpoint(config, resume=resume)
    with plain_warnings():
        data = config.dataset()
    outcome, found = None, None

    def on_report(told: Report) -> None:
        nonlocal found
        found = told
        echo(str(told), err=True)

    with stop_after_round(checkpoint) as stopper, plain_warnings(), suppress(KeyboardInterrupt):
        outcome = recipe.run(
            data,
            start=earlier,
            progress=True,
            callbacks=[stopper, *([] if checkpoint is None else [checkpoint]), *config.recipe.callbacks],
            on_report=on_report,
            on_tuned=lambda tuned: click.echo(_found(tuned, recipe.settings), err=True),
            on_trained=lambda trained: keep(trained, out) if earlier or _rounds(trained) else None,
        )
        if report is not None:
            made_by = shlex.join(["fmfkit", *sys.argv[1:]])
            outcome.recommender.report(outcome.test, data=found, command=made_by).save(report)
    kept = outcome is not None and (earlier is not None or _rounds(outcome.recommender) > 0)
    if stopper.stopped is None and outcome is not None:
        if not kept:
            raise ValueError(f"{out}: not written, for there is nothing in it: no round was better than none")
        _show(outcome, out, as_json)
        return
    with suppress(OSError):  # what is told may have nobody left to read it
        if outcome is not None and kept:
            _show(outcome, out, as_json)
        elif outcome is not None:
            click.echo(f"{out}: not written: no round was finished", err=True)
        click.echo(_stopped(stopper), err=True)
    click.get_current_context().exit(128 + (stopper.signal or 0))


def _rounds(trained: Recommender) -> int:
    """Return how many rounds a model was trained for."""
    return trained.model.history[-1].round


def _checkpoint(config: FitConfig, *, resume: bool) -> Checkpoint | None:
    """Return the checkpoint that is asked for."""
    folder = config.recipe.checkpoint
    if folder is None and resume:
        raise ValueError("--resume: give --checkpoint FOLDER, too: what to go on from")
    return None if folder is None else Checkpoint(folder, config.recipe.checkpoint_every, resume=resume)


def _stopped(stopper: Stopper) -> str:
    """Return what became of a fit that a signal stopped, and how to go on."""
    name = "a signal" if stopper.signal is None else stopper.signal.name
    if stopper.checkpoint is None:
        return f"stopped by {name}"
    return f"stopped by {name}; the same command with --resume goes on from {stopper.checkpoint.folder}"


def _config(pairs: str, given: dict[str, Any]) -> FitConfig:
    """Return what the file says, if it is a .toml file, overridden by the options that were given."""
    config = read_config(pairs) if pairs.endswith(".toml") else FitConfig(data=DataConfig(pairs=pairs))
    given = {name: list(value) if name in ("metrics", "callbacks") else value for name, value in given.items()}
    sides = {
        name: attrs.evolve(getattr(config.data, name), table=given.pop(name))
        for name in ("queries", "targets")
        if name in given
    }
    parts = {}
    for section in ("data", "model", "recipe"):
        part = getattr(config, section)
        known = {field.name for field in attrs.fields(type(part))}
        parts[section] = attrs.evolve(part, **{name: value for name, value in given.items() if name in known})
    parts["data"] = attrs.evolve(parts["data"], **sides)
    return FitConfig(**parts)


def _recipe(config: FitConfig, earlier: Recommender | None) -> Recipe:
    """Return the recipe of a configuration; a fit that starts from a model has no validation unless asked for."""
    options = {name: value for name, value in attrs.asdict(config.recipe).items() if name not in ELSEWHERE}
    if options["validate"] is None:
        options["validate"] = 0.1 if earlier is None else 0.0
    return Recipe(settings=FMF(**config.settings), **options)


def _found(tuned: Tuned, asked: FMF) -> str:
    """Return what a search found, in the words of the command line: what to add to what was asked for."""
    best = tuned.best
    changed = [name for name in names() if (getattr(best, name) or None) != (getattr(asked, name) or None)]
    words = [
        spelled(name, getattr(best, name))
        for name in names()
        if name in ("l2", "bias_l2") or (name in changed and name not in ("data", "strengths", "rounds"))
    ]
    words += [f"--strength {name}={value:.4g}" for name, value in best.strengths.items()]
    words += [f"--rounds {best.rounds}", "--validate 0"]
    return f"{tuned.metric} {tuned.value:.4f} with {' '.join(words)}"


def _show(outcome: Outcome, out: str, as_json: bool) -> None:
    """Print what became of it."""
    model = outcome.recommender.model
    summary: dict[str, Any] = {
        "model": out,
        "data": outcome.recommender.settings.data,
        "rounds": model.history[-1].round,
        "stopped": model.stopped,
        "objective": model.history[-1].objective,
    }
    compared = {"validation": outcome.held_out, "test": outcome.tested}
    if as_json:
        summary |= {} if outcome.test is None else {"test": outcome.metrics}
        found = {part: one.baselines for part, one in compared.items() if one is not None}
        click.echo(json.dumps(summary | {"baselines": found, "refitted": outcome.refitted, "advice": outcome.advice}))
        return
    again = ", trained again on all training pairs" if outcome.refitted else ""
    click.echo(f"{out}: {summary['rounds']} rounds{again}" + (f", {summary['stopped']}" if summary["stopped"] else ""))
    if outcome.held_out is not None:
        click.echo(f"validation: {outcome.held_out}")
    if outcome.test is not None:
        click.echo(f"on {len(outcome.test)} held-out pairs ({outcome.split}): {metrics_line(outcome.metrics)}")
    if outcome.tested is not None and outcome.tested.baselines:
        click.echo(f"beside: {metrics_line(outcome.tested.baselines)}  ({outcome.tested.metric})")
    if outcome.advice is not None:
        click.echo(outcome.advice)
