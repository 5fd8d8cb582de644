"""Updates of one side in all latent dimensions at once, for regularizers of a feature's whole row of parameters.

Proximal steps with momentum. A step goes from a place beyond W, on the line from where W was before: with slopes x
and curvatures y there, every feature moves by T(x, share · y, w). A share of 1 is the bound of
csrc/template/proximal.h, which is far above what the data bends by. A smaller one is tried, and taken where the data
bends by no more along the step. So no step raises the objective.
"""

from __future__ import annotations

import attrs
import numpy as np

from fmfkit._core import ffi
from fmfkit._kernels import cells
from fmfkit._kernels.buffers import Array, Table, pointers, reals
from fmfkit._kernels.cells import Gram, gram_table
from fmfkit._kernels.components import LossForm, PenaltyForm
from fmfkit._kernels.library import kernels, team
from fmfkit._kernels.scoring import embed, penalty
from fmfkit._kernels.side import Given, SideUpdate
from fmfkit._kernels.structs import stride
from fmfkit.arguments import check_batch, frozen
from fmfkit.interfaces import Partition
from fmfkit.problem.features import SCALE_ROWS, Features
from fmfkit.problem.problem import Problem
from fmfkit.problem.strengths import Part, Side
from fmfkit.typing import Reals

STEPS = 6
"""In an update."""
FIRST_SHARE = 1 / 16
SPARE = 1.2
"""How much above what a step bends by the next one's share is."""


def absolute_sums(features: Features) -> Reals:
    """Return C_i = Σ_s |x_is| of each row."""
    sums = np.zeros(features.rows, features.dtype)
    for first in range(0, features.rows, SCALE_ROWS):
        ptr = features.row_ptr[first : first + SCALE_ROWS + 1]
        values = np.abs(features.values_by_row(first, first + SCALE_ROWS), dtype=np.float64)
        rows = np.repeat(np.arange(len(ptr) - 1), np.diff(ptr))
        sums[first : first + len(ptr) - 1] = np.bincount(rows, weights=values, minlength=len(ptr) - 1)
    return sums


@attrs.define(eq=False)
class _Place:
    """Parameters, and what follows from them."""

    W: Reals
    U: Reals
    score: Reals
    loss: float = 0.0
    objective: float = 0.0
    """What this side can change of it."""

    @property
    def _arrays(self) -> tuple[Reals, Reals, Reals]:
        return self.W, self.U, self.score

    def take(self, other: _Place) -> None:
        """Become a copy of another place."""
        for mine, theirs in zip(self._arrays, other._arrays, strict=True):
            mine[...] = theirs
        self.loss, self.objective = other.loss, other.objective

    def go_beyond(self, here: _Place, before: _Place, by: float) -> None:
        """Become the place that lies further on than ``here``, by a share of the way from ``before`` to it."""
        for mine, now, then in zip(self._arrays, here._arrays, before._arrays, strict=True):
            np.subtract(now, then, out=mine)
            mine *= mine.dtype.type(by)
            mine += now


class ProximalUpdate(SideUpdate):
    """All features together, a feature's whole row of parameters at a time."""

    needs_scores = False

    def __init__(self, problem: Problem, side: Side, loss: LossForm) -> None:
        """Look at one side of a problem."""
        super().__init__(problem, side, loss, values=False)

    def _penalty(self, name: str) -> PenaltyForm | None:
        return None  # C asks no regularizer

    @property
    def _slots(self) -> list[int]:
        """The columns of an embedding that stand for those of the parameters, in their order."""
        own = [] if self.side.bias_slot is None else [self.side.bias_slot]
        return [*range(self.problem.rank), *own]

    def own_table(self, threads: int) -> Table:
        """Three places beside the given one; what pairs, rows and features get."""
        dtype, features, width, pairs = self.problem.dtype, self.side.features, stride(self.problem), self.problem.pairs
        of_place = {"W": (features.cols, len(self._slots)), "U": (features.rows, width), "score": (pairs,)}
        with_cells = {"M": (width, width), "m": (width,), "cell_weight": (features.rows,)}
        shapes = {
            **{f"{name} {of}": shape for name in ("before", "beyond", "tried") for of, shape in of_place.items()},
            **{"g": (pairs,), "h": (pairs,), "square": (self.their_rows,)},
            **{"conflict": (features.rows,), "G": (features.rows, width), "bound": (features.rows,)},
            **{"slope": (features.cols, width), "curvature": (features.cols,)},
            **(with_cells if self.side.cells is not None else {}),
        }
        return {name: Array(shape, dtype) for name, shape in shapes.items()}

    def _cells_table(self) -> Table:
        return {} if self.side.cells is None else gram_table(self.side.pairs.rows, stride(self.problem))

    def prepare_cells(self) -> None:
        """What the term over all cells needs is among its own arrays."""

    def prepare(self, W: Reals, threads: int) -> None:
        """Allocate what all rounds need, and embed the side."""
        super().prepare(W, threads)
        self._own_arrays["conflict"][:] = absolute_sums(self.side.features)
        self._own_arrays["tried U"][:] = self.embedding  # 1 where the other side's bias stands

    def update(self, given: Given, partition: Partition | None) -> float:
        """Take some steps; return the weighted loss."""
        self._look_at_others(given)
        here = _Place(given.W, self.embedding, given.score)
        before, beyond, tried = (self._place(name) for name in ("before", "beyond", "tried"))
        self._measure(here, given)
        before.take(here)
        share, ran = FIRST_SHARE, 0
        for _ in range(STEPS):
            beyond.go_beyond(here, before, ran / (ran + 3))
            share = self._step(beyond, tried, share, given)
            if not tried.objective <= here.objective and ran:  # too far: again, without momentum
                ran = 0
                share = self._step(here, tried, share, given)
            if tried.objective > here.objective:
                break  # by rounding alone: there is nothing left to gain
            before.take(here)
            here.take(tried)
            ran += 1
        return here.loss

    def _place(self, name: str) -> _Place:
        W, U, score = (self._own_arrays[f"{name} {of}"] for of in ("W", "U", "score"))
        return _Place(W, U, score)

    def _look_at_others(self, given: Given) -> None:
        """Make what depends on the other side alone."""
        arrays, factors = self._own_arrays, given.theirs[:, : self.problem.rank]
        np.einsum("jk,jk->j", factors, factors, out=arrays["square"])
        arrays["square"] += self.side.bias is not None  # theirs is 1 where this side's bias stands
        if given.gram is None or self.side.cells is None or self.problem.cells is None:
            return
        arrays["M"][:] = given.gram.M
        arrays["m"][:] = (self.problem.offset - self.problem.cells.value) * given.gram.level
        arrays["cell_weight"][:] = 2 * self.problem.cells.weight * self.side.cells

    def _measure(self, place: _Place, given: Given) -> None:
        """Make embedding, scores and objective of a place from its parameters."""
        embed(self.problem, self.side, place.W, given.threads, out=place.U)
        place.loss = self.scored.scores(place.U, given.theirs, place.score, given.threads)
        place.objective = place.loss + sum(penalty(part, place.W, given.threads) for part in self.side.parts)
        if given.gram is not None and self.side.cells is not None:
            both = Gram.of(place.U, self.side.cells, given.threads), given.gram
            place.objective += cells.value(self.problem, *(both if self.side.name == "query" else both[::-1]))

    def _step(self, at: _Place, to: _Place, share: float, given: Given) -> float:
        """Take a step to another place; return the share of the bound that the next one should try."""
        self._make_slopes(at, given)
        while True:
            for part in self.side.parts:
                to.W[:, part.columns] = at.W[:, part.columns] + self._change(part, at.W, share)
            self._measure(to, given)
            bends = self._bends(at, to, given)
            if not bends > share or share >= 1:
                return min(1.0, max(SPARE * bends, share / 4))
            share = min(1.0, SPARE * bends)

    def _make_slopes(self, at: _Place, given: Given) -> None:
        """Make slopes and curvatures of all features at a place."""
        arrays, dtype, threads = self._own_arrays, self.problem.dtype, team(given.threads)
        names = ("g", "h", "square", "conflict", "cell_weight", "M", "m", "G", "bound", "slope", "curvature")
        fields = pointers({name: arrays[name] for name in names if name in arrays}, dtype, frozenset())
        slots = self._slots
        trace = 0.0 if given.gram is None else float(given.gram.M[slots, slots].sum())
        wide = ffi.new("fmf_wide *", {**fields, "cell_trace": trace})
        struct = self._struct(attrs.evolve(given, W=at.W, score=at.score, gram=None))
        struct.mine = reals(at.U, dtype, writable=True)
        kernels(dtype).pair_gradients(struct, fields["g"], fields["h"], threads)
        self._raise_errors()
        kernels(dtype).wide_gradients(struct, wide, threads)

    def _change(self, part: Part, W: Reals, share: float) -> Reals:
        """Return T of a part's parameters."""
        arrays, columns, regularizer = self._own_arrays, part.columns, part.regularizer
        x = np.ascontiguousarray(arrays["slope"][:, self._slots[columns]])
        y = arrays["curvature"] * self.problem.dtype.type(share)
        w = frozen(np.ascontiguousarray(W[:, columns]))
        if part.by_row:
            change = regularizer.T(frozen(x), frozen(y), w, frozen(part.strength))
        else:
            change = regularizer.T(
                frozen(x), frozen(np.broadcast_to(y[:, None], w.shape).copy()), w, frozen(part.matrix)
            )
        return np.asarray(check_batch(regularizer, "T", change, w.shape), W.dtype)

    def _bends(self, at: _Place, to: _Place, given: Given) -> float:
        """Return by which share of the bound the data bends along a step; a step within its share is safe."""
        squares = self._own_arrays["g"]
        np.subtract(to.score, at.score, out=squares)
        squares *= squares
        squares *= self._own_arrays["h"]
        bent = float(np.sum(squares, dtype=np.float64))
        if given.gram is not None and self.side.cells is not None and self.problem.cells is not None:
            moved = Gram.of(to.U - at.U, self.side.cells, given.threads)
            bent += 2 * self.problem.cells.weight * float(np.vdot(moved.M, given.gram.M))
        moves = np.sum(np.square(to.W - at.W, dtype=np.float64), axis=1)
        bound = float(np.sum(self._own_arrays["curvature"] * moves))
        return bent / bound if bound > 0 else 0.0


__all__ = ["ProximalUpdate"]
