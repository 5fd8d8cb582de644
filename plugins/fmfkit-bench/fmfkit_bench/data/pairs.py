"""Pairs of queries and targets with what was observed for each, by row numbers."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

Blocks = dict[str, sp.csr_array]
"""Feature blocks of one side, by name."""


@attrs.frozen(eq=False)
class Pairs:
    """Observed pairs; those of generated data are in the order of their queries."""

    query: NDArray[np.int32]
    target: NDArray[np.int32]
    y: NDArray[np.floating[Any]]
    """The observed values: ratings, or 1 for positives and 0 for negatives."""

    def __len__(self) -> int:
        """Return the number of pairs."""
        return len(self.query)

    def only(self, which: NDArray[np.bool_] | slice) -> Pairs:
        """Return some of the pairs."""
        return Pairs(self.query[which], self.target[which], self.y[which])

    def matrix(self, shape: tuple[int, int]) -> sp.csr_array:
        """Return the pairs as a sparse matrix of their y."""
        return sp.csr_array((self.y, (self.query, self.target)), shape=shape)


__all__ = ["Blocks", "Pairs"]
