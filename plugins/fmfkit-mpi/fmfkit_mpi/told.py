"""What is told of the data before several ranks train on it: of all pairs, though each rank has some."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
from fmfkit_mpi.group import Group

from fmfkit import Dataset
from fmfkit.commands import Recognised

HISTORY = "history"


def report(group: Group, data: Dataset, *, given: bool, positives: bool) -> Any:
    """Return the report of the data of all ranks, on rank 0, and None on others.

    Args:
        group: the ranks.
        data: what a rank has.
        given: whether the user said what pairs are taken as.
        positives: whether they are taken as positives only.
    """
    met = [np.unique(data.query), np.unique(data.target)]
    y = (np.min(data.y), np.sum(data.y), np.max(data.y)) if len(data) else (np.inf, 0.0, -np.inf)
    every = group.each((len(data), len(met[0]), met[1], y))
    if group.rank:
        return None
    pairs = sum(one[0] for one in every)
    cold = (
        data.shape[0] - sum(one[1] for one in every),
        data.shape[1] - len(np.unique(np.concatenate([one[2] for one in every]))),
    )
    least, total, most = (
        min(one[3][0] for one in every),
        sum(one[3][1] for one in every),
        max(one[3][2] for one in every),
    )
    few = np.zeros(2, np.int32)  # blocks do not depend on pairs, but for the history
    stand_in = attrs.evolve(data, query=few, target=few, y=np.array([least, most]), weight=None, time=None, counted=0)
    note = None if given or not positives else _why(data, pairs, least)
    found = stand_in.report(recognised=Recognised(positives, note))
    blocks = tuple(
        attrs.evolve(block, nonzeros=pairs, density=pairs / max(np.prod(data.shape), 1), without=cold[0])
        if block.name == HISTORY
        else block
        for block in found.blocks
    )
    changed = {"pairs": pairs, "cold_queries": cold[0], "cold_targets": cold[1], "blocks": blocks}
    return attrs.evolve(found, **changed, ratings=(float(least), float(total / pairs), float(most)))


def _why(data: Dataset, pairs: int, level: float) -> str:
    """Return why pairs are taken as positives only."""
    if data.columns.get("rating") is None:
        return f"the {pairs:,} pairs have no ratings: taken as positives only (--rating names a column of ratings)"
    return f"all {pairs:,} values are {level:g}: taken as positives only (--ratings to treat them as ratings)"


__all__ = ["report"]
