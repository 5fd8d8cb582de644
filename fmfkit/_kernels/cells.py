"""The term over all cells: the Gram matrices that stand for them, and what a side's update is given of them."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fmfkit._core import ffi
from fmfkit._kernels.buffers import Array, Table, allocate, doubles, reals
from fmfkit._kernels.components import PANEL
from fmfkit._kernels.library import kernels, team
from fmfkit.problem.problem import Problem
from fmfkit.problem.strengths import Side
from fmfkit.typing import Reals

PORTION_ROWS = 256
"""Rows that are worth summing apart."""
MOST_PORTIONS = 16
PORTION_NUMBERS = 2**22
"""Numbers that the sums of all portions may take together: with very many dimensions there are fewer portions."""


def portions(rows: int, stride: int) -> int:
    """Return in how many portions rows are summed: the same for any number of threads."""
    return max(1, min(MOST_PORTIONS, -(-rows // PORTION_ROWS), PORTION_NUMBERS // (stride * stride)))


def gram_table(rows: int, stride: int) -> Table:
    """Return what summing takes."""
    sums = (stride + 1, stride)
    return {
        "portion": Array((portions(rows, stride), *sums), np.float64),
        "sums": Array(sums, np.float64),
    }


@attrs.frozen(eq=False)
class Gram:
    """A side's embeddings as the term over all cells sees them, with weights b_j."""

    M: NDArray[np.float64]
    """(stride, stride) Σ_j b_j V_j V_jᵀ."""
    level: NDArray[np.float64]
    """(stride) Σ_j b_j V_j."""
    total: float
    """Σ_j b_j."""

    @classmethod
    def of(cls, embedding: Reals, weight: Reals, threads: int) -> Gram:
        """Sum over all rows of an embedding."""
        (rows, stride), dtype = embedding.shape, embedding.dtype
        arrays = allocate(gram_table(rows, stride))
        struct = ffi.new(
            "fmf_gram *",
            {
                "rows": rows,
                "stride": stride,
                "embedding": reals(embedding, dtype),
                "weight": reals(weight, dtype),
                "portions": len(arrays["portion"]),
                "portion": doubles(arrays["portion"]),
                "sums": doubles(arrays["sums"]),
            },
        )
        kernels(dtype).gram_sums(struct, team(threads))
        return cls(arrays["sums"][:stride], arrays["sums"][stride], float(weight.sum(dtype=np.float64)))


def value(problem: Problem, query: Gram, target: Gram) -> float:
    """Return the term over all cells."""
    cells = problem.cells
    assert cells is not None
    shift = problem.offset - cells.value
    squares = np.vdot(query.M, target.M)
    squares += 2 * shift * np.vdot(query.level, target.level) + shift * shift * query.total * target.total
    return float(cells.weight * squares)


def value_of(problem: Problem, U: Reals, V: Reals, threads: int) -> float:
    """Return the term over all cells of embeddings; 0 where the problem has none."""
    query, target = (side.cells for side in problem.sides)
    if query is None or target is None:
        return 0.0
    return value(problem, Gram.of(U, query, threads), Gram.of(V, target, threads))


def _slots(problem: Problem, side: Side, wide: int) -> list[NDArray[np.int64]]:
    """Return the slots of the embedding that are updated together, group after group."""
    factors = [np.arange(k, min(k + wide, problem.rank)) for k in range(0, problem.rank, wide)]
    return factors if side.bias_slot is None else [np.array([side.bias_slot]), *factors]


def cells_table(problem: Problem, side: Side, stride: int, wide: int) -> Table:
    """Return what one side's update is given of the term; nothing where the problem has none."""
    if side.cells is None:
        return {}
    groups, dtype = len(_slots(problem, side, wide)), problem.dtype
    return {
        "weight": Array((side.pairs.rows,), dtype),
        "M": Array((groups, stride, wide), dtype),
        "m": Array((groups, wide), dtype),
        "curvature": Array((groups, 1 if wide == 1 else wide * (wide // 2 + 1)), dtype),
    }


class SideCells:
    """What one side's update is given of the term over all cells; owns what C points to."""

    def __init__(self, problem: Problem, side: Side, stride: int, wide: int) -> None:
        """Allocate; ``wide`` dimensions are updated together."""
        assert side.cells is not None
        assert problem.cells is not None
        assert wide in (1, PANEL)
        self._slots, self._wide = _slots(problem, side, wide), wide
        self._shift = problem.offset - problem.cells.value
        self._arrays = allocate(cells_table(problem, side, stride, wide))
        self._arrays["weight"][:] = 2 * problem.cells.weight * side.cells

    def fields(self, theirs: Gram) -> dict[str, Any]:
        """Return the members of fmf_cells, for the other side as it is now."""
        arrays, turns = self._arrays, np.arange(self._wide // 2 + 1)[:, None]
        for group, slots in enumerate(self._slots):
            size, block = len(slots), np.zeros((self._wide, self._wide))
            block[:size, :size] = theirs.M[np.ix_(slots, slots)]
            row = np.arange(self._wide)
            arrays["M"][group, :, :size] = theirs.M[:, slots]
            arrays["m"][group, :size] = self._shift * theirs.level[slots]
            arrays["curvature"][group] = block[row, (row + turns) % self._wide].ravel()
        return {name: reals(array, array.dtype) for name, array in arrays.items()}


__all__ = ["Gram", "SideCells", "cells_table", "gram_table", "value", "value_of"]
