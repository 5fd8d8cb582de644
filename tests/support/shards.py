"""Sums over shards that are all here."""

import numpy as np

from fmfkit import Observations, Problem, kernels


class InOrder(kernels.Sums):
    """Adds shards up one after the other."""

    def __init__(self, shards):
        self.shards = shards

    def add(self, out, fill):
        fill(0, out)
        for shard in range(1, self.shards):
            other = np.full_like(out, np.nan)
            fill(shard, other)
            out += other

    def gather(self, parts):
        return list(parts)


def even(rows, shards, own=("indicator",)):
    """Return a division into shards of neighbouring rows."""
    return kernels.Division(rows * np.arange(shards + 1) // shards, InOrder(shards), own)


def divided(problem, division):
    """Return the same problem with a division."""
    data = problem.observations
    pairs, X, Z = data.by_query, *({name: side.block(name) for name in side.blocks} for side in (data.X, data.Z))
    given = {"shape": data.shape, "X": X, "Z": Z, "weight": pairs.weight, "dtype": data.dtype}
    laid = Observations.from_coo(pairs.row_of, pairs.other, pairs.y, division=division, **given)
    return Problem(laid, problem.objective)
