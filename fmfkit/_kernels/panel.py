"""Updates of one side by panels of latent dimensions."""

from __future__ import annotations

from typing import Any

import numpy as np

from fmfkit._core import ffi, lib
from fmfkit._kernels.buffers import Array, Table, pointers, reals
from fmfkit._kernels.components import PANEL, LossForm
from fmfkit._kernels.library import kernels, team
from fmfkit._kernels.plan import Plan, largest_set, without_owned
from fmfkit._kernels.side import Draws, Given, SideUpdate
from fmfkit.interfaces import Partition
from fmfkit.problem.features import Features
from fmfkit.problem.problem import Problem
from fmfkit.problem.strengths import Side
from fmfkit.typing import Reals

ROWS_AT_ONCE = 65536
"""Rows whose values are added up at a time."""
LINES_BYTES = 8 * 2**20
"""What a thread may use to keep the embeddings of a row's partners side by side."""
TOGETHER_BYTES = 2**18
"""What such embeddings may take of short rows that are updated together: they should stay in a near cache."""
SYMMETRIC = PANEL * (PANEL // 2 + 1)
"""Numbers that hold a symmetric PANEL x PANEL matrix, as the kernels keep it."""
DOUBLES = frozenset(["weights", "row_sums", "feature_sums", "row_common", "feature_common", "chunk_loss"])
"""Arrays that are double whatever the precision of the problem."""


def shared_sums(features: Features) -> Reals:
    """Return, for each row, the sum of its values of shared features; 0 where it is but rounding of what it adds up."""
    if features.row_scale is not None:
        return features.row_scale * (np.diff(features.row_ptr) - (features.own >= 0)).astype(features.own_value.dtype)
    sums = np.zeros(features.rows, features.own_value.dtype)
    least = 1e3 * np.finfo(sums.dtype).eps
    for first in range(0, features.rows, ROWS_AT_ONCE):
        end = min(first + ROWS_AT_ONCE, features.rows)
        values = features.values_by_row(first, end).astype(np.float64)
        ptr = features.row_ptr[first : end + 1] - features.row_ptr[first]
        values[ptr[:-1][features.own[first:end] >= 0]] = 0
        rows = np.repeat(np.arange(end - first), np.diff(ptr))
        total, absolute = (np.bincount(rows, weights=w, minlength=end - first) for w in (values, np.abs(values)))
        sums[first:end] = np.where(np.abs(total) > least * absolute, total, 0)
    return sums


def portions(n: int) -> int:
    """Return how many portions of rows or features are summed apart."""
    return int(-(-n // lib.FMF_PORTION))


class RowsUpdate(SideUpdate):
    """Each row by itself: every feature is some row's own."""

    needs_scores = False
    stores_scores = False
    wide = PANEL

    def __init__(self, problem: Problem, side: Side, loss: LossForm) -> None:
        """Look at one side of a problem."""
        super().__init__(problem, side, loss, values=False)

    @property
    def longest(self) -> int:
        """The largest number of pairs of a row."""
        return int(np.diff(self.side.pairs.ptr).max(initial=0))

    @property
    def panels(self) -> int:
        """The number of panels that the rank makes."""
        return -(-self.problem.rank // PANEL)

    @property
    def _line_bytes(self) -> int:
        return self.panels * PANEL * self.problem.dtype.itemsize

    @property
    def together(self) -> int:
        """How many pairs short rows that are updated together may have."""
        return min(TOGETHER_BYTES // self._line_bytes, self.problem.pairs)

    @property
    def score_room(self) -> int:
        """For how many pairs a thread keeps scores."""
        return max(self.longest, self.together)

    @property
    def lines_room(self) -> int:
        """For how many pairs a thread keeps their embeddings side by side."""
        return min(self.score_room | 1, max(1, LINES_BYTES // self._line_bytes))

    def own_table(self, threads: int) -> Table:
        """Return what threads need for a row."""
        dtype, batch = self.problem.dtype, self.loss.batch
        return {
            "lines": Array((threads, self.panels * self.lines_room, PANEL), dtype),
            "row_score": Array((threads, self.score_room), dtype),
            "g": Array((threads, batch), dtype),
            "h": Array((threads, batch), dtype),
            "chunk_loss": Array((len(self.scored.chunk) - 1,), np.float64),
            "eta": Array((self.side.features.cols,), dtype),
        }

    def sums_apart(self) -> int:
        """One for each chunk and update."""
        return (len(self.scored.chunk) - 1) * self.updates

    def update(self, given: Given, partition: Partition | None) -> float:
        """Update bias and factors of every row, and the embedding; return the weighted loss."""
        dtype, threads = self.problem.dtype, team(given.threads)
        arrays = dict(self._own(threads))
        self.eta = arrays.pop("eta")
        self.eta.fill(1)  # a row's own feature is alone in its set
        rooms = {"lines_room": self.lines_room, "score_room": self.score_room, "together": self.together}
        fields = {**pointers(arrays, dtype, DOUBLES), **rooms}
        total: float = kernels(dtype).panel_rows(self._struct(given), ffi.new("fmf_rows *", fields), threads)
        self._raise_errors()
        return total

    def embed(self, W: Reals, threads: int) -> None:
        """Make the embedding, unless an update just has."""
        super().embed(W, threads)


class PanelUpdate(SideUpdate):
    """All rows together, panel by panel.

    Shared features move along a few conjugate ``directions``, or, where those are 0, set by set of a partition.
    """

    needs_scores = False
    wide = PANEL

    def __init__(self, problem: Problem, side: Side, loss: LossForm, directions: int) -> None:
        """Look at one side of a problem."""
        super().__init__(problem, side, loss, values=not directions)
        self.directions = directions

    def own_table(self, threads: int) -> Table:
        """Rows, features and their rows; gradients of a batch of pairs for each thread."""
        dtype, features, batch = self.problem.dtype, self.side.features, self.loss.batch
        rows, cols, shared = features.rows, features.cols, int(features.shared.sum())
        by_row = {"G": PANEL, "A": SYMMETRIC, "view": 2 * PANEL, "move": PANEL, "u": PANEL, "Au": PANEL}
        table = {
            **{name: Array((rows, width), dtype) for name, width in by_row.items()},
            "VV": Array((self.their_rows, 2 * PANEL), dtype),
            "g": Array((threads, batch), dtype),
            "h": Array((threads, batch), dtype),
            "row_sums": Array((portions(rows), 2), np.float64),
        }
        if not self.directions:
            return {**table, "eta": Array((cols,), dtype)}
        by_feature = dict.fromkeys(("residual", "diagonal", "scaled", "direction"), Array((cols, PANEL), dtype))
        return {
            **table,
            **by_feature,
            **({} if features.row_scale is None else {"push": Array((rows, PANEL), dtype)}),
            "rho": Array((rows,), dtype),
            "feature_sums": Array((portions(shared), 2), np.float64),
            "weights": Array((portions(shared),), np.float64),
            "row_common": Array((portions(rows), PANEL + SYMMETRIC), np.float64),
            "feature_common": Array((portions(shared), PANEL), np.float64),
        }

    def sums_apart(self) -> int:
        """One for each portion of the shared features, and of the rows."""
        return portions(int(self.side.features.shared.sum())) + portions(self.side.features.rows)

    def draws_table(self, draws: Draws) -> Table:
        """Draws of own features; by how much priors are moved, and when panels ended; or the bound and its roots."""
        dtype, features = self.problem.dtype, self.side.features
        own = {"own": Array((features.rows, PANEL), dtype)}
        if draws.chebyshev is None:
            shift = Array((features.cols, PANEL), dtype)
            return {**own, "shift": shift, "ended": Array((self.updates,), np.int32)}
        root, bound = (Array((count, PANEL * (PANEL + 1) // 2), dtype) for count in (features.rows, features.cols))
        return {**own, "conflict": Array((features.rows,), dtype), "root": root, "bound": bound}

    def round_table(self, plan: Plan) -> Table:
        """Return room for the steps of the largest set."""
        dtype, largest = self.problem.dtype, 0 if self.directions else largest_set(plan.partition)
        table = {"partial": Array((plan.most_pieces, SYMMETRIC), dtype), "delta": Array((largest, PANEL), dtype)}
        if self.directions:
            return table
        asked = max(largest * PANEL, self.side.features.rows) if self.has_tables else 0
        names = ("x", "y", "w", "strength", "d")
        return {
            **table,
            "feature_sums": Array((largest, 2), np.float64),
            **dict.fromkeys(names, Array((asked,), dtype)),
        }

    def plan_table(self, partition: Partition | None, threads: int) -> Table:
        """Return what laying out the sets takes."""
        features = self.side.features
        counts = Plan.counts_table(int(features.shared.sum()))
        if self.directions or partition is None:
            return {**counts, "order": Array((int(features.shared.sum()),), np.int32)}
        sets, shared = len(partition), int(features.column_sizes[features.shared].sum())
        runs = Plan.runs_table(min(shared, sets * features.rows))
        return {**Plan.table(features), **Plan.scratch_table(features, sets, threads), **counts, **runs}

    def prepare(self, W: Reals, threads: int) -> None:
        """Allocate what all rounds need, and embed the side."""
        super().prepare(W, threads)
        if self.directions:
            self.plan = Plan.of_one_set(self.side.features)
            self._own_arrays["rho"][:] = shared_sums(self.side.features)

    def update(self, given: Given, partition: Partition | None) -> None:
        """Update the bias and every panel of factors."""
        dtype, threads = self.problem.dtype, team(given.threads)
        rho = self._own_arrays.get("rho")
        arrays = dict(self._own(threads))
        if partition is not None:
            self.plan = self.plan or Plan(self.side.features)
            self.plan.lay_out(without_owned(partition, self.side.features), threads, runs=True)
            self.eta = arrays["eta"]
            self.eta[~self.side.features.shared] = 1  # a row's own feature is taken alone
        assert self.plan is not None
        arrays |= self._by_round(self.plan)
        fields = {**pointers(arrays, dtype, DOUBLES), "scored": given.scored, "directions": self.directions}
        fields.setdefault("push", fields["Au"])
        fields["rho"] = reals(rho, dtype)
        struct = ffi.new("fmf_panel *", fields)
        plan: Any = ffi.new("fmf_plan *", self.plan.fields())
        kernels(dtype).panel_descend(self._struct(given), plan, struct, threads)
        self._raise_errors()
