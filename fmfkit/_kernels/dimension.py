"""Algorithms 1 to 3 on one side: one latent dimension at a time."""

from __future__ import annotations

from typing import Any, Literal

from fmfkit._core import ffi, lib
from fmfkit._kernels.buffers import Array, Table, pointers
from fmfkit._kernels.components import LossForm
from fmfkit._kernels.library import kernels, team
from fmfkit._kernels.plan import NO_PLAN, Plan, largest_set
from fmfkit._kernels.side import Given, SideUpdate
from fmfkit.interfaces import Partition
from fmfkit.problem.problem import Problem
from fmfkit.problem.strengths import Side


class DimensionUpdate(SideUpdate):
    """A side's update by Algorithm 1, 2, or, with a partition each round, 3."""

    def __init__(self, problem: Problem, side: Side, loss: LossForm, algorithm: Literal[1, 2, 3]) -> None:
        """Look at one side of a problem."""
        super().__init__(problem, side, loss)
        self.algorithm = algorithm

    def own_table(self, threads: int) -> Table:
        """Rows, features and their rows; gradients of a batch of pairs for each thread."""
        dtype, rows, batch = self.problem.dtype, self.side.pairs.rows, self.loss.batch
        if self.algorithm == 1:
            gathered = batch if self.loss.code == lib.FMF_NATIVE else 0
            sizes = {"g": batch, "h": gathered, "s": gathered, "s_y": gathered}
            return {name: Array((n,), dtype) for name, n in sizes.items()}
        squared = self.loss.code == lib.FMF_SQUARE
        per_pair = not squared and self.loss.beta < 0
        return {
            "GH": Array((rows, 2), dtype),
            "step": Array((rows,), dtype),
            "VV": Array((self.their_rows, 2), dtype),
            "eta": Array((self.side.features.cols if self.algorithm == 3 else 0,), dtype),
            "g": Array((threads, 0 if squared else batch), dtype),
            "h": Array((threads, batch if per_pair else 0), dtype),
        }

    def round_table(self, plan: Plan) -> Table:
        """Return room for the steps of the largest set, and for what a plugin's T is given."""
        dtype, largest = self.problem.dtype, largest_set(plan.partition)
        asked = dict.fromkeys(("x", "y", "w", "strength"), Array((largest if self.has_tables else 0,), dtype))
        return {"delta": Array((largest,), dtype), "partial": Array((plan.most_pieces, 2), dtype), **asked}

    def plan_table(self, partition: Partition | None, threads: int) -> Table:
        """Return what laying out the sets takes."""
        if partition is None:
            return {}
        features = self.side.features
        counts = Plan.counts_table(features.cols)
        return {**Plan.table(features), **Plan.scratch_table(features, len(partition), threads), **counts}

    def update(self, given: Given, partition: Partition | None) -> None:
        """Update every dimension, the bias first."""
        dtype, threads = self.problem.dtype, team(given.threads)
        arrays = dict(self._own(threads))
        if partition is not None:
            self.plan = self.plan or Plan(self.side.features)
            self.plan.lay_out(partition, threads)
            arrays |= self._by_round(self.plan)
            self.eta = arrays["eta"]
        scratch = ffi.new("fmf_dimension *", self._fields(arrays))
        side = self._struct(given)
        if self.algorithm == 1:
            kernels(dtype).naive(side, scratch)
        else:
            plan = NO_PLAN if self.plan is None else ffi.new("fmf_plan *", self.plan.fields())
            kernels(dtype).descend(side, plan, scratch, threads)
        self._raise_errors()

    def _fields(self, arrays: dict[str, Any]) -> dict[str, Any]:
        fields = pointers(arrays, self.problem.dtype, frozenset())
        if self.algorithm == 2:
            fields["eta"] = ffi.NULL
        return fields


__all__ = ["DimensionUpdate"]
