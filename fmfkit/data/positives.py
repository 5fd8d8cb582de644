"""Data that has positives only: pairs that happened, whose values say nothing more."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import attrs
import numpy as np
from numpy.typing import NDArray

from fmfkit.data.splits import Split
from fmfkit.errors import DataError

if TYPE_CHECKING:
    from fmfkit.data.dataset import Dataset

DataKind = Literal["auto", "positives", "ratings"]
"""What data is taken as; "auto" looks at its values."""


@attrs.frozen
class Recognised:
    """Whether data is taken as positives only, and what is said about it."""

    positives: bool
    note: str | None = None
    """Why, where the data decided."""
    warning: str | None = None
    """What is probably a mistake, where the user decided."""


def all_positive(y: NDArray[Any]) -> bool:
    """Return whether all values are one number above 0."""
    return len(y) > 0 and bool(y[0] > 0) and bool((y == y[0]).all())


def recognise(data: Dataset, asked: DataKind = "auto") -> Recognised:
    """Return what data is taken as: as asked, else positives only if all its values are one number above 0."""
    same = all_positive(data.y)
    if asked == "auto":
        return Recognised(same, note=_why(data) if same else None)
    if asked == "positives":
        _refuse_negatives(data)
        return Recognised(True, warning=None if same else _ignored(data.y))
    return Recognised(False, warning=_constant(data.y) if same else None)


def as_positives(data: Dataset) -> Dataset:
    """Return the same pairs with y = 1 where y is above 0, and 0 elsewhere."""
    return attrs.evolve(data, y=(data.y > 0).astype(np.float64))


def usual_split(data: Dataset, *, positives: bool) -> Split:
    """Return how pairs are held out unless asked for: of each query if they are positives, else at random.

    Where no query has several pairs, none could be held out of each.
    """
    return "per-query" if positives and np.bincount(data.query).max() > 1 else "random"


def _why(data: Dataset) -> str:
    if data.columns.get("rating") is None:
        return (
            f"the {len(data):,} pairs have no ratings: taken as positives only (--rating or rating= names a column "
            "of ratings)"
        )
    return (
        f"all {len(data):,} values are {data.y[0]:g}: taken as positives only (--ratings or data='ratings' to treat "
        "them as ratings)"
    )


def _refuse_negatives(data: Dataset) -> None:
    if wrong := int((data.y <= 0).sum()):
        raise DataError(
            f"data: 'positives' takes pairs that happened, but {wrong:,} of {len(data):,} pairs have y of 0 or less; "
            "leave these out, as data.only(data.y > 0) does, or learn the values: --ratings or data='ratings'"
        )


def _ignored(y: NDArray[np.float64]) -> str:
    return (
        f"{len(np.unique(y)):,} distinct values, {y.min():g} to {y.max():g}, are all counted as positives; use "
        "--ratings or data='ratings' to learn them, or --weight or weight= to weigh pairs by them"
    )


def _constant(y: NDArray[np.float64]) -> str:
    return (
        f"all {len(y):,} values are {y[0]:g}: as ratings, nothing but this number can be learnt; use --positives or "
        "data='positives' to rank"
    )


__all__ = ["DataKind", "Recognised", "all_positive", "as_positives", "recognise", "usual_split"]
