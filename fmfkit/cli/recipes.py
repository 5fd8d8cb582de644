"""What ``fmfkit fit`` and ``fmfkit cross-validate`` have in common: the options of data and of a recipe."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import attrs
import click

from fmfkit.cli.common import bad_rows_option, existing, loader_option
from fmfkit.cli.config import DataConfig, FitConfig, read_config
from fmfkit.cli.streams import text
from fmfkit.data.roles import DUPLICATES
from fmfkit.data.splits import SPLITS
from fmfkit.recommend.fmf import FMF
from fmfkit.recommend.recipe import Recipe
from fmfkit.recommend.recommender import Recommender

Command = TypeVar("Command", bound=Callable[..., Any])

ELSEWHERE = ("out", "callbacks", "checkpoint", "checkpoint_every")
"""What a file says of a recipe that is no part of a ``Recipe``."""
SHARE = click.FloatRange(0, 1, max_open=True)

_DATA = (
    loader_option,
    click.option("--queries", type=existing, help="Table of attributes of the queries."),
    click.option("--targets", type=existing, help="Table of attributes of the targets."),
    click.option("--label", type=text, help="Column of --targets that answers show; title or name if left out."),
    click.option(
        "--query", type=text, help="Column of PAIRS with the queries' ids; found by name or place if left out."
    ),
    click.option("--target", type=text, help="Column with the targets' ids."),
    click.option("--rating", type=text, help="Column with the ratings."),
    click.option("--weight", type=text, help="Column with weights."),
    click.option("--time", type=text, help="Column with the time of each pair."),
    click.option("--history/--no-history", help="Give queries the targets they are paired with as features (SVD++)."),
    click.option(
        "--duplicates",
        default="auto",
        show_default=True,
        type=click.Choice(DUPLICATES),
        help="What to do with a pair that occurs twice; auto counts it twice, as a weight, where there are no ratings "
        "or all are equal, and is an error otherwise.",
    ),
    bad_rows_option,
)
_RECIPE = (
    click.option(
        "--tune",
        default=0,
        show_default=True,
        type=click.IntRange(0),
        metavar="TRIALS",
        help="First search for l2, bias-l2, strengths, and growth and balance if above 0, for that many trials "
        "(positives only: l2, cells, balance, strengths); then train on all training pairs.",
    ),
    click.option(
        "--validate",
        default=0.1,
        show_default=True,
        type=SHARE,
        help="Share of the training pairs, held out as the test part is, that chooses the number of rounds before all "
        "are trained on; 0: all rounds.",
    ),
    click.option(
        "--refit/--no-refit",
        default=True,
        show_default=True,
        help="Whether to train on all training pairs, the validation part too, once it has chosen the number of "
        "rounds.",
    ),
    click.option(
        "--split",
        type=click.Choice(SPLITS),
        help="How to hold out; per-query if the data has positives only, else random, if left out.",
    ),
    click.option("--choose-by", "metric", help="What chooses the round, and settings, such as rmse or ndcg@10."),
    click.option("--metric", "metrics", multiple=True, help="What to measure on the test part; may be given again."),
    click.option(
        "--callback",
        "callbacks",
        multiple=True,
        help="What to call after each round, such as log:to=FILE or time_budget:seconds=60: see `fmfkit plugins`; may "
        "be given again.",
    ),
)


def data_options(command: Command) -> Command:
    """Add the options that say what is read."""
    for option in reversed(_DATA):
        command = option(command)
    return command


def recipe_options(command: Command) -> Command:
    """Add the options that say how a model is made, and what is measured."""
    for option in reversed(_RECIPE):
        command = option(command)
    return command


def config_of(pairs: str, given: dict[str, Any]) -> FitConfig:
    """Return what the file says, if it is a .toml file, overridden by the options that were given."""
    config = read_config(pairs) if pairs.endswith(".toml") else FitConfig(data=DataConfig(pairs=pairs))
    given = {name: list(value) if name in ("metrics", "callbacks") else value for name, value in given.items()}
    sides = {
        name: attrs.evolve(getattr(config.data, name), table=given.pop(name))
        for name in ("queries", "targets")
        if name in given
    }
    if "label" in given:
        sides["targets"] = attrs.evolve(sides.get("targets", config.data.targets), label=given.pop("label"))
    parts = {}
    for section in ("data", "model", "recipe"):
        part = getattr(config, section)
        known = {field.name for field in attrs.fields(type(part))}
        parts[section] = attrs.evolve(part, **{name: value for name, value in given.items() if name in known})
    parts["data"] = attrs.evolve(parts["data"], **sides)
    return FitConfig(**parts)


def recipe_of(config: FitConfig, earlier: Recommender | None = None) -> Recipe:
    """Return the recipe of a configuration; a fit that starts from a model has no validation unless asked for."""
    options = {name: value for name, value in attrs.asdict(config.recipe).items() if name not in ELSEWHERE}
    if options["validate"] is None:
        options["validate"] = 0.1 if earlier is None else 0.0
    return Recipe(settings=FMF(**config.settings), **options)


__all__ = ["SHARE", "config_of", "data_options", "recipe_of", "recipe_options"]
