"""The term over all cells of the matrix, observed or not."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
from numpy.typing import ArrayLike, NDArray

from fmfkit.arguments import not_negative
from fmfkit.problem.inputs import weights
from fmfkit.typing import Reals


def _row_weights(given: ArrayLike | None) -> NDArray[np.float64] | None:
    return None if given is None else weights(given, np.dtype(np.float64)).astype(np.float64)


def _same(a: Any, b: Any) -> bool:
    return (a is None) == (b is None) and np.array_equal(a, b)


@attrs.frozen
class AllCells:
    """A term that every cell of the matrix pays, whether it was observed or not: for data that has positives only.

    weight · Σ_i Σ_j queries_i · targets_j · (score_ij - value)². It costs about as much as a few pairs per instance,
    for the cells are never visited.
    """

    weight: float = attrs.field(converter=float, validator=not_negative)
    """How much a cell counts beside a pair of weight 1."""
    value: float = attrs.field(default=0.0, converter=float)
    """What the score of a cell is drawn to. It is also the offset, unless one is given."""
    queries: NDArray[np.float64] | None = attrs.field(
        default=None, converter=_row_weights, eq=attrs.cmp_using(eq=_same), hash=False
    )
    """How much each query's cells count. None means 1 for queries that have a pair and 0 for those that have none: they
    would be taught to match nothing."""
    targets: NDArray[np.float64] | None = attrs.field(
        default=None, converter=_row_weights, eq=attrs.cmp_using(eq=_same), hash=False
    )
    """How much each target's cells count, likewise."""

    @value.validator
    def _finite(self, attribute: attrs.Attribute[float], value: float) -> None:
        if not np.isfinite(value):
            raise ValueError(f"{attribute.name}: expected a finite number, got {value!r}")


def row_weights(given: NDArray[np.float64] | None, counts: NDArray[np.int64], dtype: np.dtype[Any], name: str) -> Reals:
    """Return how much the cells of each row count, given its number of pairs."""
    if given is None:
        return (counts > 0).astype(dtype)
    if len(given) != len(counts):
        raise ValueError(f"cells: {len(given)} weights for {len(counts)} {name}")
    return given.astype(dtype)


__all__ = ["AllCells", "row_weights"]
