"""Pairs, cells, dense features and sums over them: what all algorithms of the oracle share."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fmfkit.problem.features import Features
from fmfkit.problem.learnt import spread_value
from fmfkit.problem.problem import Problem
from fmfkit.problem.strengths import Part, Side
from fmfkit.training.state import State

Array = NDArray[np.float64]


@attrs.frozen(eq=False)
class Cells:
    """The term over all cells, cell by cell; weights of zero where a problem has none."""

    weight: Array
    """(rows, their rows) the cell's weight."""
    gap: Array
    """(rows, their rows) its score less the cells' value."""

    @classmethod
    def of(cls, problem: Problem, side: Side, U: Array, V: Array) -> Cells:
        """Take every cell, as the side being updated sees it."""
        a, b = (one.cells for one in (problem.sides if side.name == "query" else problem.sides[::-1]))
        if problem.cells is None or a is None or b is None:
            return cls(np.zeros((len(U), len(V))), np.zeros((len(U), len(V))))
        weight = problem.cells.weight * a.astype(np.float64)[:, None] * b.astype(np.float64)
        return cls(weight, problem.offset - problem.cells.value + U @ V.T)

    @property
    def value(self) -> float:
        """The term."""
        return float(np.sum(self.weight * self.gap**2))

    def sums(self, v: Array) -> tuple[Array, Array]:
        """Return each row's gradient and curvature in a dimension."""
        return (2 * self.weight * self.gap) @ v, 2 * self.weight @ v**2

    def panel_sums(self, v: Array) -> tuple[Array, Array]:
        """Return them in a panel of dimensions."""
        return (2 * self.weight * self.gap) @ v, np.einsum("ij,jk,jl->ikl", 2 * self.weight, v, v)

    def move(self, moved: Array, v: Array) -> None:
        """Take up a change of the rows' embeddings in a dimension, or in a panel."""
        self.gap[...] += np.outer(moved, v) if v.ndim == 1 else moved @ v.T


@attrs.frozen(eq=False)
class Observed:
    """The pairs of a problem: row i of the side being updated, row j of the other, target y, weight; and all cells."""

    i: NDArray[np.int32]
    j: NDArray[np.int32]
    y: Array
    weight: Array
    cells: Cells

    @classmethod
    def of(cls, problem: Problem, side: Side, U: Array, V: Array) -> Observed:
        """List the pairs in the side's order."""
        pairs = side.pairs
        weight = np.ones(len(pairs)) if pairs.weight is None else pairs.weight.astype(np.float64)
        i = pairs.row_of
        cells = Cells.of(problem, side, U, V)
        return cls(i, pairs.other, pairs.y.astype(np.float64), weight, cells)


def strengths(part: Part) -> Array:
    """Return the strength of each feature in each of the part's columns."""
    strength, growth = part.strength.astype(np.float64), part.growth.astype(np.float64)
    return np.asarray(attrs.evolve(part, strength=strength, growth=growth).matrix, np.float64)


def derivatives(problem: Problem, pairs: Observed, score: Array) -> tuple[Array, Array]:
    """Return g and the curvature that holds at the score, of every pair, weighted."""
    g = pairs.weight * problem.loss.gradient(score, pairs.y)
    return g, pairs.weight * problem.loss.curvature(score, pairs.y)


def bounded_derivatives(problem: Problem, pairs: Observed, score: Array) -> tuple[Array, Array]:
    """Return g and beta, where the loss has one, else the curvature, of every pair, weighted."""
    if problem.loss.beta is None:
        return derivatives(problem, pairs, score)
    return pairs.weight * problem.loss.gradient(score, pairs.y), pairs.weight * problem.loss.beta


def instance_sums(problem: Problem, pairs: Observed, v: Array, score: Array) -> tuple[Array, Array]:
    """Return G_i = Σ_j g_ij v_j and H_i = Σ_j h_ij v_j², over pairs and cells."""
    g, h = bounded_derivatives(problem, pairs, score)
    v_j, (G, H) = v[pairs.j], pairs.cells.sums(v)
    np.add.at(G, pairs.i, g * v_j)
    np.add.at(H, pairs.i, h * v_j**2)
    return G, H


def dense(features: Features) -> Array:
    """Return the feature matrix as a plain array."""
    X = np.zeros((features.rows, features.cols))
    X[np.repeat(np.arange(features.rows), np.diff(features.row_ptr)), features.row_index] = features.values_by_row()
    return X


def embed(problem: Problem, side: Side, W: Array) -> Array:
    """Return U = X P with a column for each bias: this side's as learnt, the other's held at 1."""
    U = np.ones((side.features.rows, problem.rank + problem.query_bias + problem.target_bias))
    U[:, : problem.rank] = dense(side.features) @ W[:, : problem.rank]
    if side.bias_slot is not None:
        U[:, side.bias_slot] = dense(side.features) @ W[:, problem.rank]
    return U


def loss_of(problem: Problem, state: State | Any) -> float:
    """Return the weighted loss of a state, or of anything with P and Q."""
    U, V = (
        embed(problem, side, W.astype(np.float64)) for side, W in zip(problem.sides, (state.P, state.Q), strict=True)
    )
    pairs = Observed.of(problem, problem.query, U, V)
    score = problem.offset + np.sum(U[pairs.i] * V[pairs.j], axis=1)
    return float(np.sum(pairs.weight * problem.loss.value(score, pairs.y)))


def objective(problem: Problem, state: State | Any) -> float:
    """Return loss plus cells plus penalty of a state, or of anything with P and Q."""
    P, Q = state.P.astype(np.float64), state.Q.astype(np.float64)
    U, V = embed(problem, problem.query, P), embed(problem, problem.target, Q)
    total = loss_of(problem, state) + Cells.of(problem, problem.query, U, V).value
    total += spread_value(problem.query, U) + spread_value(problem.target, V)
    for side, W in ((problem.query, P), (problem.target, Q)):
        for part in side.parts:
            total += float(np.sum(part.regularizer.penalty(W[:, part.columns], strengths(part))))
    return total
