"""By how much scores deviate because of each feature block."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from fmfkit.model.model import Model

PAIRS = 10_000
"""Pairs of a random query and a random target that are looked at: enough to know deviations to a hundredth."""


def deviations(model: Model) -> dict[str, float]:
    """Return the standard deviation, over random pairs, of what the features of each block add to the score.

    It is what ``explain`` says of a pair: the block's part of the interaction, and of the bias.
    """
    rng = np.random.default_rng(0)
    i, j = rng.integers(model.X.rows, size=PAIRS), rng.integers(model.Z.rows, size=PAIRS)
    found = {}
    for side, features, W, rows, theirs in (
        ("query", model.X, model.P, i, model.target_embedding[j]),
        ("target", model.Z, model.Q, j, model.query_embedding[i]),
    ):
        for block, columns in features.blocks.items():
            part = features.block(block)[rows] @ W[columns]
            added = np.einsum("nk,nk->n", part[:, : model.rank], theirs) + part[:, model.rank :].sum(axis=1)
            found[f"{side}.{block}"] = float(added.std(dtype=np.float64))
    return found


__all__ = ["deviations"]
