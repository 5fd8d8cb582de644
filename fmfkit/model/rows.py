"""Row numbers, and rows of sparse matrices, as callers give them: checked before C sees them."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from fmfkit._kernels.scoring import Skip
from fmfkit.problem.inputs import check_format

FEW_ROWS = 64
"""So few rows are taken out of a sparse matrix one by one."""


def excluded_rows(given: Any, rows: NDArray[np.int32], targets: int) -> Skip:
    """Return what some rows of a sparse matrix store; what it costs depends on those rows alone."""
    if not sp.issparse(given) or given.ndim != 2 or given.shape[1] != targets:
        raise ValueError(
            f"exclude: expected a sparse matrix with {targets} columns, got {type(given).__name__} "
            f"of shape {getattr(given, 'shape', None)}"
        )
    if rows.size and given.shape[0] <= int(rows.max()):
        raise ValueError(f"exclude: {given.shape[0]} rows for query {int(rows.max())}")
    matrix = given if given.format == "csr" else sp.csr_array(given)
    if len(rows) <= FEW_ROWS:
        parts = [np.unique(matrix.indices[matrix.indptr[row] : matrix.indptr[row + 1]]) for row in rows]
        ptr, index = np.cumsum([0, *map(len, parts)], dtype=np.int64), np.concatenate([np.zeros(0, np.int32), *parts])
        if index.size and (index.min() < 0 or index.max() >= targets):
            raise ValueError(f"exclude: columns run from {index.min()} to {index.max()}, expected 0 to {targets - 1}")
        return Skip(ptr, index.astype(np.int32, copy=False))
    check_format(matrix, "exclude")
    some = sp.csr_array(matrix[rows], copy=True)
    some.sum_duplicates()
    return Skip.of(some)


def all_but(chosen: NDArray[np.int32], queries: int, targets: int, skip: Skip | None) -> Skip:
    """Return what few queries leave out who choose from some targets: all others, and what they skip of these."""
    others, parts = np.ones(targets, bool), []
    others[chosen] = False
    for n in range(queries):
        left_out = others.copy()
        if skip is not None:
            left_out[skip.index[skip.ptr[n] : skip.ptr[n + 1]]] = True
        parts.append(np.flatnonzero(left_out))
    ptr = np.cumsum([0, *map(len, parts)], dtype=np.int64)
    return Skip(ptr, np.concatenate([np.zeros(0, np.int32), *parts]).astype(np.int32))


def flat_rows(name: str, given: Any, rows: int) -> NDArray[np.int32]:
    """Return one or several row numbers as a flat array."""
    array = np.atleast_1d(row_numbers(name, given, rows))
    if array.ndim > 1:
        raise ValueError(f"{name}: expected a flat list of row numbers, got shape {array.shape}")
    return array


def row_numbers(name: str, given: Any, rows: int, least: int = 0) -> NDArray[np.int32]:
    """Return row numbers from ``least`` on as an array of their shape."""
    array = np.asarray(given)
    if array.dtype.kind not in "iu" and array.size:
        raise TypeError(f"{name}: expected row numbers, got dtype {array.dtype}")
    if array.size and (array.min() < least or array.max() >= rows):
        raise ValueError(f"{name}: row numbers run from {array.min()} to {array.max()}, expected 0 to {rows - 1}")
    return array.astype(np.int32)


__all__ = ["all_but", "excluded_rows", "flat_rows", "row_numbers"]
