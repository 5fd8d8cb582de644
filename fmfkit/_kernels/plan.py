"""A round's partition of the features, laid out for the sweep of Algorithm 3."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fmfkit._core import ffi, lib
from fmfkit._kernels.buffers import Array, Table, allocate, integers, pointers
from fmfkit._kernels.library import kernels, team
from fmfkit._kernels.structs import features_fields
from fmfkit.interfaces import Partition
from fmfkit.problem.features import Features

CUT: int = lib.FMF_CUT
"""Columns with more non-zeros are summed in pieces of this size."""
SMALL_SET: int = lib.FMF_SMALL_SET
"""Sets with fewer non-zeros are swept by one thread."""


def without_owned(partition: Partition, features: Features) -> Partition:
    """Return the partition of the shared features that a partition of all makes."""
    keep = features.shared[partition.order]
    before = np.concatenate([[0], np.cumsum(keep)])
    return Partition(partition.order[keep], np.unique(before[partition.offsets]))


def largest_set(partition: Partition) -> int:
    """Return the number of features of the largest set."""
    return int(np.diff(partition.offsets).max(initial=0))


class Plan:
    """A partition and where its columns begin; with ``laid_out``, its non-zeros by row, in buffers for every round."""

    def __init__(self, features: Features, partition: Partition | None = None) -> None:
        """Take the features; a partition is counted at once, not laid out."""
        self.features = features
        self._buffers: dict[str, NDArray[Any]] = {}
        self._scratch: dict[str, NDArray[Any]] = {}
        self._runs = {"set_run": np.zeros(1, np.int64)}
        self._count(Partition([], [0]) if partition is None else partition)

    @classmethod
    def of_one_set(cls, features: Features) -> Plan:
        """Return the plan for all shared features at once, which needs no more than their order."""
        shared = np.flatnonzero(features.shared).astype(np.int32)
        return cls(features, Partition(shared, [0, len(shared)]))

    @staticmethod
    def counts_table(features: int) -> Table:
        """Return what telling columns apart needs."""
        return {"start": Array((features + 1,), np.int64), "cut": Array((features + 1,), np.int64)}

    @staticmethod
    def table(features: Features) -> Table:
        """Return what laying out needs, whatever the partition."""
        n, dtype = features.nonzeros, features.own_value.dtype
        return {
            "conflict": Array((n,), dtype),
            "entry_row": Array((n,), np.int32),
            "entry_place": Array((n,), np.int32),
            "entry_value": Array((n,), dtype),
        }

    @staticmethod
    def scratch_table(features: Features, sets: int, threads: int) -> Table:
        """Return what laying out some sets needs beside."""
        parts = 1 if threads == 1 else max(threads, min(4 * threads, features.nonzeros // (sets + 1)))
        return {
            "set_of": Array((features.cols,), np.int32),
            "place_of": Array((features.cols,), np.int32),
            "cursor": Array((parts, sets), np.int64),
            "C": Array((threads, features.rows), features.own_value.dtype),
        }

    @staticmethod
    def runs_table(runs: int) -> Table:
        """Return what the rows of the sets need, for panels."""
        return {"run_row": Array((runs,), np.int32), "run_ptr": Array((runs + 1,), np.int64)}

    def _count(self, partition: Partition) -> None:
        """Find where columns begin, and which are cut."""
        sizes = self.features.column_sizes[partition.order]
        self.partition = partition
        self.start = np.concatenate([[0], np.cumsum(sizes)])
        self.cut = np.concatenate([[0], np.cumsum(np.where(sizes > CUT, -(-sizes // CUT), 0))])

    def lay_out(self, partition: Partition, threads: int, *, runs: bool = False) -> None:
        """Lay out a (checked) partition, of all features or of some; with its runs for panels."""
        threads = team(threads)
        self._count(partition)
        if not self._buffers:
            self._buffers = allocate(self.table(self.features))
        wanted = self.scratch_table(self.features, len(partition), threads)
        if {name: array.shape for name, array in self._scratch.items()} != {n: a.shape for n, a in wanted.items()}:
            self._scratch = {}
            self._scratch = allocate(wanted)
        dtype = self.features.own_value.dtype
        scratch = pointers(self._scratch, dtype, frozenset())
        scratch["row_parts"] = len(self._scratch["cursor"])
        self._runs = {"set_run": np.zeros(1, np.int64)}
        plan = ffi.new("fmf_plan *", self.fields())
        features = ffi.new("fmf_features *", features_fields(self.features))
        kernels(dtype).plan(features, plan, ffi.new("fmf_plan_scratch *", scratch), threads)
        if runs:
            self._find_runs(plan, threads)

    def _find_runs(self, plan: Any, threads: int) -> None:
        dtype, counts = self.features.own_value.dtype, np.zeros(len(self.partition), np.int64)
        kernels(dtype).runs(plan, integers(counts, np.int64, writable=True), threads)
        set_run = np.concatenate([[0], np.cumsum(counts)])
        self._runs = {"set_run": set_run, **allocate(self.runs_table(int(set_run[-1])))}
        kernels(dtype).runs(ffi.new("fmf_plan *", self.fields()), ffi.NULL, threads)

    def fields(self) -> dict[str, Any]:
        """Return the members of fmf_plan."""
        return {
            "sets": len(self.partition),
            "order": integers(self.partition.order, np.int32),
            "set_ptr": integers(self.partition.offsets, np.int64),
            "start": integers(self.start, np.int64),
            "cut": integers(self.cut, np.int64),
            **pointers({**self._buffers, **self._runs}, self.features.own_value.dtype, frozenset()),
        }

    @property
    def most_pieces(self) -> int:
        """The largest number of pieces of cut columns in a set."""
        return int(np.diff(self.cut[self.partition.offsets]).max(initial=0))

    @property
    def work(self) -> int:
        """The number of non-zeros that are swept."""
        return int(self.start[-1])

    def imbalance(self, threads: int, wide: int = 1) -> float:
        """Return the paper's sigma: the busiest thread's non-zeros over the mean, all sets together.

        Of the share that each thread begins with: when it is done it helps the others. ``wide`` is the number of
        dimensions that are swept at once: the more, the smaller the sets that are shared out.
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


NO_PLAN: Any = ffi.new("fmf_plan *", {"sets": 0, "set_ptr": ffi.NULL})
"""What Algorithms 1 and 2 have for a plan."""

__all__ = ["NO_PLAN", "Plan", "largest_set", "without_owned"]
