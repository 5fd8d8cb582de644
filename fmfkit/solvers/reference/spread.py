"""What learnt strengths need of an update of one side, in plain NumPy: the oracle for the kernels'."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fmfkit.problem.problem import Problem
from fmfkit.problem.strengths import Side

Array = NDArray[np.float64]


@attrs.frozen(eq=False)
class Curvatures:
    """The curvatures of one panel of dimensions, as an update has them."""

    A: Array
    """(rows, dimensions) each row's, the other side's uncertainty included."""
    l2: Array
    """(features, dimensions) the penalty's."""


def add_spread(side: Side, columns: slice, U: Array, G: Array, A: Array) -> None:
    """Add to each row's gradient and curvature what the other side's uncertainty costs."""
    if side.spread is None:
        return
    weight, variance = (part.astype(np.float64) for part in (side.spread.weight, side.spread.variance[columns]))
    G += weight[:, None] * variance * U[:, columns]
    A += weight[:, None, None] * np.diag(variance)


def measured(problem: Problem, side: Side, own: dict[int, int], X: Array, W: Array, given: Curvatures) -> Array:
    """Return (blocks + 1, dimensions): Σ w² + variance over each block's features, Σ c_i · variance over rows."""
    assert side.spread is not None
    assert problem.strengths is not None
    noise, c = problem.strengths.noise, side.spread.weight.astype(np.float64)
    data = (X**2).T @ given.A  # (features, dimensions)
    variance = 1 / (noise * (data + given.l2))
    squares = np.where(data > 0, W**2 + variance, 0)  # where pairs say nothing there is nothing to learn from
    blocks = [squares[part].sum(axis=0) for part in side.features.blocks.values()]
    opened = np.zeros_like(given.A)
    for i in range(len(X)):
        shared = [s for s in np.flatnonzero(X[i]) if s != own.get(i)]
        opened[i] = 0.5 * np.sum(X[i, shared, None] ** 2 * noise * variance[shared], axis=0)
        if i in own:
            opened[i] += X[i, own[i]] ** 2 / given.l2[own[i]]
    row = c[:, None] * opened / (noise * (1 + given.A * opened))
    return np.array([*blocks, row.sum(axis=0)])


def as_found(side: Side, panels: list[Any], width: int) -> Array:
    """Return what was measured, the bias first, as the kernels do: (updates, blocks + 1, width)."""
    found = np.zeros((len(panels), len(side.features.blocks) + 1, width))
    for n, sums in enumerate(panels):
        found[n, :, : sums.shape[1]] = sums
    return found
