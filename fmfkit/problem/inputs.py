"""Checks of the arrays and matrices that callers give."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, DTypeLike, NDArray

from fmfkit.arguments import whole
from fmfkit.typing import Matrix, Reals

INDEX_LIMIT = 2**31 - 1

Blocks = dict[str, sp.csr_array]
"""Feature blocks by name, with equally many rows."""


def precision(dtype: DTypeLike) -> np.dtype[Any]:
    """Return float32 or float64."""
    real = np.dtype(dtype)
    if real not in (np.float32, np.float64):
        raise ValueError(f"dtype: expected float32 or float64, got {real}")
    return real


def sparse_pairs(matrix: Matrix, name: str) -> sp.coo_array:
    """Return a sparse matrix, whose stored entries are observations, by coordinates."""
    if not sp.issparse(matrix):
        raise TypeError(
            f"{name}: expected a scipy sparse matrix (its stored entries are the observations), "
            f"got {type(matrix).__name__}"
        )
    check_format(matrix, name)
    coo = sp.coo_array(matrix)
    reals(name, coo.data, coo.data.dtype)
    return coo


def check_count(count: int, label: str) -> None:
    """Refuse more things than 32-bit indices can number."""
    if count > INDEX_LIMIT:
        raise ValueError(f"{label}: {count} is more than the {INDEX_LIMIT} that 32-bit indices can number")


def check_format(matrix: Matrix, name: str) -> None:
    """Refuse a matrix that is not two-dimensional or whose index arrays contradict each other."""
    if matrix.ndim != 2:
        raise ValueError(f"{name}: expected two dimensions, got shape {matrix.shape}")
    for size, label in zip(matrix.shape, ("rows", "columns"), strict=True):
        check_count(size, f"{label} of {name}")
    if getattr(matrix, "format", None) == "coo":
        for index, size in zip(matrix.coords, matrix.shape, strict=True):
            if index.size and (index.min() < 0 or index.max() >= size):
                raise ValueError(
                    f"{name}: malformed sparse matrix: indices from {index.min()} to {index.max()} for a size of {size}"
                )
    if hasattr(matrix, "indptr") and (np.diff(matrix.indptr) < 0).any():  # scipy does not look where the last is -1
        raise ValueError(f"{name}: malformed sparse matrix: its rows or columns end before they begin")
    if hasattr(matrix, "check_format"):
        try:
            matrix.check_format(full_check=True)
        except ValueError as error:
            raise ValueError(f"{name}: malformed sparse matrix: {error}") from None


def reals(name: str, values: ArrayLike, dtype: np.dtype[Any]) -> Reals:
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
    check_finite(name, array)
    return array


def weights(values: ArrayLike, dtype: np.dtype[Any]) -> Reals:
    """Return weights as a flat array of finite reals, none below 0."""
    array = reals("weight", values, dtype)
    if (array < 0).any():
        first = int(np.flatnonzero(array < 0)[0])
        raise ValueError(f"weight: expected no negative weight, got {array[first]} at position {first}")
    return array


def check_finite(name: str, values: Reals) -> None:
    """Refuse NaN and infinite values."""
    finite = np.isfinite(values)
    if not finite.all():
        first = int(np.flatnonzero(~finite)[0])
        raise ValueError(
            f"{name}: {int((~finite).sum())} of {values.size} values are NaN, infinite or too large for "
            f"{values.dtype}, the first at position {first}"
        )


def largest_sum(dtype: np.dtype[Any]) -> float:
    """Return what squares of y, or an objective, may come to: there is room for what training makes of them."""
    return 1e-6 * float(np.finfo(dtype).max)


def scaling_advice(dtype: np.dtype[Any]) -> str:
    """Return what to do about values that are too large for a precision."""
    return "scale them down" if dtype == np.float64 else "scale them down, or use dtype='float64'"


def check_squares(name: str, values: Reals) -> None:
    """Refuse values whose squares are too large."""
    most = float(np.sqrt(largest_sum(values.dtype)))
    if values.size and float(np.abs(values).max()) > most:
        place = int(np.argmax(np.abs(values)))
        raise ValueError(
            f"{name}: values such as {float(values[place]):g} are too large for {values.dtype}, expected at most "
            f"{most:.3g}; {scaling_advice(values.dtype)}"
        )


def indices(name: str, values: ArrayLike) -> NDArray[Any]:
    """Return row numbers as a flat array."""
    array = np.asarray(values)
    if array.ndim != 1:
        raise ValueError(f"{name}: expected a flat array, got shape {array.shape}")
    if array.size == 0:
        return array.astype(np.int32)
    if array.dtype.kind not in "iu":
        raise TypeError(f"{name}: expected whole numbers (row numbers from 0), got dtype {array.dtype}")
    return array


def feature_blocks(name: str, given: Matrix | Mapping[str, Matrix], dtype: np.dtype[Any]) -> Blocks:
    """Return the feature blocks of X or Z as sparse matrices with equally many rows."""
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
        check_format(matrix, label)
        if matrix.dtype.kind not in "biuf":
            raise TypeError(f"{label}: expected real numbers, got dtype {matrix.dtype}")
        with np.errstate(over="ignore"):
            blocks[block] = sp.csr_array(matrix, dtype=dtype)
        check_finite(label, blocks[block].data)
    rows = {block: matrix.shape[0] for block, matrix in blocks.items()}
    if len(set(rows.values())) > 1:
        raise ValueError(f"{name}: blocks differ in their numbers of rows: {rows}")
    return blocks


def side_size(given: Any, what: str, index: NDArray[Any], blocks: Blocks | None, name: str) -> int:
    """Return how many queries (or targets) there are: as given, as described by features, or by the largest index."""
    described = next(iter(blocks.values())).shape[0] if blocks else None
    if given is not None:
        size = whole("shape", given, least=1)
    else:
        size = described if described is not None else int(index.max()) + 1
    if described is not None and described != size:
        raise ValueError(f"{name}: {described} rows for {size} {what}")
    check_count(size, what)
    check_count(sum(matrix.shape[1] for matrix in blocks.values()) if blocks else 0, f"columns of {name}")
    check_range(what, index, size)
    return size


def check_range(what: str, index: NDArray[Any], size: int) -> None:
    """Refuse row numbers that are out of range."""
    if index.size and (int(index.min()) < 0 or int(index.max()) >= size):
        bad = int(index.min()) if int(index.min()) < 0 else int(index.max())
        raise ValueError(f"{what}: index {bad} is out of range for {size} {what}")


__all__ = [
    "Blocks",
    "check_finite",
    "check_format",
    "check_range",
    "feature_blocks",
    "indices",
    "precision",
    "reals",
    "side_size",
    "sparse_pairs",
    "weights",
]
