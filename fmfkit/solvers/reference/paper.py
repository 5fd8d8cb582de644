"""The paper's Algorithms 1, 2 and 3, one latent dimension at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fmfkit.arguments import check_batch
from fmfkit.problem.problem import Problem
from fmfkit.problem.strengths import Part, Side
from fmfkit.solvers.reference.sums import Array, Observed, bounded_derivatives, instance_sums, strengths


def algorithm_1(
    problem: Problem, pairs: Observed, X: Array, W: Array, column: int, part: Part, v: Array, score: Array
) -> None:
    """Update one dimension, a feature at a time, from sums over all pairs."""
    for s in range(X.shape[1]):
        x_s, v_j = X[pairs.i, s], v[pairs.j]
        g, h = bounded_derivatives(problem, pairs, score)
        G, H = pairs.cells.sums(v)
        x = np.sum(g * v_j * x_s, keepdims=True) + X[:, s] @ G
        y = np.sum(h * v_j**2 * x_s**2, keepdims=True) + X[:, s] ** 2 @ H
        step = checked_step(part, x, y, W, column, slice(s, s + 1))
        W[s, column] += step[0]
        score += x_s * step * v_j
        pairs.cells.move(X[:, s] * step, v)


def algorithm_2(
    problem: Problem, pairs: Observed, X: Array, W: Array, column: int, part: Part, v: Array, score: Array
) -> None:
    """Update one dimension, a feature at a time, from sums over instances: G and H stand for their pairs."""
    G, H = instance_sums(problem, pairs, v, score)
    moved = np.zeros(X.shape[0])
    for s in range(X.shape[1]):
        x, y = X[:, s : s + 1].T @ G, X[:, s : s + 1].T ** 2 @ H
        step = checked_step(part, x, y, W, column, slice(s, s + 1))
        W[s, column] += step[0]
        G += X[:, s] * step * H
        moved += X[:, s] * step
    score += moved[pairs.i] * v[pairs.j]
    pairs.cells.move(moved, v)


def algorithm_3(
    problem: Problem, pairs: Observed, X: Array, W: Array, column: int, part: Part, v: Array, score: Array,
    sets: list[NDArray[np.int32]],
) -> None:  # fmt: skip
    """Update one dimension, a set of features at a time, under the separable bound."""
    G, H = instance_sums(problem, pairs, v, score)
    moved = np.zeros(X.shape[0])
    for S in sets:
        X_S = X[:, S]
        C = np.abs(X_S).sum(axis=1)
        x, y = X_S.T @ G, np.abs(X_S).T @ (H * C)
        step = checked_step(part, x, y, W, column, S)
        W[S, column] += step
        G += H * (X_S @ step)
        moved += X_S @ step
    score += moved[pairs.i] * v[pairs.j]
    pairs.cells.move(moved, v)


def checked_step(part: Part, x: Array, y: Array, W: Array, column: int, which: Any) -> Array:
    """Return T for some features of a part."""
    w = W[which, column]
    step = part.regularizer.T(x, y, w, strengths(part)[which, column - part.columns.start])
    return np.asarray(check_batch(part.regularizer, "T", step, w.shape), np.float64)


def dimensions(problem: Problem, side: Side) -> list[tuple[int, int, Part]]:
    """Return (column of the parameters, column of the embedding, part): the bias first, then the factors."""
    factors: list[tuple[int, int, Part]] = [(k, k, side.factors) for k in range(problem.rank)]
    if side.bias is None or side.bias_slot is None:
        return factors
    return [(problem.rank, side.bias_slot, side.bias), *factors]
