"""Pairs that are no table: sparse matrices, lists of tuples, arrays with a row for each pair."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
import scipy.sparse as sp

from fmfkit.data.sides import SideTable
from fmfkit.data.tables import Source
from fmfkit.errors import DataError

COLUMNS = ("query", "target", "rating", "time")
"""What the members of a tuple are."""


def as_table(pairs: Any) -> Source:
    """Return pairs as a table: the entries of a sparse matrix by row and column, or tuples in columns."""
    if sp.issparse(pairs):
        return _entries(pairs)
    if isinstance(pairs, np.ndarray):
        return _columns_of(pairs)
    if isinstance(pairs, list | tuple):
        return _listed(pairs)
    return pairs


def all_rows(side: SideTable, pairs: Any, axis: int) -> SideTable:
    """Return what describes a side; if nothing does and pairs are a matrix, a table of all its rows or columns.

    Those that have no pair are cold instances then.
    """
    if side.table is not None or not sp.issparse(pairs) or not pairs.shape[axis]:
        return side
    return attrs.evolve(side, table={COLUMNS[axis]: np.arange(pairs.shape[axis])})


def _entries(matrix: Any) -> Source:
    if matrix.ndim != 2 or matrix.dtype.kind not in "biuf":
        raise DataError(f"pairs: expected a matrix of real numbers, got {matrix.dtype} of shape {matrix.shape}")
    given = sp.coo_array(matrix)
    if not given.nnz:
        raise DataError(f"pairs: the matrix of shape {matrix.shape} has no entries")
    return dict(zip(COLUMNS, (*given.coords, given.data), strict=False))


def _columns_of(array: Any) -> Source:
    if array.ndim != 2 or not 2 <= array.shape[1] <= len(COLUMNS):
        raise DataError(
            f"pairs: expected an array with 2 to 4 columns, {', '.join(COLUMNS)}, got shape {array.shape}; give a "
            "matrix of queries and targets as scipy.sparse.csr_array(matrix)"
        )
    return dict(zip(COLUMNS, array.T, strict=False))


def _listed(rows: Any) -> Source:
    sizes = {len(row) if isinstance(row, list | tuple) else 0 for row in rows}
    if len(sizes) > 1 or not sizes <= {2, 3, 4}:
        wrong = next((row for row in rows if not isinstance(row, list | tuple) or not 2 <= len(row) <= 4), rows)
        raise DataError(
            f"pairs: expected a list of tuples of one length, ({', '.join(COLUMNS[:2])}), or with a rating and a time "
            f"too, got {wrong!r:.80}"
        )
    return {name: list(values) for name, values in zip(COLUMNS, zip(*rows, strict=True), strict=False)}


__all__ = ["all_rows", "as_table"]
