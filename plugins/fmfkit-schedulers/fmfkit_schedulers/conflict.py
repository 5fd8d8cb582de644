"""Sets with a guarantee: in each, a feature keeps at least the share 1/c of its lone step.

PL2M moves feature s of a set S by its lone step times eta_s = Σ_i H_i x_is² / Σ_i H_i |x_is| C_i, where C_i is the sum
of |x_ir| over the features r of S. Where C_i <= c |x_is| for every row i and every feature s of S that it has,
eta_s >= 1/c, whatever H is.
"""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
from attrs import validators
from numpy.typing import NDArray

from fmfkit import Features, Partition, PartitionScheduler


@attrs.frozen
class BoundedConflict(PartitionScheduler):
    """Sets in which Σ|x| of every row is at most ``conflict_bound`` times each of its |x_is|, so that eta >= 1/c.

    Set after set, light features first and equal ones in random order, a feature joins if all its rows allow it even
    though every feature before it in the order may have joined too. What is left is tried for the next set.
    """

    conflict_bound: float = attrs.field(default=4.0, converter=float, validator=validators.ge(1))

    def partition(self, features: Features, round: int, rng: np.random.Generator) -> Partition:
        """Fill set after set until no feature is left."""
        rank = np.empty(features.cols, np.int64)
        rank[np.lexsort((rng.random(features.cols), features.column_sizes))] = np.arange(features.cols)
        row = np.repeat(np.arange(features.rows), np.diff(features.row_ptr))
        order = np.lexsort((rank[features.row_index], row))
        row, column = row[order], features.row_index[order]
        size = np.abs(features.values_by_row()[order]).astype(np.float64)
        real = size > 0  # a stored zero is in nobody's way
        row, column, size = row[real], column[real], size[real]
        left = np.ones(features.cols, bool)
        sets = []
        while column.size:
            refused = np.zeros(features.cols, bool)
            refused[column[~self._allowed(row, size)]] = True
            members = left & ~refused
            sets.append(np.flatnonzero(members))
            left &= refused
            stays = left[column]
            row, column, size = row[stays], column[stays], size[stays]
        sets.append(np.flatnonzero(left))
        return Partition.from_sets(sets)

    def _allowed(self, row: NDArray[Any], size: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Tell, entry by entry, rows in order, whether its row can hold it and all before it in one set."""
        begins = np.append(True, row[1:] != row[:-1])
        which = np.cumsum(begins) - 1
        first = np.flatnonzero(begins)
        total = np.cumsum(size)
        within = total - (total[first] - size[first])[which]
        # the least so far in each row: an offset that falls from row to row makes the running minimum start anew
        offset = which * (size.max() * 2 + 1)
        least = np.minimum.accumulate(size - offset) + offset
        alone = np.zeros(len(row), bool)
        alone[first] = True
        return np.asarray(alone | (within <= self.conflict_bound * least * (1 - 1e-9)))


@attrs.frozen
class ConflictFree(BoundedConflict):
    """Sets whose features share no row: every step is the lone one, eta = 1. A colouring of the features."""

    conflict_bound: float = attrs.field(default=1.0, init=False)


__all__ = ["BoundedConflict", "ConflictFree"]
