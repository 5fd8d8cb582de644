"""Sparse feature matrices, by row and by column."""

from __future__ import annotations

import functools
from collections.abc import Container, Mapping
from typing import Any, cast

import attrs
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from fmfkit.problem.inputs import INDEX_LIMIT, Blocks, check_finite, check_squares, feature_blocks
from fmfkit.typing import Matrix, Reals

SCALE_ROWS = 4096
"""Rows of features that are looked at at a time."""
OWN_VALUES = 2**21
"""Values of features that are looked at at a time."""


@attrs.frozen(eq=False, kw_only=True)
class FeatureRows:
    """A sparse feature matrix, one row per instance; columns come in named blocks. All that a model needs.

    A feature that a single row has is that row's own (one of them, if there are several). Where all other values of a
    row are the same, in every row, they are left out of memory: ``row_scale`` has one for each row instead.
    """

    rows: int
    cols: int
    row_ptr: NDArray[np.int64]
    row_index: NDArray[np.int32]
    """By row: the row's own feature first, then the others, ascending."""
    row_value: Reals | None
    row_scale: Reals | None
    """The values that were left out; None where ``row_value`` has them all."""
    own: NDArray[np.int32]
    """Each row's own feature, or -1."""
    own_value: Reals
    blocks: Mapping[str, slice]

    @property
    def nonzeros(self) -> int:
        """The number of stored values."""
        return len(self.row_index)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The precision of the values."""
        return self.own_value.dtype

    @property
    def largest(self) -> float:
        """The largest value, whatever its sign."""
        stored = [self.own_value, *(array for array in (self.row_value, self.row_scale) if array is not None)]
        return max(float(np.abs(array).max(initial=0)) for array in stored)

    def __repr__(self) -> str:
        """Return it in a line."""
        blocks = ", ".join(f"{name} ({part.stop - part.start})" for name, part in self.blocks.items())
        return f"<Features of {self.rows} rows: {blocks}>"

    def values_by_row(self, first: int = 0, end: int | None = None) -> Reals:
        """Return the values in the order of ``row_index``, of all rows or of some."""
        end = self.rows if end is None else min(end, self.rows)
        ptr = self.row_ptr[first : end + 1]
        if self.row_scale is None:
            return cast(Reals, self.row_value)[ptr[0] : ptr[-1]]
        values = np.repeat(self.row_scale[first:end], np.diff(ptr))
        owners = self.own[first:end] >= 0
        values[ptr[:-1][owners] - ptr[0]] = self.own_value[first:end][owners]
        return values

    def block(self, name: str) -> sp.csr_array:
        """Return one of the feature blocks as a matrix."""
        part = self.blocks[name]
        matrix = sp.csr_array((self.values_by_row(), self.row_index, self.row_ptr), shape=(self.rows, self.cols))
        return sp.csr_array(matrix[:, part.start : part.stop])

    def block_of(self, column: int) -> tuple[str, int]:
        """Return the feature block that a column belongs to, and its place there."""
        return next(
            (name, column - part.start) for name, part in self.blocks.items() if part.start <= column < part.stop
        )

    def matrix_of(self, given: Matrix | Mapping[str, Matrix], name: str) -> sp.csr_array:
        """Return features of other instances as one matrix with these columns.

        ``given`` has all columns, or is a mapping of blocks to matrices: blocks that are left out are zero.
        """
        blocks = feature_blocks(name, given, self.dtype)
        if not isinstance(given, Mapping):
            matrix = blocks["features"]
            if matrix.shape[1] != self.cols:
                raise ValueError(f"{name}: {matrix.shape[1]} columns, expected {self.cols}, those of the training data")
            return matrix
        for block, matrix in blocks.items():
            if block not in self.blocks:
                raise ValueError(f"{name}: there is no feature block {block!r}; there are {list(self.blocks)}")
            width = self.blocks[block].stop - self.blocks[block].start
            if matrix.shape[1] != width:
                raise ValueError(f"{name}[{block!r}]: {matrix.shape[1]} columns, expected {width}")
        rows = next(iter(blocks.values())).shape[0]
        parts = [
            blocks.get(block, sp.csr_array((rows, part.stop - part.start), dtype=self.dtype))
            for block, part in self.blocks.items()
        ]
        return sp.csr_array(sp.hstack(parts, format="csr"))

    @property
    def by_row(self) -> FeatureRows:
        """The rows alone, without what only training needs; memory is shared."""
        fields = {field.name: getattr(self, field.name) for field in attrs.fields(FeatureRows)}
        return FeatureRows(**fields)

    @property
    def nbytes(self) -> int:
        """The bytes of its arrays."""
        values = attrs.asdict(self, recurse=False).values()
        return sum(value.nbytes for value in values if isinstance(value, np.ndarray))


@attrs.frozen(eq=False, kw_only=True, repr=False)
class Features(FeatureRows):
    """A sparse feature matrix by row and by column, as training needs it."""

    col_ptr: NDArray[np.int64]
    col_index: NDArray[np.int32]
    col_value: Reals | None
    """None where values are left out, as ``row_value`` is."""
    elsewhere: NDArray[np.int32] | None = None
    """Own features of rows that are not here, or -1, where these are the rows of a shard."""

    @functools.cached_property
    def column_sizes(self) -> NDArray[np.int64]:
        """The number of stored values of each feature."""
        return np.diff(self.col_ptr)

    @functools.cached_property
    def group(self) -> NDArray[np.int32]:
        """The number of each feature's block."""
        widths = [part.stop - part.start for part in self.blocks.values()]
        return np.repeat(np.arange(len(widths), dtype=np.int32), widths)

    @functools.cached_property
    def shared(self) -> NDArray[np.bool_]:
        """Which features are no row's own."""
        shared = np.ones(self.cols, bool)
        for own in (self.own, self.elsewhere):
            if own is not None:
                shared[own[own >= 0]] = False
        return shared

    def some_rows(self, rows: slice) -> Features:
        """Return some neighbouring rows, with the features of all; memory is shared where it can be."""
        ptr = self.row_ptr[rows.start : rows.stop + 1]
        entries = slice(int(ptr[0]), int(ptr[-1]))
        index, value = self.row_index[entries], None if self.row_value is None else self.row_value[entries]
        ptr = ptr - ptr[0]
        pattern = np.zeros(len(index), np.int8) if value is None else value
        by_column = sp.csr_array((pattern, index, ptr), shape=(rows.stop - rows.start, self.cols)).tocsc()
        return Features(
            rows=rows.stop - rows.start,
            cols=self.cols,
            row_ptr=ptr,
            row_index=index,
            row_value=value,
            row_scale=None if self.row_scale is None else self.row_scale[rows],
            own=self.own[rows],
            own_value=self.own_value[rows],
            blocks=self.blocks,
            col_ptr=by_column.indptr.astype(np.int64),
            col_index=by_column.indices.astype(np.int32, copy=False),
            col_value=None if value is None else by_column.data,
            elsewhere=self.own,
        )

    def values_by_column(self) -> Reals:
        """Return the values in the order of ``col_index``."""
        if self.row_scale is None:
            return cast(Reals, self.col_value)
        values = self.row_scale[self.col_index]
        owners = self.own >= 0
        values[self.col_ptr[self.own[owners]]] = self.own_value[owners]
        return values

    def with_values(self) -> Features:
        """Return the same features with all values in memory."""
        if self.row_scale is None:
            return self
        return attrs.evolve(self, row_value=self.values_by_row(), col_value=self.values_by_column(), row_scale=None)


def lay_out(
    name: str, blocks: Blocks | None, rows: int, dtype: np.dtype[Any], own: Container[str] | None = None
) -> Features:
    """Lay feature blocks out side by side, by row and by column; None means an indicator for each row.

    ``own`` names the blocks that may have rows' own features; by default all may.
    """
    by_row, X = _rows(name, blocks, rows, dtype, own)
    if by_row.row_scale is not None:
        X.data = np.zeros(X.nnz, np.int8)  # the pattern alone goes on
    Xt = X.tocsc()
    return Features(
        **attrs.asdict(by_row, recurse=False),
        col_ptr=Xt.indptr.astype(np.int64),
        col_index=Xt.indices.astype(np.int32, copy=False),
        col_value=Xt.data if by_row.row_scale is None else None,
    )


def rows_of(name: str, given: sp.csr_array | Mapping[str, sp.csr_array]) -> FeatureRows:
    """Lay a feature matrix, or feature blocks, out by row alone."""
    blocks = given if isinstance(given, Mapping) else {"features": given}
    first = next(iter(blocks.values()))
    return _rows(name, dict(blocks), first.shape[0], first.dtype)[0]


def _rows(
    name: str, blocks: Blocks | None, rows: int, dtype: np.dtype[Any], own_blocks: Container[str] | None = None
) -> tuple[FeatureRows, sp.csr_array]:
    if blocks is None:
        blocks = {"indicator": sp.eye_array(rows, dtype=dtype, format="csr")}
    offsets = np.concatenate([[0], np.cumsum([matrix.shape[1] for matrix in blocks.values()])])
    slices = {block: slice(int(a), int(b)) for block, a, b in zip(blocks, offsets, offsets[1:], strict=False)}
    X = _stack(list(blocks.values()))
    check_finite(name, X.data)
    check_squares(name, X.data)
    widths = [part.stop - part.start for part in slices.values()]
    own, own_value = _own_features(
        X, np.repeat([own_blocks is None or block in own_blocks for block in slices], widths)
    )
    _put_own_first(X, own)
    row_ptr = X.indptr.astype(np.int64)
    scale = _row_scale(row_ptr, X.data, own)
    made = FeatureRows(
        rows=rows,
        cols=int(offsets[-1]),
        row_ptr=row_ptr,
        row_index=X.indices.astype(np.int32, copy=False),
        row_value=X.data if scale is None else None,
        row_scale=scale,
        own=own,
        own_value=own_value,
        blocks=slices,
    )
    return made, X


def _stack(matrices: list[sp.csr_array]) -> sp.csr_array:
    """Return the matrices side by side in memory of its own, duplicates added up, by parts to keep memory in bounds."""
    matrices = [matrix if matrix.has_canonical_format else _canonical(matrix) for matrix in matrices]
    rows, nonzeros = matrices[0].shape[0], sum(matrix.nnz for matrix in matrices)
    index = np.int32 if nonzeros <= INDEX_LIMIT else np.int64
    ptr = np.sum([matrix.indptr.astype(np.int64) for matrix in matrices], axis=0)
    indices, data = np.empty(nonzeros, index), np.empty(nonzeros, matrices[0].dtype)
    for begin in range(0, rows, SCALE_ROWS):
        part = sp.hstack([matrix[begin : begin + SCALE_ROWS] for matrix in matrices], format="csr")
        place = slice(ptr[begin], ptr[begin] + part.nnz)
        indices[place], data[place] = part.indices, part.data
    cols = sum(matrix.shape[1] for matrix in matrices)
    return sp.csr_array((data, indices, ptr.astype(index)), shape=(rows, cols))


def _canonical(matrix: sp.csr_array) -> sp.csr_array:
    copy = matrix.copy()
    copy.sum_duplicates()
    return copy


def _own_features(X: sp.csr_array, may: NDArray[np.bool_]) -> tuple[NDArray[np.int32], Reals]:
    """Return, for each row, the first column whose one stored value, not zero, is there (or -1), and that value.

    ``may`` says which columns it may be.
    """
    counts = np.zeros(X.shape[1], np.int64)
    for begin in range(0, X.nnz, OWN_VALUES):
        counts += np.bincount(X.indices[begin : begin + OWN_VALUES], minlength=X.shape[1])
    single = (counts == 1) & may
    own, value = np.full(X.shape[0], -1, np.int32), np.zeros(X.shape[0], X.dtype)
    for begin in range(0, X.nnz, OWN_VALUES):
        part = slice(begin, begin + OWN_VALUES)
        at = np.flatnonzero(single[X.indices[part]] & (X.data[part] != 0)) + begin
        rows = np.searchsorted(X.indptr, at, side="right") - 1
        new = (own[rows] < 0) & (np.diff(rows, prepend=-1) > 0)
        own[rows[new]], value[rows[new]] = X.indices[at[new]], X.data[at[new]]
    return own, value


def _put_own_first(X: sp.csr_array, own: NDArray[np.int32]) -> None:
    """Move each row's own feature to the row's beginning."""
    owners = np.flatnonzero(own >= 0)
    for i in owners[X.indices[X.indptr[owners]] != own[owners]]:
        row = slice(X.indptr[i], X.indptr[i + 1])
        order = np.argsort(X.indices[row] != own[i], kind="stable")
        X.indices[row], X.data[row] = X.indices[row][order], X.data[row][order]


def _row_scale(row_ptr: NDArray[np.int64], values: Reals, own: NDArray[np.int32]) -> Reals | None:
    """Return the one value of each row's features that are not its own, or None where some row has several."""
    begin, end = row_ptr[:-1] + (own >= 0), row_ptr[1:]
    some = begin < end
    scale = np.ones(len(own), values.dtype)
    scale[some] = values[begin[some]]
    for part in range(0, len(own), SCALE_ROWS):  # by parts, to keep memory in bounds
        rows = slice(part, part + SCALE_ROWS)
        expected = np.repeat(scale[rows], np.diff(row_ptr[part : part + SCALE_ROWS + 1]))
        found = values[row_ptr[part] : row_ptr[part] + len(expected)]
        different = np.flatnonzero(found != expected) + row_ptr[part]
        owned = (row_ptr[:-1][rows])[own[rows] >= 0]
        if not np.isin(different, owned, assume_unique=True).all():
            return None
    return scale


__all__ = ["FeatureRows", "Features", "lay_out", "rows_of"]
