"""fmfkit cross-validate: how good a recipe is, whatever part of the data is held out."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import attrs
import click

from fmfkit.cli.common import friendly, metrics_line, readable
from fmfkit.cli.config import FitConfig
from fmfkit.cli.options import given_options, settings_options
from fmfkit.cli.recipes import config_of, data_options, recipe_of, recipe_options
from fmfkit.cli.streams import echo
from fmfkit.data.positives import recognise
from fmfkit.plugins.registry import resolve_callbacks
from fmfkit.recommend.folds import cross_validate
from fmfkit.recommend.resampling import LEVEL

OF_FIT = ("test", "checkpoint")
"""What a file says to ``fmfkit fit`` alone, and would be missed."""


@click.command()
@click.argument("pairs", type=readable)
@click.option(
    "--folds",
    default=5,
    show_default=True,
    type=click.IntRange(2),
    help="How many parts the pairs are divided into; each of them is held out once.",
)
@click.option(
    "--repeats",
    default=1,
    show_default=True,
    type=click.IntRange(1),
    help="How often that is done, each time divided anew.",
)
@click.option(
    "--test",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    metavar="SHARE",
    help="Instead of folds: the share that each of --repeats splits holds out.",
)
@click.option(
    "--level",
    default=LEVEL,
    show_default=True,
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    help="How often intervals hold the mean that other pairs of this kind would give.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@data_options
@settings_options
@recipe_options
@friendly
def command(
    pairs: str, folds: int, repeats: int, test: float | None, level: float, as_json: bool, **options: Any
) -> None:
    """Train on some of PAIRS and measure on the rest, again and again, until each pair was held out.

    Nothing is kept but what was measured: each part, and the means with intervals. PAIRS, and the options that say how
    a model is made, are those of `fmfkit fit`; PAIRS may be its .toml file. --seed is that of the parts, too.
    """
    given = given_options(options)
    if test is not None and "folds" in given_options({"folds": folds}):
        raise click.UsageError("--folds and --test are two ways to hold out; give one of them")
    if test is not None and repeats < 2:
        raise click.UsageError("--test holds out a share once for each of --repeats: give at least --repeats 2")
    config = _without_fit(config_of(pairs, given))
    recipe = recipe_of(config)
    recipe.check()
    resolve_callbacks(config.recipe.callbacks)
    data = config.dataset()
    echo(str(data.report(None, recognise(data, recipe.settings.data))), err=True)
    found = cross_validate(
        recipe,
        data,
        folds=folds,
        repeats=repeats,
        test=test,
        seed=recipe.settings.seed,
        progress=None,
        callbacks=config.recipe.callbacks,
        on_measured=lambda n, of, values: _show(n, of, values, err=as_json),
    )
    if as_json:
        click.echo(json.dumps(found.to_json(level)))
        return
    echo(f"{found.summary(level)}\nintervals of {level:.0%}, corrected for training parts that overlap")


def _show(n: int, of: int, values: Mapping[str, float], *, err: bool) -> None:
    echo(f"part {n} of {of}: {metrics_line(values)}", err=err)


def _without_fit(config: FitConfig) -> FitConfig:
    """Return a configuration without what says how ``fmfkit fit`` tests and keeps; tell what it was."""
    bare = type(config.recipe)()
    said = [name for name in OF_FIT if getattr(config.recipe, name) != getattr(bare, name)]
    if said:
        told = ", ".join(f"recipe.{name}" for name in said)
        echo(f"{told}: of `fmfkit fit` alone, not used here", err=True)
    return attrs.evolve(config, recipe=attrs.evolve(config.recipe, **{name: getattr(bare, name) for name in OF_FIT}))
