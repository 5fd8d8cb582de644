"""Sets as large as they can be without slowing steps or starving threads."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
from attrs import validators
from numpy.typing import NDArray

from fmfkit import Features, Partition, PartitionScheduler

SAMPLE = 200_000
"""Non-zeros that eta is estimated from."""


@attrs.frozen
class Adaptive(PartitionScheduler):
    """Random sets whose size follows from the features: the largest of which the median eta is at least ``least_eta``.

    Small sets give larger steps, large ones more to do at once. eta is measured on a part of the rows with H = 1, for
    sizes that double. Where sets of that size would leave a thread with more than ``most_sigma`` times the mean of
    their non-zeros, because of a few heavy features, they are larger still.
    """

    least_eta: float = attrs.field(default=0.5, validator=[validators.gt(0), validators.le(1)])
    most_sigma: float = attrs.field(default=1.5, validator=validators.ge(1))
    threads: int = attrs.field(default=2, validator=[validators.instance_of(int), validators.ge(1)])

    def size(self, features: Features) -> int:
        """Return the size of the sets for some features."""
        if features.cols == 0:
            return 1
        rng = np.random.default_rng(0)  # the same for the same features
        row, column, value = _sample(features, rng)
        order = rng.permutation(features.cols)
        best = 1
        for power in range(int(np.ceil(np.log2(features.cols))) + 1):
            if _median_eta(row, column, value, order, 2**power) < self.least_eta:
                break
            best = min(2**power, features.cols)
        heaviest, mean = int(features.column_sizes.max()), max(float(features.column_sizes.mean()), 1e-9)
        # a set of n features has about n · mean non-zeros; threads share a feature only in pieces of 2048 non-zeros
        balanced = self.threads * min(heaviest, 2048) / mean / self.most_sigma
        return int(min(max(best, np.ceil(balanced)), features.cols))

    def partition(self, features: Features, round: int, rng: np.random.Generator) -> Partition:
        """Shuffle the features and cut the row into sets."""
        size = self.size(features)
        return Partition(rng.permutation(features.cols), np.append(np.arange(0, features.cols, size), features.cols))


def _sample(features: Features, rng: np.random.Generator) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return the entries of random rows: row, column, |value|."""
    lengths = np.diff(features.row_ptr)
    rows = rng.permutation(features.rows)
    rows = np.sort(rows[: max(1, int(np.searchsorted(np.cumsum(lengths[rows]), SAMPLE)))])
    places = [np.arange(features.row_ptr[i], features.row_ptr[i + 1]) for i in rows]
    entries = np.concatenate(places) if places else np.zeros(0, np.int64)
    values = np.abs(features.values_by_row()[entries]).astype(np.float64)
    return np.repeat(np.arange(len(rows)), lengths[rows]), features.row_index[entries], values


def _median_eta(row: NDArray[Any], column: NDArray[Any], value: NDArray[Any], order: NDArray[Any], size: int) -> float:
    """Return the median over features of Σ x² / Σ |x| C, for sets of consecutive features of an order."""
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    key = row * (len(order) // size + 1) + place[column] // size
    _, where = np.unique(key, return_inverse=True)
    conflict = np.bincount(where, weights=value)[where] if len(where) else value
    own = np.bincount(column, weights=value * value, minlength=len(order))
    bounded = np.bincount(column, weights=value * conflict, minlength=len(order))
    seen = bounded > 0
    return float(np.median(own[seen] / bounded[seen])) if seen.any() else 1.0


__all__ = ["Adaptive"]
