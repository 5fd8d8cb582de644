"""fmfkit fit: from a file of pairs to a model file."""

from __future__ import annotations

import json
import shlex
import sys
from contextlib import suppress
from typing import Any

import click

from fmfkit.cli.common import existing, friendly, keep, metrics_line, readable
from fmfkit.cli.config import FitConfig
from fmfkit.cli.options import given_options, settings_options, spelled
from fmfkit.cli.recipes import SHARE, config_of, data_options, recipe_of, recipe_options
from fmfkit.cli.signals import Stopper, stop_after_round
from fmfkit.cli.streams import echo
from fmfkit.data.report import Report
from fmfkit.files import destination
from fmfkit.plugins.registry import resolve_callbacks
from fmfkit.recommend.fmf import FMF
from fmfkit.recommend.recipe import Outcome
from fmfkit.recommend.recommender import Recommender
from fmfkit.recommend.settings import names
from fmfkit.recommend.tuning import Tuned
from fmfkit.training.callbacks import Checkpoint


@click.command()
@click.argument("pairs", type=readable)
@data_options
@click.option(
    "--out", default="model.fmf", show_default=True, type=click.Path(dir_okay=False), help="Model file to write."
)
@settings_options
@click.option(
    "--start",
    type=existing,
    help="Model to go on from, with its settings and, unless asked for, no validation; PAIRS may have new ids.",
)
@recipe_options
@click.option(
    "--test", default=0.0, show_default=True, type=SHARE, help="Share to hold out and to measure the model on."
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
    config = config_of(pairs, given)
    earlier = None if start is None else Recommender.load(start, threads=config.settings.get("threads"))
    recipe = recipe_of(config, earlier)
    recipe.check(earlier)
    resolve_callbacks(config.recipe.callbacks)
    out = config.recipe.out
    destination(out)
    if report is not None:
        destination(report)
    checkpoint = _checkpoint(config, resume=resume)
    data = config.dataset(None if earlier is None else earlier.columns)
    outcome, found = None, None

    def on_report(told: Report) -> None:
        nonlocal found
        found = told
        echo(str(told), err=True)

    with stop_after_round(checkpoint) as stopper, suppress(KeyboardInterrupt):
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
            asked = recipe.settings
            outcome.recommender.report(outcome.test, data=found, command=made_by, asked=asked).save(report)
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
