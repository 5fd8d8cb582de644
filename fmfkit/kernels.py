"""The kernels of fmfkit's own solvers, for solvers of plugins: in C, threaded, the same bits on any number of threads.

A ``Side`` stands for the queries or the targets of a problem. Latent dimensions are taken by panels of eight: panel k
has dimensions 8 k to 8 k + 7, and ``BIAS`` is the side's bias, a panel of one dimension. Arrays of a panel have eight
columns, in the precision of the problem; those past the rank, or past a bias, are zero.

With u = X d, a step d of some features in a panel changes the objective by at most Σ_i G_i u_i + ½ u_i A_i u_i and what
their penalty changes by: whatever lowers that lowers the objective.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from fmfkit._core import ffi, lib
from fmfkit._kernels import cells, scoring
from fmfkit._kernels.buffers import Array, allocate, pointers, reals
from fmfkit._kernels.cells import Gram
from fmfkit._kernels.components import PANEL as _PANEL
from fmfkit._kernels.components import LossForm
from fmfkit._kernels.library import kernels, team
from fmfkit._kernels.panel import DOUBLES, SYMMETRIC, PanelUpdate
from fmfkit._kernels.side import Given
from fmfkit._kernels.structs import features_fields
from fmfkit.problem.problem import Problem
from fmfkit.problem.strengths import Part
from fmfkit.typing import Reals, SideName

PANEL: Final = _PANEL
"""The dimensions of a panel: eight."""
BIAS: Final = -1
"""The panel of a side's bias."""


class Side:
    """The queries or the targets of a problem, as solvers update them; owns the scores of all pairs."""

    def __init__(self, problem: Problem, name: SideName, threads: int = 1) -> None:
        """Allocate what the kernels need."""
        self._side = problem.query if name == "query" else problem.target
        self._other = problem.target if name == "query" else problem.query
        self._problem, self._threads = problem, team(threads)
        self._update = PanelUpdate(problem, self._side, LossForm.of(problem.loss, problem.dtype), directions=1)
        self._arrays = self._allocated()
        self._score = np.empty(problem.pairs, problem.dtype)
        self._theirs: Reals | None = None
        self._gram: Gram | None = None
        self._X: Any = ffi.new("fmf_features *", features_fields(self._side.features))

    @property
    def rows(self) -> int:
        """The number of instances."""
        return self._side.pairs.rows

    @property
    def features(self) -> int:
        """The number of features: rows of the parameters."""
        return self._side.features.cols

    @property
    def shared(self) -> NDArray[np.bool_]:
        """(features) Which features are no row's own: ``own_steps`` leaves them alone."""
        return self._side.features.shared

    @property
    def panels(self) -> tuple[int, ...]:
        """All panels, the bias first where there is one."""
        factors = range(-(-self._problem.rank // PANEL))
        return tuple(factors) if self._side.bias is None else (BIAS, *factors)

    def columns(self, panel: int) -> slice:
        """Return the columns of the parameters that a panel has."""
        rank = self._problem.rank
        return slice(rank, rank + 1) if panel == BIAS else slice(panel * PANEL, min((panel + 1) * PANEL, rank))

    def strengths(self, panel: int) -> Reals:
        """Return the strengths of all features in the panel's dimensions, (features, at most 8)."""
        part, columns = self.part(panel), self.columns(panel)
        return part.matrix[:, columns.start - part.columns.start : columns.stop - part.columns.start]

    def part(self, panel: int) -> Part:
        """Return the penalised part that a panel belongs to: the bias, or the factors."""
        if panel not in self.panels:
            raise ValueError(f"panel: expected one of {self.panels}, got {panel!r}")
        bias = self._side.bias
        return self._side.factors if panel != BIAS or bias is None else bias

    def embed(self, W: Reals) -> Reals:
        """Return U = X W, (rows, stride): the dimensions, the biases of both sides, zeros."""
        return scoring.embed(self._problem, self._side, W, self._threads)

    def rescore(self, mine: Reals, theirs: Reals) -> float:
        """Make the scores of all pairs from the embeddings of both sides, and go on from there; return their loss.

        With a term over all cells, ``move`` keeps ``mine`` up to date.
        """
        self._theirs = theirs
        self._update.embedding = mine
        if self._other.cells is not None:
            self._gram = Gram.of(theirs, self._other.cells, self._threads)
        return self._update.score(theirs, self._score, self._threads)

    @property
    def scores(self) -> Reals:
        """(pairs) The scores of all pairs, in the order of this side's pairs."""
        kept_less_y = self._update.loss.code == lib.FMF_SQUARE
        return self._score + self._side.pairs.y if kept_less_y else self._score.copy()

    def gradients(self) -> tuple[Reals, Reals]:
        """Return g and h of all pairs at their scores, weights included: (pairs) each."""
        g, h = np.empty_like(self._score), np.empty_like(self._score)
        dtype = self._problem.dtype
        gradient, curvature = (reals(array, dtype, writable=True) for array in (g, h))
        kernels(dtype).pair_gradients(self._struct(), gradient, curvature, self._threads)
        self._update._raise_errors()
        return g, h

    def sums(self, panel: int) -> tuple[Reals, Reals]:
        """Return G, (rows, 8), and A, (rows, 40), of a panel at the scores as they are.

        G_i = Σ_j g_ij V_j and A_i = Σ_j h_ij V_j V_jᵀ, and what other terms of the objective add. A is kept by its
        diagonals: number 8 r + k is A_kl for l = k + r (mod 8); so its first eight numbers are the diagonal, and
        ``unfolded`` makes matrices. Both arrays are written over by the next call.
        """
        self.part(panel)
        kernels(self._problem.dtype).panel_sums(self._struct(), self._scratch(), self._column(panel), self._threads)
        self._update._raise_errors()
        return self._arrays["G"], self._arrays["A"]

    def by_feature(self, rows: Reals, *, squared: bool = False) -> Reals:
        """Return Σ_i x_is rows_i for each feature, or with x_is²: (features, 8)."""
        given, out = self._eight("rows", rows, self.rows), np.empty((self.features, PANEL), self._problem.dtype)
        read, written = reals(given, out.dtype), reals(out, out.dtype, writable=True)
        kernels(out.dtype).feature_sums(self._X, read, squared, written, self._threads)
        return out

    def by_row(self, features: Reals) -> Reals:
        """Return Σ_s x_is features_s for each row: (rows, 8)."""
        given, out = self._eight("features", features, self.features), np.empty((self.rows, PANEL), self._problem.dtype)
        read, written = reals(given, out.dtype), reals(out, out.dtype, writable=True)
        kernels(out.dtype).row_sums(self._X, read, written, self._threads)
        return out

    def times(self, A: Reals, rows: Reals) -> Reals:
        """Return A_i rows_i for each row: (rows, 8)."""
        matrices, given = self._eight("A", A, self.rows, SYMMETRIC), self._eight("rows", rows, self.rows)
        out = np.empty((self.rows, PANEL), self._problem.dtype)
        read, written = [reals(array, out.dtype) for array in (matrices, given)], reals(out, out.dtype, writable=True)
        kernels(out.dtype).row_products(self._X, *read, written, self._threads)
        return out

    def own_steps(self, W: Reals, G: Reals, A: Reals, panel: int) -> Reals:
        """Let each row's own feature take the step that is best given G and A, in place in W; return what U moved by.

        G must be that of the row as it is: G_i + A_i u_i, once it has moved by u_i.
        """
        self.part(panel)
        for name, given, width in (("G", G, PANEL), ("A", A, SYMMETRIC)):
            self._arrays[name][...] = self._eight(name, given, self.rows, width)
        self._arrays["move"].fill(0)
        struct = self._struct(W)
        kernels(self._problem.dtype).panel_own(struct, self._scratch(), self._column(panel), self._threads)
        self._update._raise_errors()
        return self._arrays["move"].copy()

    def move(self, moves: Reals, panel: int) -> None:
        """Bring the scores up to date with what rows have moved by since ``sums`` of the same panel."""
        self.part(panel)
        self._arrays["move"][...] = self._eight("moves", moves, self.rows)
        kernels(self._problem.dtype).panel_move(self._struct(), self._scratch(), self._column(panel), self._threads)

    def _allocated(self) -> dict[str, NDArray[Any]]:
        table = dict(self._update.own_table(self._threads))
        kept = {name: table[name] for name in ("G", "A", "move", "u", "Au", "view", "VV", "g", "h")}
        if self._update.has_tables:
            kept |= dict.fromkeys(("x", "y", "w", "strength", "d"), Array((self.rows,), self._problem.dtype))
        self._update.prepare_cells()
        return allocate(kept)

    def _struct(self, W: Reals | None = None) -> Any:
        if self._theirs is None:
            raise ValueError("there are no scores yet: call rescore(mine, theirs) first")
        width = self._problem.rank + (self._side.bias is not None)
        if W is not None and (W.shape != (self.features, width) or W.dtype != self._problem.dtype):
            wanted = f"{self._problem.dtype} of shape {(self.features, width)}"
            raise ValueError(f"W: expected {wanted}, got {W.dtype} of shape {W.shape}")
        parameters = np.empty((0, width), self._problem.dtype) if W is None else W
        given = Given(parameters, self._theirs, self._score, self._threads, gram=self._gram)
        return self._update._struct(given)

    def _scratch(self) -> Any:
        fields = pointers(self._arrays, self._problem.dtype, DOUBLES)
        return ffi.new("fmf_panel *", {**fields, "scored": 1, "directions": 1})

    def _column(self, panel: int) -> int:
        return -1 if panel == BIAS else panel * PANEL

    def _eight(self, name: str, given: Reals, count: int, width: int = PANEL) -> Reals:
        """Return an array that must have so many rows, C-ordered."""
        if given.shape != (count, width) or given.dtype != self._problem.dtype:
            wanted = f"{self._problem.dtype} of shape {(count, width)}"
            raise ValueError(f"{name}: expected {wanted}, got {given.dtype} of shape {given.shape}")
        return np.ascontiguousarray(given)


def sides(problem: Problem, threads: int = 1) -> tuple[Side, Side]:
    """Return the query side and the target side."""
    return Side(problem, "query", threads), Side(problem, "target", threads)


def unfolded(A: Reals) -> Reals:
    """Return the matrices A_i, (rows, 8, 8), of how ``Side.sums`` keeps them."""
    k, r = np.arange(PANEL), np.arange(PANEL // 2 + 1)[:, None]
    full = np.empty((len(A), PANEL, PANEL), A.dtype)
    kept = A.reshape(len(A), PANEL // 2 + 1, PANEL)
    full[:, k, (k + r) % PANEL] = kept
    full[:, (k + r) % PANEL, k] = kept
    return full


def objective(problem: Problem, P: Reals, Q: Reals, threads: int = 1) -> float:
    """Return the objective: the loss of all pairs, the term over all cells, and the penalties."""
    U, V = (scoring.embed(problem, side, W, threads) for side, W in zip(problem.sides, (P, Q), strict=True))
    parts = ((part, W) for side, W in zip(problem.sides, (P, Q), strict=True) for part in side.parts)
    penalty = sum(scoring.penalty(part, W, threads) for part, W in parts)
    return scoring.loss_of(problem, U, V, threads) + cells.value_of(problem, U, V, threads) + penalty


__all__ = ["BIAS", "PANEL", "Side", "objective", "sides", "unfolded"]
