"""An update by panels taken apart: what ``fmfkit.kernels`` shows to solvers of plugins."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fmfkit._core import ffi, lib
from fmfkit._kernels.buffers import Array, allocate, pointers, reals
from fmfkit._kernels.cells import Gram
from fmfkit._kernels.components import PANEL, LossForm
from fmfkit._kernels.library import kernels, team
from fmfkit._kernels.panel import DOUBLES, PanelUpdate
from fmfkit._kernels.side import Given
from fmfkit._kernels.structs import features_fields
from fmfkit.problem.problem import Problem
from fmfkit.problem.strengths import Side
from fmfkit.typing import Reals

BIAS = -1
"""The panel of a side's bias."""
KEPT = ("G", "A", "move", "u", "Au", "view", "VV", "g", "h")
"""Of the arrays of an update, those that its parts need."""


class Parts(PanelUpdate):
    """The kernels of one side one by one; owns the scores of all pairs. Arrays that it is given are checked before."""

    def __init__(self, problem: Problem, side: Side, threads: int) -> None:
        """Allocate what the kernels need."""
        super().__init__(problem, side, LossForm.of(problem.loss, problem.dtype), directions=1)
        self.threads = team(threads)
        self.arrays = self._allocated()
        self.theirs: Reals | None = None
        self._score = np.empty(problem.pairs, problem.dtype)
        self._gram: Gram | None = None
        self._X: Any = ffi.new("fmf_features *", features_fields(side.features))
        self._kernels = kernels(problem.dtype)

    def rescore(self, mine: Reals, theirs: Reals) -> float:
        """Make the scores of all pairs, and go on from there; return their loss."""
        self.theirs, self.embedding = theirs, mine
        other = self.problem.target if self.side.name == "query" else self.problem.query
        if other.cells is not None:
            self._gram = Gram.of(theirs, other.cells, self.threads)
        return self.score(theirs, self._score, self.threads)

    @property
    def scores(self) -> Reals:
        """(pairs) The scores of all pairs."""
        kept_less_y = self.loss.code == lib.FMF_SQUARE
        return self._score + self.side.pairs.y if kept_less_y else self._score.copy()

    def gradients(self) -> tuple[Reals, Reals]:
        """Return g and h of all pairs: (pairs) each."""
        g, h = np.empty_like(self._score), np.empty_like(self._score)
        self._kernels.pair_gradients(self._given(), self._written(g), self._written(h), self.threads)
        self._raise_errors()
        return g, h

    def sums(self, panel: int) -> tuple[Reals, Reals]:
        """Return G and A of a panel, until the next call."""
        self._kernels.panel_sums(self._given(), self._scratch(), column(panel), self.threads)
        self._raise_errors()
        return self.arrays["G"], self.arrays["A"]

    def own_steps(self, W: Reals, G: Reals, A: Reals, panel: int) -> Reals:
        """Let own features take their steps in W; return what rows moved by."""
        self.arrays["G"][...], self.arrays["A"][...] = G, A
        self.arrays["move"].fill(0)
        self._kernels.panel_own(self._given(W), self._scratch(), column(panel), self.threads)
        self._raise_errors()
        return self.arrays["move"].copy()

    def move(self, moves: Reals, panel: int) -> None:
        """Bring the scores up to date."""
        self.arrays["move"][...] = moves
        self._kernels.panel_move(self._given(), self._scratch(), column(panel), self.threads)

    def by_feature(self, rows: Reals, *, squared: bool) -> Reals:
        """Return Σ_i x_is rows_i, or with x_is²: (features, 8)."""
        out = self._eight(self.side.features.cols)
        self._kernels.feature_sums(self._X, self._read(rows), squared, self._written(out), self.threads)
        return out

    def by_row(self, features: Reals) -> Reals:
        """Return Σ_s x_is features_s: (rows, 8)."""
        out = self._eight(self.side.features.rows)
        self._kernels.row_sums(self._X, self._read(features), self._written(out), self.threads)
        return out

    def times(self, A: Reals, rows: Reals) -> Reals:
        """Return A_i rows_i: (rows, 8)."""
        out = self._eight(self.side.features.rows)
        self._kernels.row_products(self._X, self._read(A), self._read(rows), self._written(out), self.threads)
        return out

    @contextmanager
    def native(self, W: Reals) -> Iterator[int]:
        """Give the address of a fmfkit_side of fmfkit.h; raise then what functions in Python raised."""
        given, scratch = self._given(W), self._scratch()
        made = ffi.new("char[]", lib.fmf_native_side_bytes())
        lib.fmf_native_side(given, scratch, self.problem.dtype.itemsize, self.threads, made)
        try:
            yield int(ffi.cast("uintptr_t", made))
        finally:
            self._raise_errors()

    def _allocated(self) -> dict[str, NDArray[Any]]:
        table = dict(self.own_table(self.threads))
        kept = {name: table[name] for name in KEPT}
        if self.has_tables:
            asked = Array((self.side.features.rows,), self.problem.dtype)
            kept |= dict.fromkeys(("x", "y", "w", "strength", "d"), asked)
        self.prepare_cells()
        return allocate(kept)

    def _given(self, W: Reals | None = None) -> Any:
        """Return the fmf_side; parts that leave the parameters alone need none."""
        assert self.theirs is not None
        width = self.problem.rank + (self.side.bias is not None)
        parameters = np.empty((0, width), self.problem.dtype) if W is None else W
        return self._struct(Given(parameters, self.theirs, self._score, self.threads, gram=self._gram))

    def _scratch(self) -> Any:
        fields = pointers(self.arrays, self.problem.dtype, DOUBLES)
        return ffi.new("fmf_panel *", {**fields, "scored": 1, "directions": 1})

    def _eight(self, count: int) -> Reals:
        return np.empty((count, PANEL), self.problem.dtype)

    def _read(self, array: Reals) -> Any:
        return reals(array, self.problem.dtype)

    def _written(self, array: Reals) -> Any:
        return reals(array, self.problem.dtype, writable=True)


def column(panel: int) -> int:
    """Return the panel's first column, or what C takes for the bias."""
    return BIAS if panel == BIAS else panel * PANEL
