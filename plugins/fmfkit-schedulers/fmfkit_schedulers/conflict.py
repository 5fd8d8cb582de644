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
from fmfkit_schedulers._native import ffi, lib
from numpy.typing import NDArray

from fmfkit import Features, Partition, PartitionScheduler

SETS = 64
"""How many sets the native code fills side by side."""
ROW_STATE = np.dtype([("closed", np.uint64), ("met", np.uint64), ("meetings", np.uintp), ("least", np.float64)])
"""The C struct of that name."""


@attrs.frozen
class BoundedConflict(PartitionScheduler):
    """Sets in which Σ|x| of every row is at most ``conflict_bound`` times each of its |x_is|, so that eta >= 1/c.

    Heavy features first and equal ones in random order, each feature joins the first set that all its rows allow.
    """

    conflict_bound: float = attrs.field(default=4.0, converter=float, validator=validators.ge(1))

    def partition(self, features: Features, round: int, rng: np.random.Generator) -> Partition:
        """Put feature after feature into the first set that can take it."""
        shuffled = rng.permutation(features.cols)
        order = shuffled[np.argsort(-features.column_sizes[shuffled], kind="stable")]
        set_of = first_fit(features, order, self.conflict_bound)
        return Partition(np.argsort(set_of, kind="stable"), np.append(0, np.cumsum(np.bincount(set_of))))


@attrs.frozen
class ConflictFree(BoundedConflict):
    """Sets whose features share no row: every step is the lone one, eta = 1. A colouring of the features."""

    conflict_bound: float = attrs.field(default=1.0, init=False)


def first_fit(features: Features, order: NDArray[Any], bound: float) -> NDArray[np.int32]:
    """Return the number of each feature's set: the first that can take it, when features come in this order."""
    order = order.astype(np.int32)
    size = np.abs(features.values_by_column()).astype(np.float64, copy=False)
    room = np.append(0, np.cumsum(np.minimum(np.diff(features.row_ptr), SETS)))
    meetings = np.empty((room[-1], 2))
    rows = np.zeros(features.rows, ROW_STATE)
    rows["meetings"] = meetings.ctypes.data + room[:-1] * meetings.strides[0]
    rows["least"] = np.inf
    np.minimum.at(rows["least"], features.col_index, np.where(size > 0, size, np.inf))
    set_of, joined = np.empty_like(order), np.empty_like(order)

    def pointer(kind: str, array: NDArray[Any]) -> Any:
        return ffi.cast(f"{kind} *", ffi.from_buffer(array))

    columns = {
        "begin": pointer("int64_t", features.col_ptr),
        "row": pointer("int32_t", features.col_index),
        "size": pointer("double", size),
    }
    scratch = pointer("row_state", rows), pointer("int32_t", order), pointer("int32_t", joined)
    lib.first_fit(ffi.new("columns *", columns), features.cols, bound, *scratch, pointer("int32_t", set_of))
    return set_of


__all__ = ["BoundedConflict", "ConflictFree", "first_fit"]
