"""Folding in: the embedding of a new or changed instance from its pairs, all else of the model held as it is.

The instance's own parameters are those that training would find if the other side, and what its features share with
others, stayed fixed: the minimum of the same objective, with the same strengths. For the square loss one step leads
there, for others a few.
"""

from __future__ import annotations

import functools
import itertools
from typing import Any

import attrs
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from fmfkit._kernels.components import is_smooth
from fmfkit.interfaces import Loss, Regularizer, RowRegularizer
from fmfkit.model.own import FixedCells, OwnTerms
from fmfkit.problem.inputs import check_format
from fmfkit.typing import Reals, SideName

Array = NDArray[np.float64]

STEPS, SWEEPS = 200, 10_000
"""More are never needed, but where a component of a plugin breaks its law."""
NEAR = 1e-11
"""Steps that are as small as this, in units of the parameters, end the search."""
PROBE = 1e-4
"""How far from a score its true curvature is looked for."""


@attrs.frozen(eq=False, kw_only=True)
class Fixed:
    """What does not move when instances of one side are folded in."""

    theirs: Reals
    """The embeddings of the other side."""
    rank: int
    slot: int | None
    """Where the embedding holds the instance's own bias."""
    offset: float
    loss: Loss
    terms: OwnTerms
    cells: FixedCells | None
    name: SideName

    @functools.cached_property
    def _gram(self) -> tuple[Array, Array, float]:
        """All that the cells need of the other side: their curvature, their pull at zero, and their sum."""
        assert self.cells is not None
        mine, theirs = self.cells.queries, self.cells.targets
        if self.name == "target":
            mine, theirs = theirs, mine
        counted = mine[mine > 0]
        weight = self.cells.weight * (float(counted.mean()) if len(counted) else 1.0)
        V, b = self.theirs.astype(np.float64), theirs.astype(np.float64)
        level = (self.offset - self.cells.value) * (b @ V)
        return 2 * weight * (V.T * b) @ V, 2 * weight * level, weight * float(b.sum())

    def embeddings(self, base: Reals, given: GivenPairs) -> Reals:
        """Return the embeddings of instances with pairs; ``base`` is what their shared features make of them."""
        if len(base) != len(given):
            raise ValueError(f"features: {len(base)} rows, expected {len(given)}: one for each of pairs")
        made = base.copy()
        for n, (first, end) in enumerate(itertools.pairwise(given.ptr)):
            made[n] = self._embedding(base[n], given.other[first:end], given.y[first:end], given.weight[first:end])
        return made

    def _embedding(self, base: Reals, rows: NDArray[np.int32], y: Array, weight: Array) -> Reals:
        if not len(rows):
            return base
        start, width = base.astype(np.float64), len(base)
        columns = np.append(np.arange(self.rank), [] if self.slot is None else [self.slot]).astype(np.intp)
        theirs = self.theirs[rows].astype(np.float64)
        square, linear = np.zeros((width, width)), np.zeros(width)
        often = total = float(weight.sum())
        if self.cells is not None:
            gram, level, cells = self._gram
            square += gram
            linear += gram @ start + level
            often += cells
        if self.terms.spread is not None:
            spread = np.append(total * self.terms.spread, np.zeros(width - self.rank))
            square += np.diag(spread)
            linear += spread * start
        row = OwnRow(
            theirs[:, columns],
            self.offset + theirs @ start,
            y,
            weight,
            self.loss,
            square[np.ix_(columns, columns)],
            linear[columns],
            self._penalties(often),
        )
        start[columns] += row.minimum()
        with np.errstate(over="ignore"):
            made = start.astype(base.dtype)
        if not np.isfinite(made).all():
            raise ArithmeticError("fold_in: numbers became too large; check y and weights of the pairs")
        return made

    def _penalties(self, often: float) -> tuple[tuple[slice, Regularizer, Array], ...]:
        factors, bias = self.terms.factors, self.terms.bias
        parts = [(slice(0, self.rank), factors.regularizer, factors.at(often))]
        if bias is not None:
            parts.append((slice(self.rank, self.rank + 1), bias.regularizer, bias.at(often)))
        return tuple(parts)


class OwnRow:
    """The objective of one instance's own parameters w: its pairs' loss, a quadratic form, and penalties."""

    def __init__(
        self,
        design: Array,
        score: Array,
        y: Array,
        weight: Array,
        loss: Loss,
        square: Array,
        linear: Array,
        penalties: tuple[tuple[slice, Regularizer, Array], ...],
    ) -> None:
        """Take the scores of the pairs at w = 0, and how they change with w; sums of squares join the form."""
        self.design, self.score, self.y, self.weight, self.loss = design, score, y, weight, loss
        self.square, self.linear = square, linear
        self.smooth = all(is_smooth(regularizer) for _, regularizer, _ in penalties)
        self.penalties = () if self.smooth else penalties
        if self.smooth:
            for columns, regularizer, strength in penalties:
                at = np.arange(columns.start, columns.stop)
                self.square[at, at] += regularizer.l2 * strength  # type: ignore[attr-defined]

    def value(self, w: Array) -> float:
        """Return the objective."""
        total = float(self.weight @ self.loss.value(self.score + self.design @ w, self.y))
        total += float(w @ (self.linear + self.square @ w / 2))
        for columns, regularizer, strength in self.penalties:
            by_row = isinstance(regularizer, RowRegularizer)
            paid = (
                regularizer.penalty(w[None, columns], strength[:1])
                if by_row
                else regularizer.penalty(w[columns], strength)
            )
            total += float(np.sum(paid))
        return total

    def minimum(self) -> Array:
        """Return the w of the lowest objective: by Newton's steps, or where one leads up, by the loss's bound."""
        w = np.zeros(len(self.linear))
        lowest = self.value(w)
        for _ in range(STEPS):
            score = self.score + self.design @ w
            slope = self.design.T @ (self.weight * self.loss.gradient(score, self.y)) + self.linear + self.square @ w
            for curvature in self._curvatures(score):
                step = self._step(slope, (self.design.T * curvature) @ self.design + self.square, w)
                value = self.value(w + step)
                if value <= lowest + 1e-13 * abs(lowest):
                    break
            else:  # neither leads down: nothing but rounding is left
                return w
            w, lowest = w + step, value
            if np.abs(step).max(initial=0) <= NEAR * (1 + np.abs(w).max(initial=0)):
                break
        return w

    def _curvatures(self, score: Array) -> tuple[Array, Array]:
        """Return the weighted curvature of each pair as it is near its score, and as the loss bounds it."""
        bound = np.broadcast_to(np.asarray(self.loss.curvature(score, self.y), np.float64), score.shape)
        far = PROBE * (1 + np.abs(score))
        rise = self.loss.gradient(score + far, self.y) - self.loss.gradient(score - far, self.y)
        return self.weight * np.clip(rise / (2 * far), 0, bound), self.weight * bound

    def _step(self, slope: Array, curvature: Array, w: Array) -> Array:
        """Return the step that minimises the quadratic form and the penalties."""
        if self.smooth:
            try:
                return np.asarray(-cho_solve(cho_factor(curvature, check_finite=False), slope, check_finite=False))
            except LinAlgError:  # without a penalty few pairs leave directions free: none is taken there
                return np.asarray(-np.linalg.lstsq(curvature, slope)[0])
        step = np.zeros(len(w))
        largest = [float(np.linalg.eigvalsh(curvature[columns, columns])[-1]) for columns, _, _ in self.penalties]
        for _ in range(SWEEPS):
            before = step.copy()
            for (columns, regularizer, strength), most in zip(self.penalties, largest, strict=True):
                if isinstance(regularizer, RowRegularizer):
                    x = (slope + curvature @ step)[None, columns]
                    step[columns] += regularizer.T(x, np.array([most]), (w + step)[None, columns], strength[:1])[0]
                    continue
                for k in range(columns.start, columns.stop):
                    one = slice(k, k + 1)
                    x, y = slope[one] + curvature[one] @ step, curvature[one, k]
                    step[one] += regularizer.T(
                        x, y, (w + step)[one], strength[k - columns.start : k - columns.start + 1]
                    )
            if np.abs(step - before).max(initial=0) <= NEAR * (1 + np.abs(w + step).max(initial=0)):
                break
        return step


@attrs.frozen(eq=False)
class GivenPairs:
    """The pairs of instances that are folded in, instance by instance."""

    ptr: NDArray[np.integer[Any]]
    other: NDArray[np.int32]
    y: Array
    weight: Array

    @classmethod
    def of(cls, pairs: Any, weight: Any, columns: int, loss: Loss) -> GivenPairs:
        """Check sparse matrices of y and of weights, None being 1."""
        matrix = sp.csr_array(pairs)
        check_format(matrix, "pairs")
        if matrix.shape[1] != columns:
            raise ValueError(f"pairs: {matrix.shape[1]} columns, expected {columns}: one for each of the other side")
        y = np.asarray(matrix.data, np.float64)
        if not np.isfinite(y).all():
            raise ValueError("pairs: y is NaN or infinite for some of them")
        loss.check_y(y)
        if weight is None:
            return cls(matrix.indptr, matrix.indices, y, np.ones(len(y)))
        alike = sp.csr_array(weight)
        if not (np.array_equal(alike.indptr, matrix.indptr) and np.array_equal(alike.indices, matrix.indices)):
            raise ValueError("weight: expected a sparse matrix that stores a weight for each pair, in the same order")
        weights = np.asarray(alike.data, np.float64)
        if not (np.isfinite(weights) & (weights >= 0)).all():
            raise ValueError("weight: expected finite numbers of at least 0")
        return cls(matrix.indptr, matrix.indices, y, weights)

    def __len__(self) -> int:
        """Return how many instances there are."""
        return len(self.ptr) - 1


def fixed_side(model: Any, name: SideName, theirs: Reals) -> Fixed:
    """Return what is fixed where instances of a side of a Model are folded in; refuse models that do not tell."""
    if model.own is None:
        what = "it is the mean of samples" if model.state.mean is not None else "no plugin offers its regularizer"
        raise ValueError(f"fold_in: pairs cannot be added to this model, for {what}; train with them instead")
    query = name == "query"
    terms = model.own.side(name)
    if terms is None:
        raise ValueError(
            f"fold_in: {'queries' if query else 'targets'} have no feature of their own in this model, so that their "
            "pairs would change nothing; train with indicators"
        )
    slot = model.rank if query else model.rank + model.biases[0]
    return Fixed(
        theirs=theirs,
        rank=model.rank,
        slot=slot if model.biases[not query] else None,
        offset=model.offset,
        loss=model.loss,
        terms=terms,
        cells=model.own.cells,
        name=name,
    )


__all__ = ["Fixed", "GivenPairs", "fixed_side"]
