"""``fmfkit bench accuracy``: models on real data, with features and without, after the same search for settings."""

from __future__ import annotations

import time
from collections.abc import Callable

import attrs
import click
from fmfkit_bench import options
from fmfkit_bench.data import real
from fmfkit_bench.data.real import Real
from fmfkit_bench.peers.adapters.fmfkit import SPLITS
from fmfkit_bench.results.report import Report
from fmfkit_bench.results.sections import Cell, Claim, Section, Table

from fmfkit import FMF, Recipe

METRICS = {True: "precision@1", False: "rmse"}
"""By whether the data has positives only."""
COLUMNS = ["model", "metric", "validation", "test", "no setting", "search s", "training s", "settings"]


@attrs.frozen
class Options:
    """What the user asks for."""

    files: tuple[str, ...]
    rank: int
    seed: int
    trials: int
    rounds: int
    threads: int | None


@click.command("accuracy")
@click.argument("files", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False))
@options.rank
@options.seed
@click.option("--trials", default=40, show_default=True, type=click.IntRange(1), help="Settings to try for each model.")
@options.rounds(50, "Rounds of each trial, at most.")
@options.threads
@options.reported(Options, "Accuracy on real data")
def command(given: Options, report: Report) -> None:
    """Search settings on a part of the training pairs of .npz FILES, train, and measure on their test pairs.

    Models with features are compared with models without. Ratings are judged by the RMSE. Data with positives only is
    judged by how often the best target is right.
    """
    for file in given.files:
        report.add(measure(real.load(file), given, report.say))


@attrs.frozen
class Outcome:
    """One model on one data set."""

    features: bool
    metric: str
    validation: float
    test: float
    """The metric on the test part, for the settings that were best on the validation part, trained on both."""
    untuned: float
    """The same without any search: what ``fmfkit fit`` makes where no setting is given but the rank."""
    settings: FMF
    search_seconds: float
    train_seconds: float

    @property
    def label(self) -> str:
        """What the table calls the model."""
        return "with features" if self.features else "ids only"


def measure(data: Real, given: Options, say: Callable[[str], None]) -> Section:
    """Search settings on a part of the training pairs, train on all of them, and look at the test part once."""
    front = FMF(rank=given.rank, rounds=given.rounds, seed=given.seed, threads=given.threads)
    outcomes = []
    for features in (False, True):
        outcomes.append(_one(data, front, given, features=features))
        last = outcomes[-1]
        say(f"{data.name}, {last.label}: {last.metric} {last.test:.4f}, {_searched(last.settings)}")
    return _section(data, outcomes, given)


def _one(data: Real, front: FMF, given: Options, *, features: bool) -> Outcome:
    train, test = (data.train, data.test) if features else (data.plain_train, data.plain_test)
    metric = METRICS[data.positives_only]
    part, held_out = data.parts(train, given.seed)
    began = time.perf_counter()
    tuned = front.tune(part, trials=given.trials, validate=held_out, metric=metric, progress=False)
    searched = time.perf_counter()
    trained = tuned.best.fit(train, progress=False)
    done = time.perf_counter()
    front = FMF(rank=given.rank, seed=given.seed, threads=given.threads)
    untuned = Recipe(settings=front, split=SPLITS[data.cold]).run(train, progress=False).recommender
    return Outcome(
        features=features,
        metric=metric,
        validation=tuned.value,
        test=trained.evaluate(test, metric)[metric],
        untuned=untuned.evaluate(test, metric)[metric],
        settings=tuned.best,
        search_seconds=searched - began,
        train_seconds=done - searched,
    )


def _section(data: Real, outcomes: list[Outcome], given: Options) -> Section:
    plain, full = outcomes
    better = full.test > plain.test if data.positives_only else full.test < plain.test
    rows: list[list[Cell]] = [
        [
            one.label,
            one.metric,
            one.validation,
            one.test,
            one.untuned,
            one.search_seconds,
            one.train_seconds,
            _searched(one.settings),
        ]
        for one in outcomes
    ]
    about = f"Settings are the best of {given.trials} on a validation part; the test part is looked at once."
    found = f"{full.metric} {full.test:.4f} with them, {plain.test:.4f} without"
    return Section(
        data.name,
        data.name,
        about,
        tables=[Table(f"{data.name}: models", COLUMNS, rows)],
        claims=[Claim("features help", data.name, better, found)],
    )


def _searched(settings: FMF) -> str:
    """Return the settings that the search chose."""
    if settings.l2 == "auto":
        names: tuple[str, ...] = ("rounds", "shrink", "spread")
    else:
        names = ("rounds", "l2", "cells" if settings.cells else "bias_l2", "growth", "balance")
    numbers = {name: getattr(settings, name) for name in names}
    return ", ".join(f"{name} {value:.3g}" for name, value in (numbers | dict(settings.strengths)).items())


__all__ = ["Outcome", "command", "measure"]
