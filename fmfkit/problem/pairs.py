"""The observed pairs, grouped by one side."""

from __future__ import annotations

import functools
from typing import Any, Literal

import attrs
import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from fmfkit.problem.inputs import check_finite, indices, reals, weights
from fmfkit.typing import Reals

CHUNK_PAIRS = 4096
"""Rows are shared out between threads in chunks of about this many pairs."""

Duplicates = Literal["error", "sum"]


@attrs.frozen(eq=False)
class Pairs:
    """The observed pairs grouped by one side: row i's are ``ptr[i]:ptr[i + 1]``, partners ascending."""

    rows: int
    ptr: NDArray[np.int64]
    other: NDArray[np.int32]
    y: Reals
    weight: Reals | None
    chunk: NDArray[np.int64]
    """Row boundaries of the chunks."""

    def __len__(self) -> int:
        """Return the number of pairs."""
        return len(self.other)

    @property
    def row_of(self) -> NDArray[np.int32]:
        """The row of each pair."""
        return np.repeat(np.arange(self.rows, dtype=np.int32), np.diff(self.ptr))

    @functools.cached_property
    def totals(self) -> NDArray[np.float64]:
        """|O_i|: the number of pairs of each row, or the sum of their weights."""
        if self.weight is None:
            return np.diff(self.ptr).astype(np.float64)
        totals, some = np.zeros(self.rows), np.diff(self.ptr) > 0
        totals[some] = np.add.reduceat(self.weight.astype(np.float64), self.ptr[:-1][some])
        return totals

    @property
    def row(self) -> NDArray[np.int32]:
        """The row of each pair."""
        return np.repeat(np.arange(self.rows, dtype=np.int32), np.diff(self.ptr))

    @property
    def nbytes(self) -> int:
        """The bytes of its arrays."""
        arrays = (self.ptr, self.other, self.y, self.weight, self.chunk)
        return sum(array.nbytes for array in arrays if array is not None)


def chunks(ptr: NDArray[np.int64], size: int = CHUNK_PAIRS) -> NDArray[np.int64]:
    """Return row boundaries of chunks of about ``size`` pairs."""
    # a chunk ends with the row that brings the running total past a multiple of the size
    ends = np.flatnonzero(np.diff(ptr // size)) + 1
    return np.unique(np.concatenate([[0], ends, [len(ptr) - 1]]).astype(np.int64))


@attrs.frozen(eq=False)
class Given:
    """Pairs as callers give them: checked, in any order."""

    query: NDArray[Any]
    target: NDArray[Any]
    y: Reals
    weight: Reals | None

    @classmethod
    def of(
        cls, queries: ArrayLike, targets: ArrayLike, y: ArrayLike, weight: ArrayLike | None, dtype: np.dtype[Any]
    ) -> Given:
        """Check that arrays are pairs."""
        given = cls(
            indices("queries", queries),
            indices("targets", targets),
            reals("y", y, dtype),
            None if weight is None else weights(weight, dtype),
        )
        count = len(given.query)
        for name, array in (("targets", given.target), ("y", given.y), ("weight", given.weight)):
            if array is not None and len(array) != count:
                raise ValueError(f"{name}: {len(array)} entries for {count} queries")
        if count == 0:
            raise ValueError("y: there is no observation to learn from")
        return given

    def grouped(self, shape: tuple[int, int], duplicates: Duplicates, *, divided: bool = False) -> tuple[Pairs, Pairs]:
        """Return the pairs by query and by target; ``divided``: none by target."""
        Y = self._by_query("y", self.y, shape, duplicates)
        W = None if self.weight is None else self._by_query("weight", self.weight, shape, duplicates)
        if divided:
            return _pairs(Y, W, shape[0]), _no_pairs(shape[1], Y.dtype)
        return _pairs(Y, W, shape[0]), _pairs(Y.tocsc(), None if W is None else W.tocsc(), shape[1])

    def _by_query(self, name: str, values: Reals, shape: tuple[int, int], duplicates: Duplicates) -> sp.csr_array:
        index = (self.query.astype(np.int32, copy=False), self.target.astype(np.int32, copy=False))
        matrix = sp.coo_array((values, index), shape=shape).tocsr()  # tocsr adds up duplicates
        if matrix.nnz < len(values) and duplicates == "error":
            raise ValueError(self._duplicate_message(len(values) - matrix.nnz))
        matrix.sort_indices()
        check_finite(name, matrix.data)  # sums of duplicates may overflow
        return matrix

    def _duplicate_message(self, surplus: int) -> str:
        order = np.lexsort((self.target, self.query))
        again = (np.diff(self.query[order]) == 0) & (np.diff(self.target[order]) == 0)
        first = order[int(np.flatnonzero(again)[0])]
        return (
            f"y: {surplus} observations repeat a pair, such as query {self.query[first]} with target "
            f"{self.target[first]}; remove them, or pass duplicates='sum'"
        )


def _pairs(Y: Any, W: Any, rows: int) -> Pairs:
    ptr = Y.indptr.astype(np.int64)
    other = Y.indices.astype(np.int32, copy=False)
    return Pairs(rows, ptr, other, Y.data, None if W is None else W.data, chunks(ptr))


def _no_pairs(rows: int, dtype: np.dtype[Any]) -> Pairs:
    ptr = np.zeros(rows + 1, np.int64)
    return Pairs(rows, ptr, np.zeros(0, np.int32), np.zeros(0, dtype), None, chunks(ptr))


def weighed(by_query: Pairs, by_target: Pairs, weight: Reals | None) -> tuple[Pairs, Pairs]:
    """Return the pairs with other weights, given in the order of ``by_query``."""
    if weight is None:
        return attrs.evolve(by_query, weight=None), attrs.evolve(by_target, weight=None)
    shape = (by_query.rows, by_target.rows)
    across = sp.csr_array((weight, by_query.other, by_query.ptr), shape=shape).tocsc().data
    return attrs.evolve(by_query, weight=weight), attrs.evolve(by_target, weight=across)


__all__ = ["CHUNK_PAIRS", "Duplicates", "Given", "Pairs", "chunks", "weighed"]
