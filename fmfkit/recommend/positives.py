"""What settings become for data: whether it has positives only is decided here, once, and all later code is told."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import attrs

from fmfkit.data.dataset import Dataset
from fmfkit.data.positives import Recognised, recognise
from fmfkit.recommend.recommender import Recommender
from fmfkit.recommend.settings import Settings
from fmfkit.recommend.warm_start import settings_for

AnySettings = TypeVar("AnySettings", bound=Settings)

POSITIVES: Mapping[str, Any] = {
    "rank": 64,
    "loss": "square",
    "l2": 0.03,
    "scale": 0.5,
    "bias_l2": 0.006,
    "rounds": 8,
    "cells": 0.2,
    "balance": 0.3,
}
"""The defaults for positives only that differ from those for ratings."""

UNTIL_CELLS: Mapping[str, Any] = {
    "loss": "logistic",
    "l2": 1.0,
    "scale": "uniform",
    "bias_l2": 1.0,
    "rounds": 30,
    "cells": 0.0,
    "negatives": 20.0,
}
"""What is used instead until a solver counts all cells: drawn negatives."""


def settled(asked: AnySettings, data: Dataset, start: Recommender | None = None) -> tuple[AnySettings, Recognised]:
    """Return what settings become for data, and what is said about it; a start's decision is kept."""
    settings = asked if start is None else type(asked)(**settings_for(start, asked))
    found = recognise(data, settings.data)
    if not found.positives and (start is not None or settings.negatives or settings.cells):
        found = attrs.evolve(found, warning=None)  # there is more to learn from than equal values
    return resolved(settings, positives=found.positives), found


def resolved(settings: AnySettings, *, positives: bool) -> AnySettings:
    """Return settings with all that is left to the data decided.

    Positives take the defaults that suit them, unless negatives are drawn.
    """
    decided = settings.replace(data="positives" if positives else "ratings")
    if not positives or settings.negatives:
        return decided.replace(cells=settings.cells or 0.0)
    if settings.cells == 0:
        raise ValueError(
            "cells: with 0, and without negatives, positives teach nothing but a constant; leave out cells, or give "
            "negatives=20, or --negatives 20"
        )
    defaults = POSITIVES if settings.cells else {**POSITIVES, **UNTIL_CELLS}
    given = {name for name in settings.given if getattr(settings, name) is not None}
    return decided.replace(**{name: v for name, v in defaults.items() if name not in given | {*settings.replaced}})


__all__ = ["POSITIVES", "resolved", "settled"]
