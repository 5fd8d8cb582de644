"""What settings become for data: whether it has positives only is decided here, once, and nowhere else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Generic

import attrs
import numpy as np

from fmfkit.data.dataset import Dataset
from fmfkit.data.positives import Recognised, recognise
from fmfkit.errors import DataError
from fmfkit.plugins.registry import resolve
from fmfkit.recommend.recommender import Recommender
from fmfkit.recommend.settings import AnySettings, Settings, default_of
from fmfkit.recommend.warm_start import settings_for

L2 = 0.5
"""Where the search for l2 begins for positives only; its default where negatives are drawn."""
POSITIVES: Mapping[str, Any] = {
    "rank": 64,
    "loss": "square",
    "l2": L2,
    "scale": 0.5,
    "rounds": 12,
    "cells": 30.0,
    "balance": 0.3,
}
"""The defaults for positives only that differ from those for ratings."""


@attrs.frozen
class Settled(Generic[AnySettings]):
    """What settings become for data."""

    settings: AnySettings
    found: Recognised
    """What the data is taken as, and what is said about it."""
    choose: bool = False
    """Whether penalties are to be chosen from the data."""


def settled(asked: AnySettings, data: Dataset, start: Recommender | None = None) -> Settled[AnySettings]:
    """Return what settings become for data; a start's decision is kept."""
    settings = asked if start is None else type(asked)(**settings_for(start, asked))
    found = recognise(data, settings.data)
    if settings.negatives and not found.positives:
        _refuse_zeros_among_ratings(data)
    if not found.positives and (start is not None or settings.negatives or settings.cells):
        found = attrs.evolve(found, warning=None)  # there is more to learn from than equal values
    decided = _with_rounds(resolved(settings, positives=found.positives))
    choose = bool(found.positives and decided.cells and start is None and "l2" not in _fixed(settings))
    return Settled(decided, found, choose)


def resolved(settings: AnySettings, *, positives: bool) -> AnySettings:
    """Return settings with all that is left to the data decided.

    Positives take the defaults that suit them, unless negatives are drawn.
    """
    decided = settings.replace(data="positives" if positives else "ratings")
    if not positives or settings.negatives:
        decided = decided.replace(cells=settings.cells or 0.0)
        learns = not positives and not settings.cells
        return _checked(decided) if learns or "l2" in _fixed(settings) else decided.replace(l2=L2)
    if settings.cells == 0:
        raise ValueError(
            "cells: with 0, and without negatives, positives teach nothing but a constant; leave out cells, or give "
            "negatives=20, or --negatives 20"
        )
    return decided.replace(**{name: value for name, value in POSITIVES.items() if name not in _fixed(settings)})


def _refuse_zeros_among_ratings(data: Dataset) -> None:
    """Refuse negatives, which have y = 0, for ratings that are more than 0 and 1."""
    different = np.unique(data.y)
    if len(different) > 1 and not np.isin(different, (0, 1)).all():
        raise DataError(
            "negatives: they are pairs with y = 0, for data that has positives only, but the ratings run from "
            f"{different[0]:g} to {different[-1]:g}; leave out negatives, or take the pairs as positives: --positives "
            "or data='positives'"
        )


def _with_rounds(settings: AnySettings) -> AnySettings:
    """Return settings with as many rounds as the solver wants, unless they are given."""
    wanted = resolve("solver", settings.solver).rounds
    return settings if wanted is None or "rounds" in settings.given else settings.replace(rounds=wanted)


def _fixed(settings: Settings) -> set[str]:
    """Return the settings that were given, or that a regularizer replaces."""
    return {name for name in settings.given if getattr(settings, name) not in (None, "auto")} | {*settings.replaced}


def _checked(settings: AnySettings) -> AnySettings:
    """Refuse settings that learnt strengths would ignore."""
    if settings.l2 == "auto" and settings.regularizer is None:
        ignored = [name for name in ("bias_l2", "scale", "growth") if name in settings.given]
        if wrong := [name for name in ignored if getattr(settings, name) != default_of(name)]:
            raise ValueError(
                f"{wrong[0]}: strengths are learnt from ratings unless l2 is given; give l2 too, such as {L2:g}, or "
                f"leave out {wrong[0]}"
            )
    return settings


__all__ = ["POSITIVES", "Settled", "resolved", "settled"]
