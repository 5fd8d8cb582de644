"""What settings become for data: whether it has positives only is decided here, once, and all later code is told."""

from __future__ import annotations

from typing import TypeVar

import attrs

from fmfkit.data.dataset import Dataset
from fmfkit.data.positives import Recognised, recognise
from fmfkit.recommend.recommender import Recommender
from fmfkit.recommend.settings import Settings
from fmfkit.recommend.warm_start import settings_for

AnySettings = TypeVar("AnySettings", bound=Settings)


def settled(asked: AnySettings, data: Dataset, start: Recommender | None = None) -> tuple[AnySettings, Recognised]:
    """Return what settings become for data, and what is said about it; a start's decision is kept."""
    settings = asked if start is None else type(asked)(**settings_for(start, asked))
    found = recognise(data, settings.data)
    if not found.positives and (start is not None or settings.negatives or settings.cells):
        found = attrs.evolve(found, warning=None)  # there is more to learn from than equal values
    return resolved(settings, positives=found.positives), found


def resolved(settings: AnySettings, *, positives: bool) -> AnySettings:
    """Return settings with all that is left to the data decided."""
    return settings.replace(data="positives" if positives else "ratings", cells=settings.cells or 0.0)


__all__ = ["resolved", "settled"]
