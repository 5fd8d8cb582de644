"""A partition laid out for the sweep of Algorithm 3."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fmfkit._core import ffi, lib
from fmfkit._kernels.buffers import int32, int64, pointer, void
from fmfkit._kernels.library import kernels, succeed, team
from fmfkit._kernels.structs import features_fields
from fmfkit.interfaces import Partition
from fmfkit.problem.features import Features
from fmfkit.typing import Reals

CUT: int = lib.FMF_CUT
"""Columns with more non-zeros are summed in pieces of this size."""
SMALL_SET: int = lib.FMF_SMALL_SET
"""Sets with fewer non-zeros are swept by one thread."""


@attrs.define(eq=False)
class Plan:
    """A partition laid out for the sweep; its large buffers serve every round."""

    features: Features
    conflict: Reals
    entry_row: NDArray[np.int32]
    entry_place: NDArray[np.int32]
    entry_value: Reals
    partition: Partition = attrs.field(init=False)
    start: NDArray[np.int64] = attrs.field(init=False)
    cut: NDArray[np.int64] = attrs.field(init=False)
    set_run: NDArray[np.int64] = attrs.field(init=False, factory=lambda: np.zeros(1, np.int64))
    run_row: NDArray[np.int32] = attrs.field(init=False, factory=lambda: np.zeros(0, np.int32))
    run_ptr: NDArray[np.int64] = attrs.field(init=False, factory=lambda: np.zeros(1, np.int64))

    @classmethod
    def allocate(cls, features: Features) -> Plan:
        """Reserve what a round needs: proportional to the non-zeros of the features."""
        n, dtype = features.nonzeros, features.own_value.dtype
        return cls(features, np.empty(n, dtype), np.empty(n, np.int32), np.empty(n, np.int32), np.empty(n, dtype))

    @classmethod
    def of_one_set(cls, features: Features) -> Plan:
        """Return the plan for all shared features at once, which needs no more than their order."""
        none = np.empty(0, features.own_value.dtype)
        plan = cls(features, none, np.empty(0, np.int32), np.empty(0, np.int32), none)
        plan._count(Partition(np.flatnonzero(features.shared).astype(np.int32), [0, int(features.shared.sum())]))
        return plan

    def _count(self, partition: Partition) -> None:
        """Find where columns begin, and which are cut."""
        sizes = self.features.column_sizes[partition.order]
        self.partition = partition
        self.start = np.concatenate([[0], np.cumsum(sizes)])
        self.cut = np.concatenate([[0], np.cumsum(np.where(sizes > CUT, -(-sizes // CUT), 0))])

    def lay_out(self, partition: Partition, threads: int, *, runs: bool = False) -> None:
        """Lay out a (checked) partition, of all features or of some; with its runs for the block kernels."""
        self._count(partition)
        X = ffi.new("fmf_features *", features_fields(self.features))
        plan = ffi.new("fmf_plan *", self.fields())
        table = kernels(self.conflict.dtype)
        succeed(table.plan(X, plan, team(threads)))
        if runs:
            counts = np.zeros(len(partition), np.int64)
            table.runs(plan, pointer("int64_t *", counts, np.int64, writable=True), team(threads))
            self.set_run = np.concatenate([[0], np.cumsum(counts)])
            self.run_row = np.empty(self.set_run[-1], np.int32)
            self.run_ptr = np.empty(self.set_run[-1] + 1, np.int64)
            table.runs(ffi.new("fmf_plan *", self.fields()), ffi.NULL, team(threads))

    def fields(self) -> dict[str, Any]:
        """Return the members of the C struct."""
        dtype = self.conflict.dtype
        return {
            "sets": len(self.partition),
            "order": int32(self.partition.order),
            "set_ptr": int64(self.partition.offsets),
            "start": int64(self.start),
            "cut": int64(self.cut),
            "conflict": void(self.conflict, dtype, writable=True),
            "entry_row": pointer("int32_t *", self.entry_row, np.int32, writable=True),
            "entry_place": pointer("int32_t *", self.entry_place, np.int32, writable=True),
            "entry_value": void(self.entry_value, dtype, writable=True),
            "set_run": int64(self.set_run),
            "run_row": pointer("int32_t *", self.run_row, np.int32, writable=True),
            "run_ptr": pointer("int64_t *", self.run_ptr, np.int64, writable=True),
        }

    def _largest(self, running: NDArray[np.int64]) -> int:
        at = running[self.partition.offsets]
        return int(np.diff(at).max(initial=0))

    @property
    def largest_set(self) -> int:
        """The number of features of the largest set."""
        return int(np.diff(self.partition.offsets).max(initial=0))

    @property
    def most_pieces(self) -> int:
        """The largest number of pieces of cut columns in a set."""
        return self._largest(self.cut)

    def imbalance(self, threads: int, wide: int = 1) -> float:
        """Return the paper's sigma: the busiest thread's non-zeros over the mean, all sets together.

        ``wide`` is the number of dimensions that are swept at once: the more, the smaller the sets that are shared out.
        """
        if threads == 1 or self.start[-1] == 0:
            return 1.0
        begin, end = self.start[self.partition.offsets[:-1]], self.start[self.partition.offsets[1:]]
        lines = begin[:, None] + (end - begin)[:, None] * np.arange(threads + 1) // threads  # (sets, threads + 1)
        pieces = self._piece_starts()
        load = np.diff(pieces[np.searchsorted(pieces, lines)], axis=1)
        small = (end - begin) * wide < SMALL_SET
        load[small, 0], load[small, 1:] = (end - begin)[small], 0
        return float(load.max(axis=1).sum() / load.mean(axis=1).sum())

    def _piece_starts(self) -> NDArray[np.int64]:
        """Return where the columns, and the pieces of cut ones, begin: a thread takes those that begin in its share."""
        cut = np.flatnonzero(np.diff(self.cut))
        inner = [np.arange(self.start[t], self.start[t + 1], CUT) for t in cut]
        return np.unique(np.concatenate([self.start, *inner]))
