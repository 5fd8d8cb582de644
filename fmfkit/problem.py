"""What is fixed during a fit: pairs, features, loss, regularizers; checked once, laid out for the kernels.

Everything exists for both sides alike: ``Side`` is one of them, "query" (rows of Y, features X, parameters P) or
"target" (columns of Y, features Z, parameters Q).
"""

from __future__ import annotations

import difflib
import functools
import numbers
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, cast

import attrs
import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, DTypeLike, NDArray

from fmfkit.checks import check_batch, frozen, whole
from fmfkit.interfaces import Loss, Reals, Regularizer
from fmfkit.registry import resolve
from fmfkit.regularizers import Regularization
from fmfkit.state import SideName

if TYPE_CHECKING:
    from fmfkit.memory import Memory

INDEX_LIMIT = 2**31 - 1
MOST_DIMENSIONS = 65536
CHUNK_PAIRS = 4096
"""Rows are shared out between threads in chunks of about this many pairs."""
SCALE_ROWS = 4096
"""Rows of features that are looked at at a time."""
OWN_VALUES = 2**21
"""Values of features that are looked at at a time."""

Matrix = Any  # whatever scipy.sparse.csr_array takes


@attrs.frozen(eq=False)
class Features:
    """A sparse feature matrix, one row per instance, by row and by column; columns come in named blocks.

    A feature that a single row has is that row's own (one of them, if there are several). Where all other values of a
    row are the same, in every row, they are left out of memory: ``row_scale`` has one for each row instead.
    """

    rows: int
    cols: int
    row_ptr: NDArray[np.int64]
    row_index: NDArray[np.int32]
    """By row: the row's own feature first, then the others, ascending."""
    row_value: Reals | None
    col_ptr: NDArray[np.int64]
    col_index: NDArray[np.int32]
    col_value: Reals | None
    row_scale: Reals | None
    """The values that were left out; None where ``row_value`` and ``col_value`` have them all."""
    own: NDArray[np.int32]
    """Each row's own feature, or -1."""
    own_value: Reals
    blocks: Mapping[str, slice]

    @property
    def nonzeros(self) -> int:
        """The number of stored values."""
        return len(self.row_index)

    @functools.cached_property
    def column_sizes(self) -> NDArray[np.int64]:
        """The number of stored values of each feature."""
        return np.diff(self.col_ptr)

    @functools.cached_property
    def shared(self) -> NDArray[np.bool_]:
        """Which features are no row's own."""
        shared = np.ones(self.cols, bool)
        shared[self.own[self.own >= 0]] = False
        return shared

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

    def values_by_column(self) -> Reals:
        """Return the values in the order of ``col_index``."""
        if self.row_scale is None:
            return cast(Reals, self.col_value)
        values = self.row_scale[self.col_index]
        owners = self.own >= 0
        values[self.col_ptr[self.own[owners]]] = self.own_value[owners]
        return values

    def matrix_of(self, given: Matrix | Mapping[str, Matrix], name: str) -> sp.csr_array:
        """Return features of other instances as one matrix with these columns.

        ``given`` has all columns, or is a mapping of blocks to matrices: blocks that are left out are zero.
        """
        dtype = self.own_value.dtype
        if not isinstance(given, Mapping):
            matrix = _blocks(name, given, dtype)["features"]
            if matrix.shape[1] != self.cols:
                raise ValueError(f"{name}: {matrix.shape[1]} columns, expected {self.cols}, those of the training data")
            return matrix
        blocks = _blocks(name, given, dtype)
        for block, matrix in blocks.items():
            if block not in self.blocks:
                raise ValueError(f"{name}: there is no feature block {block!r}; there are {list(self.blocks)}")
            width = self.blocks[block].stop - self.blocks[block].start
            if matrix.shape[1] != width:
                raise ValueError(f"{name}[{block!r}]: {matrix.shape[1]} columns, expected {width}")
        rows = next(iter(blocks.values())).shape[0]
        parts = [
            blocks.get(block, sp.csr_array((rows, part.stop - part.start), dtype=dtype))
            for block, part in self.blocks.items()
        ]
        return sp.csr_array(sp.hstack(parts, format="csr"))

    def with_values(self) -> Features:
        """Return the same features with all values in memory."""
        if self.row_scale is None:
            return self
        return attrs.evolve(self, row_value=self.values_by_row(), col_value=self.values_by_column(), row_scale=None)


@attrs.frozen(eq=False)
class Pairs:
    """The observed pairs grouped by one side: row i's are ``ptr[i]:ptr[i + 1]``, partners ascending."""

    rows: int
    ptr: NDArray[np.int64]
    other: NDArray[np.int32]
    y: Reals
    weight: Reals | None
    chunk: NDArray[np.int64]

    def __len__(self) -> int:
        """Return the number of pairs."""
        return len(self.other)

    @functools.cached_property
    def totals(self) -> NDArray[np.float64]:
        """|O_i|: the number of pairs of each row, or the sum of their weights."""
        if self.weight is None:
            return np.diff(self.ptr).astype(np.float64)
        totals, some = np.zeros(self.rows), np.diff(self.ptr) > 0
        totals[some] = np.add.reduceat(self.weight.astype(np.float64), self.ptr[:-1][some])
        return totals


@attrs.frozen(eq=False)
class Part:
    """A penalised part of one side's parameters, the factors or the bias: a regularizer and its strengths."""

    regularizer: Regularizer
    strength: Reals  # (features)
    growth: Reals  # (columns) multiplies the strengths
    columns: slice

    def strength_in(self, column: int, features: Any = slice(None)) -> Reals:
        """Return the strengths of features, all or some, in one column of the parameters."""
        return np.asarray(self.strength[features] * self.growth[column - self.columns.start])


@attrs.frozen(eq=False)
class Side:
    """One side of a problem."""

    name: SideName
    pairs: Pairs
    features: Features
    factors: Part
    bias: Part | None
    bias_slot: int | None
    """Where the embedding holds this side's bias; the other side's embedding is 1 there."""

    @property
    def parts(self) -> tuple[Part, ...]:
        """The bias first, if there is one, then the factors: the order in which they are updated."""
        return (self.factors,) if self.bias is None else (self.bias, self.factors)


@attrs.frozen(eq=False, kw_only=True)
class Problem:
    """Queries, targets, their features, the scores of some pairs, and what a good model is.

    Build one with ``from_scipy`` or ``from_coo``.
    """

    query: Side
    target: Side
    rank: int
    loss: Loss
    regularization: Regularization
    offset: float

    @classmethod
    def from_scipy(
        cls,
        Y: Matrix,
        *,
        rank: int,
        X: Matrix | Mapping[str, Matrix] | None = None,
        Z: Matrix | Mapping[str, Matrix] | None = None,
        weight: Matrix | None = None,
        loss: Loss | str = "square",
        regularizer: Regularizer | Regularization | str = "elastic_net",
        offset: float | None = None,
        query_bias: bool = True,
        target_bias: bool = True,
        duplicates: Literal["error", "sum"] = "error",
        dtype: DTypeLike = np.float32,
    ) -> Problem:
        """Build a problem from a sparse matrix of scores, queries × targets.

        Every stored entry of ``Y`` is an observation, explicit zeros too.

        Args:
            Y: scipy sparse matrix or array.
            rank: the number of latent dimensions, biases not counted.
            X: features of the queries, one row each; a mapping of names to matrices makes named blocks side by side.
                None means an indicator for each query: plain matrix factorization.
            Z: features of the targets, likewise.
            weight: sparse matrix with the pattern of ``Y``: how much each observation counts; None means 1.
            loss: a Loss or the name of a registered one.
            regularizer: one Regularizer for everything, a Regularization, or the name of a registered one.
            offset: added to every score; None leaves it to the loss (square: the mean of the scores).
            query_bias: whether queries have a bias, learnt from their features like a latent dimension.
            target_bias: whether targets have one.
            duplicates: "error" refuses entries for the same pair; "sum" adds up their scores and their weights.
            dtype: float32 or float64, for data and parameters.
        """
        Y = _coo(Y, "Y")
        weights = None
        if weight is not None:
            W = _coo(weight, "weight")
            if W.shape != Y.shape:
                raise ValueError(f"weight: shape {W.shape} differs from the shape of Y, {Y.shape}")
            if W.nnz != Y.nnz or (W.row != Y.row).any() or (W.col != Y.col).any():
                raise ValueError(
                    f"weight: its {W.nnz} entries are not at the places of Y's {Y.nnz}, in the same order; "
                    "copy Y and replace its .data"
                )
            weights = W.data
        return cls.from_coo(
            Y.row, Y.col, Y.data, shape=Y.shape, rank=rank, X=X, Z=Z, weight=weights, loss=loss,
            regularizer=regularizer, offset=offset, query_bias=query_bias, target_bias=target_bias,
            duplicates=duplicates, dtype=dtype,
        )  # fmt: skip

    @classmethod
    def from_coo(
        cls,
        queries: ArrayLike,
        targets: ArrayLike,
        scores: ArrayLike,
        *,
        rank: int,
        shape: tuple[int, int] | None = None,
        X: Matrix | Mapping[str, Matrix] | None = None,
        Z: Matrix | Mapping[str, Matrix] | None = None,
        weight: ArrayLike | None = None,
        loss: Loss | str = "square",
        regularizer: Regularizer | Regularization | str = "elastic_net",
        offset: float | None = None,
        query_bias: bool = True,
        target_bias: bool = True,
        duplicates: Literal["error", "sum"] = "error",
        dtype: DTypeLike = np.float32,
    ) -> Problem:
        """Build a problem from index arrays: pair e is (queries[e], targets[e]), its score scores[e].

        ``shape`` is (number of queries, number of targets); left out, it comes from X and Z, else from the largest
        indices. The other arguments are those of ``from_scipy``.
        """
        real = _precision(dtype)
        rank = whole("rank", rank, least=1, most=MOST_DIMENSIONS)
        loss = resolve("loss", loss)
        regularization = _regularization(regularizer)
        if duplicates not in ("error", "sum"):
            raise ValueError(f"duplicates: expected 'error' or 'sum', got {duplicates!r}")
        X, Z = (None if given is None else _blocks(name, given, real) for name, given in (("X", X), ("Z", Z)))
        rows, cols, y, w = _observations(queries, targets, scores, weight, real)
        q, p = _shape(shape, rows, cols, X, Z)
        by_query, by_target = _group(rows, cols, y, w, (q, p), duplicates)
        loss.check_targets(frozen(by_query.y))
        _probe_loss(loss, by_query)
        if offset is None:
            offset = loss.offset(frozen(by_query.y), None if w is None else frozen(cast(Reals, by_query.weight)))
        offset = _offset(offset, real)
        features = (features_of("X", X, q, real), features_of("Z", Z, p, real))
        _check_regularizers(regularization, *features)
        return cls(
            query=_side("query", by_query, features[0], rank, regularization.P,
                        regularization.query_bias if query_bias else None, rank),
            target=_side("target", by_target, features[1], rank, regularization.Q,
                         regularization.target_bias if target_bias else None, rank + bool(query_bias)),
            rank=rank, loss=loss, regularization=regularization, offset=offset,
        )  # fmt: skip

    @property
    def X(self) -> Features:
        """The features of the queries."""
        return self.query.features

    @property
    def Z(self) -> Features:
        """The features of the targets."""
        return self.target.features

    @property
    def pairs(self) -> int:
        """The number of observed pairs."""
        return len(self.query.pairs)

    @property
    def sides(self) -> tuple[Side, Side]:
        """The query side, then the target side: the order in which a round updates them."""
        return self.query, self.target

    @property
    def dtype(self) -> np.dtype[Any]:
        """The precision of data and parameters."""
        return self.query.pairs.y.dtype

    @property
    def query_bias(self) -> bool:
        """Whether queries have a bias."""
        return self.query.bias is not None

    @property
    def target_bias(self) -> bool:
        """Whether targets have a bias."""
        return self.target.bias is not None

    def memory(self, rank: int | None = None, block: int = 8, threads: int | None = None) -> Memory:
        """Return how many bytes training takes with PL2M(block=block): data, model and work.

        ``rank`` asks for another rank than the problem's. The formula stands in ``fmfkit.memory``.
        """
        from fmfkit import _native
        from fmfkit.memory import memory

        if block not in (1, _native.BLOCK):
            raise ValueError(f"block: expected 1 or {_native.BLOCK}, got {block!r}")
        rank = self.rank if rank is None else whole("rank", rank, least=1, most=MOST_DIMENSIONS)
        return memory(self, rank, block, _native.resolve_threads(threads))

    def __repr__(self) -> str:
        """Tell the sizes, not the arrays."""
        return (
            f"<Problem {self.query.pairs.rows} queries x {self.target.pairs.rows} targets, {self.pairs} pairs, "
            f"{self.X.cols} + {self.Z.cols} features, rank {self.rank}, {self.loss!r}, {self.dtype}>"
        )


def _precision(dtype: DTypeLike) -> np.dtype[Any]:
    real = np.dtype(dtype)
    if real not in (np.float32, np.float64):
        raise ValueError(f"dtype: expected float32 or float64, got {real}")
    return real


def _offset(value: Any, dtype: np.dtype[Any]) -> float:
    if not isinstance(value, numbers.Real) or not abs(float(value)) <= float(np.finfo(dtype).max):
        raise ValueError(f"offset: expected a number that {dtype} can hold, got {value!r}")
    return float(value)


def _regularization(given: Regularizer | Regularization | str) -> Regularization:
    if isinstance(given, Regularization):
        return given
    regularizer = resolve("regularizer", given)
    return Regularization(P=regularizer, Q=regularizer)


def _coo(matrix: Matrix, name: str) -> sp.coo_array:
    if not sp.issparse(matrix):
        raise TypeError(
            f"{name}: expected a scipy sparse matrix (its stored entries are the observations), "
            f"got {type(matrix).__name__}"
        )
    _check_format(matrix, name)
    coo = sp.coo_array(matrix)
    _reals(name, coo.data, coo.data.dtype)
    return coo


def _check_count(count: int, label: str) -> None:
    if count > INDEX_LIMIT:
        raise ValueError(f"{label}: {count} is more than the {INDEX_LIMIT} that 32-bit indices can number")


def _check_format(matrix: Matrix, name: str) -> None:
    """Refuse a matrix that is not two-dimensional or whose index arrays contradict each other."""
    if matrix.ndim != 2:
        raise ValueError(f"{name}: expected two dimensions, got shape {matrix.shape}")
    for size, label in zip(matrix.shape, ("rows", "columns"), strict=True):
        _check_count(size, f"{label} of {name}")
    if getattr(matrix, "format", None) == "coo":
        for index, size in zip(matrix.coords, matrix.shape, strict=True):
            if index.size and (index.min() < 0 or index.max() >= size):
                raise ValueError(
                    f"{name}: malformed sparse matrix: indices from {index.min()} to {index.max()} for a size of {size}"
                )
    if hasattr(matrix, "check_format"):
        try:
            matrix.check_format(full_check=True)
        except ValueError as error:
            raise ValueError(f"{name}: malformed sparse matrix: {error}") from None


def _reals(name: str, values: ArrayLike, dtype: np.dtype[Any]) -> Reals:
    """Return ``values`` as a flat array of finite reals."""
    if np.ma.is_masked(values):
        raise ValueError(f"{name}: some values are masked; leave those pairs out")
    array = np.asarray(values)
    if array.ndim != 1:
        raise ValueError(f"{name}: expected a flat array, got shape {array.shape}")
    if array.dtype.kind not in "biuf":
        raise TypeError(f"{name}: expected real numbers, got dtype {array.dtype}")
    with np.errstate(over="ignore"):
        array = array.astype(dtype, copy=False)
    _check_finite(name, array)
    return array


def _check_finite(name: str, values: Reals) -> None:
    finite = np.isfinite(values)
    if not finite.all():
        first = int(np.flatnonzero(~finite)[0])
        raise ValueError(
            f"{name}: {int((~finite).sum())} of {values.size} values are NaN, infinite or too large for "
            f"{values.dtype}, the first at position {first}"
        )


def _indices(name: str, values: ArrayLike) -> NDArray[Any]:
    array = np.asarray(values)
    if array.ndim != 1:
        raise ValueError(f"{name}: expected a flat array, got shape {array.shape}")
    if array.size == 0:
        return array.astype(np.int32)
    if array.dtype.kind not in "iu":
        raise TypeError(f"{name}: expected whole numbers (row numbers from 0), got dtype {array.dtype}")
    return array


def _observations(
    queries: ArrayLike, targets: ArrayLike, scores: ArrayLike, weight: ArrayLike | None, dtype: np.dtype[Any]
) -> tuple[NDArray[Any], NDArray[Any], Reals, Reals | None]:
    rows, cols, y = _indices("queries", queries), _indices("targets", targets), _reals("scores", scores, dtype)
    w = None if weight is None else _reals("weight", weight, dtype)
    for name, array in (("targets", cols), ("scores", y), ("weight", w)):
        if array is not None and len(array) != len(rows):
            raise ValueError(f"{name}: {len(array)} entries for {len(rows)} queries")
    if len(rows) == 0:
        raise ValueError("scores: there is no observation to learn from")
    if w is not None and (w < 0).any():
        first = int(np.flatnonzero(w < 0)[0])
        raise ValueError(f"weight: expected no negative weight, got {w[first]} at position {first}")
    return rows, cols, y, w


Blocks = dict[str, sp.csr_array]


def _blocks(name: str, given: Matrix | Mapping[str, Matrix], dtype: np.dtype[Any]) -> Blocks:
    """Return the blocks of X or Z as sparse matrices with equally many rows."""
    named = dict(given) if isinstance(given, Mapping) else {"features": given}
    if not named:
        raise ValueError(f"{name}: the mapping of feature blocks is empty")
    blocks = {}
    for block, matrix in named.items():
        if not isinstance(block, str):
            raise TypeError(f"{name}: block names are strings, got {block!r}")
        label = f"{name}[{block!r}]" if isinstance(given, Mapping) else name
        if not (sp.issparse(matrix) or isinstance(matrix, np.ndarray)):
            raise TypeError(f"{label}: expected a scipy sparse matrix or a 2-d array, got {type(matrix).__name__}")
        _check_format(matrix, label)
        if matrix.dtype.kind not in "biuf":
            raise TypeError(f"{label}: expected real numbers, got dtype {matrix.dtype}")
        with np.errstate(over="ignore"):
            blocks[block] = sp.csr_array(matrix, dtype=dtype)
        _check_finite(label, blocks[block].data)
    rows = {block: matrix.shape[0] for block, matrix in blocks.items()}
    if len(set(rows.values())) > 1:
        raise ValueError(f"{name}: blocks differ in their numbers of rows: {rows}")
    return blocks


def _shape(
    shape: tuple[int, int] | None, rows: NDArray[Any], cols: NDArray[Any], X: Blocks | None, Z: Blocks | None
) -> tuple[int, int]:
    """Return (queries, targets), all indices and feature matrices agreeing with it."""
    if shape is not None and (not isinstance(shape, tuple | list) or len(shape) != 2):
        raise ValueError(f"shape: expected (number of queries, number of targets), got {shape!r}")
    sizes = []
    for axis, (what, index, blocks, name) in enumerate((("queries", rows, X, "X"), ("targets", cols, Z, "Z"))):
        described = next(iter(blocks.values())).shape[0] if blocks else None
        if shape is not None:
            size = whole("shape", shape[axis], least=1)
        else:
            size = described if described is not None else int(index.max()) + 1
        if described is not None and described != size:
            raise ValueError(f"{name}: {described} rows for {size} {what}")
        columns = sum(matrix.shape[1] for matrix in blocks.values()) if blocks else 0
        _check_count(size, what)
        _check_count(columns, f"columns of {name}")
        if int(index.min()) < 0 or int(index.max()) >= size:
            bad = int(index.min()) if int(index.min()) < 0 else int(index.max())
            raise ValueError(f"{what}: index {bad} is out of range for {size} {what}")
        sizes.append(size)
    return sizes[0], sizes[1]


def _group(
    rows: NDArray[Any], cols: NDArray[Any], y: Reals, w: Reals | None, shape: tuple[int, int], duplicates: str
) -> tuple[Pairs, Pairs]:
    """Return the pairs by query and by target."""
    index = (rows.astype(np.int32, copy=False), cols.astype(np.int32, copy=False))

    def by_query(name: str, values: Reals) -> sp.csr_array:
        matrix = sp.coo_array((values, index), shape=shape).tocsr()  # tocsr adds up duplicates
        if matrix.nnz < len(values) and duplicates == "error":
            raise ValueError(_duplicate_message(rows, cols, len(values) - matrix.nnz))
        matrix.sort_indices()
        _check_finite(name, matrix.data)  # sums of duplicates may overflow
        return matrix

    Y, W = by_query("scores", y), None if w is None else by_query("weight", w)
    Yt, Wt = Y.tocsc(), None if W is None else W.tocsc()
    return _pairs(Y, W, shape[0]), _pairs(Yt, Wt, shape[1])


def _duplicate_message(rows: NDArray[Any], cols: NDArray[Any], surplus: int) -> str:
    order = np.lexsort((cols, rows))
    again = (np.diff(rows[order]) == 0) & (np.diff(cols[order]) == 0)
    first = order[int(np.flatnonzero(again)[0])]
    return (
        f"scores: {surplus} observations repeat a pair, such as query {rows[first]} with target {cols[first]}; "
        "remove them, or pass duplicates='sum'"
    )


def _pairs(Y: Any, W: Any, rows: int) -> Pairs:
    ptr = Y.indptr.astype(np.int64)
    # a chunk ends with the row that brings the running total past a multiple of CHUNK_PAIRS
    chunk = np.concatenate([[0], np.flatnonzero(np.diff(ptr // CHUNK_PAIRS)) + 1, [rows]]).astype(np.int64)
    return Pairs(
        rows=rows, ptr=ptr, other=Y.indices.astype(np.int32, copy=False), y=Y.data,
        weight=None if W is None else W.data, chunk=np.unique(chunk),
    )  # fmt: skip


def features_of(name: str, blocks: Blocks | None, rows: int, dtype: np.dtype[Any]) -> Features:
    """Lay the blocks out side by side; None means an indicator for each row."""
    if blocks is None:
        blocks = {"indicator": sp.eye_array(rows, dtype=dtype, format="csr")}
    offsets = np.concatenate([[0], np.cumsum([matrix.shape[1] for matrix in blocks.values()])])
    slices = {block: slice(int(a), int(b)) for block, a, b in zip(blocks, offsets, offsets[1:], strict=False)}
    matrices = list(blocks.values())
    X = _stack(matrices)
    _check_finite(name, X.data)
    own, own_value = _own_features(X)
    _put_own_first(X, own)
    row_ptr = X.indptr.astype(np.int64)
    scale = _row_scale(row_ptr, X.data, own)
    if scale is not None:
        X.data = np.zeros(X.nnz, np.int8)  # the pattern alone goes on
    Xt = X.tocsc()
    return Features(
        rows=rows, cols=int(offsets[-1]),
        row_ptr=row_ptr, row_index=X.indices.astype(np.int32, copy=False), row_value=X.data if scale is None else None,
        col_ptr=Xt.indptr.astype(np.int64), col_index=Xt.indices.astype(np.int32, copy=False),
        col_value=Xt.data if scale is None else None,
        row_scale=scale, own=own, own_value=own_value, blocks=slices,
    )  # fmt: skip


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


def _own_features(X: sp.csr_array) -> tuple[NDArray[np.int32], Reals]:
    """Return, for each row, the first column whose one stored value, not zero, is there (or -1), and that value."""
    counts = np.zeros(X.shape[1], np.int64)
    for begin in range(0, X.nnz, OWN_VALUES):
        counts += np.bincount(X.indices[begin : begin + OWN_VALUES], minlength=X.shape[1])
    single = counts == 1
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


def _side(
    name: SideName,
    pairs: Pairs,
    features: Features,
    rank: int,
    factors: Regularizer,
    bias: Regularizer | None,
    slot: int,
) -> Side:
    return Side(
        name=name, pairs=pairs, features=features,
        factors=_part(factors, features, pairs, slice(0, rank)),
        bias=None if bias is None else _part(bias, features, pairs, slice(rank, rank + 1)),
        bias_slot=None if bias is None else slot,
    )  # fmt: skip


def _part(regularizer: Regularizer, features: Features, pairs: Pairs, columns: slice) -> Part:
    with np.errstate(over="ignore"):
        growth = (1.0 + np.arange(columns.stop - columns.start)) ** regularizer.growth
    strength = _strengths(regularizer, features, pairs, largest_growth=growth[-1])
    return Part(regularizer, strength, growth.astype(pairs.y.dtype), columns)


def _strengths(regularizer: Regularizer, features: Features, pairs: Pairs, largest_growth: float) -> Reals:
    """Return each feature's strength: its block's factor, and how much it is observed."""
    strength = np.ones(features.cols)
    for block, factor in regularizer.blocks.items():
        if block in features.blocks:
            strength[features.blocks[block]] = factor
    if regularizer.scale == "observations":
        strength *= 1 + _observed(features, pairs)
    with np.errstate(over="ignore"):
        strength = strength.astype(pairs.y.dtype)
        net = max(getattr(regularizer, "l1", 1.0), getattr(regularizer, "l2", 1.0), 1.0)
        fits = np.isfinite(strength * strength.dtype.type(net * largest_growth))
    if not fits.all():
        raise ValueError(
            f"regularizer: the strength of feature {int(np.flatnonzero(~fits)[0])} is too large for {pairs.y.dtype}: "
            "scale the features down, lower l1, l2 and growth, or use scale='uniform'"
        )
    return cast(Reals, strength)


def _observed(features: Features, pairs: Pairs) -> NDArray[np.float64]:
    """Return Σ_i x_is² |O_i| of each feature."""
    observed = np.zeros(features.cols)
    for part in range(0, features.rows, SCALE_ROWS):
        ptr, totals = features.row_ptr[part : part + SCALE_ROWS + 1], pairs.totals[part : part + SCALE_ROWS]
        values = features.values_by_row(part, part + SCALE_ROWS)
        squares = np.square(values, dtype=np.float64) * np.repeat(totals, np.diff(ptr))
        observed += np.bincount(features.row_index[ptr[0] : ptr[-1]], weights=squares, minlength=features.cols)
    return observed


def _check_regularizers(regularization: Regularization, X: Features, Z: Features) -> None:
    """Refuse scales and block factors that make no strength. A regularizer for both sides may name blocks of either."""
    both = regularization.P == regularization.Q
    for part, mine, other in (("P", X, Z), ("query_bias", X, Z), ("Q", Z, X), ("target_bias", Z, X)):
        regularizer: Regularizer = getattr(regularization, part)
        if regularizer.scale not in ("observations", "uniform"):
            raise ValueError(
                f"regularizer: scale of {regularizer!r} is {regularizer.scale!r}, expected 'observations' or 'uniform'"
            )
        if not 0 <= regularizer.growth < np.inf:
            raise ValueError(f"regularizer: growth of {regularizer!r}: expected a finite number of at least 0")
        known = [*mine.blocks, *(other.blocks if both else ())]
        for block, factor in regularizer.blocks.items():
            if not 0 <= factor < np.inf:
                raise ValueError(f"regularizer: the factor of block {block!r} is {factor!r}, expected at least 0")
            if block not in known:
                near = difflib.get_close_matches(block, known, 1)
                hint = f"; did you mean {near[0]!r}?" if near else ""
                raise ValueError(f"regularizer: {part} has no feature block {block!r}; there are {known}{hint}")


def _probe_loss(loss: Loss, pairs: Pairs) -> None:
    """Call the loss on a few pairs: one that breaks its interface is refused before any work."""
    y = pairs.y[:3]
    score = np.zeros_like(y)
    for method in ("value", "gradient", "curvature"):
        result = getattr(loss, method)(frozen(score), frozen(y))
        check_batch(loss, method, result, y.shape, scalar=method == "curvature")


__all__ = ["Features", "Pairs", "Part", "Problem", "Side"]
