"""Features that occur together are kept apart."""

from __future__ import annotations

import attrs
import numpy as np
from attrs import validators

from fmfkit import Features, Partition, PartitionScheduler


@attrs.frozen
class Apart(PartitionScheduler):
    """``sets`` sets of equal size. Features are put in a row by which rows they share, and dealt out in turn.

    Two features share the least of a random number per row (min-hashing) with a probability of how much they have in
    common, so that those that occur together stand beside each other, and fall to different sets.
    """

    sets: int = attrs.field(default=16, validator=[validators.instance_of(int), validators.ge(1)])

    def partition(self, features: Features, round: int, rng: np.random.Generator) -> Partition:
        """Sort by two min-hashes, and deal."""
        nobody = float(2)
        hashes = []
        for _ in range(2):
            number = np.append(rng.random(features.rows)[features.col_index], nobody)
            least = np.minimum.reduceat(number, features.col_ptr[:-1]) if features.cols else np.zeros(0)
            hashes.append(np.where(np.diff(features.col_ptr) > 0, least, nobody))
        order = np.lexsort((rng.random(features.cols), hashes[1], hashes[0]))
        return Partition.from_sets([order[k :: self.sets] for k in range(self.sets)])


__all__ = ["Apart"]
