"""Data sets from files that have features instead of ids: libsvm (libFM) and SVDFeature."""

from __future__ import annotations

import itertools
import os

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from fmfkit.data.blocks import Precomputed
from fmfkit.data.dataset import Dataset
from fmfkit.data.loaders import read_libsvm, read_svdfeature
from fmfkit.data.roles import Duplicates
from fmfkit.data.sides import SideTable
from fmfkit.errors import DataError

Rows = NDArray[np.int64]


def load_libsvm(path: str | os.PathLike[str], *, queries: int = 0, duplicates: Duplicates = "auto") -> Dataset:
    """Read a file of libsvm or libFM, "y index:value ..." in each line, as pairs of a query and a target.

    Args:
        path: the file.
        queries: how many columns, the first ones, describe the query; the others describe the target. It need not be
            given where each line has two values, of a query and of a target.
        duplicates: as for ``Dataset.of``.
    """
    X, y = read_libsvm(path)
    width = queries or _first_of_targets(X, path)
    if not 0 < width < X.shape[1]:
        raise DataError(f"{path}: queries={width}, expected 1 to {X.shape[1] - 1}: the file has {X.shape[1]} columns")
    described = [_different(part) for part in (X[:, :width], X[:, width:])]
    return _dataset(described[0], described[1], y, duplicates)


def load_svdfeature(path: str | os.PathLike[str], *, duplicates: Duplicates = "auto") -> Dataset:
    """Read a file of SVDFeature, "y #global #user #item index:value ..." in each line; global features are refused.

    Args:
        path: the file.
        duplicates: as for ``Dataset.of``.
    """
    read = read_svdfeature(path)
    return _dataset((read.X, read.query), (read.Z, read.target), read.y, duplicates)


def _first_of_targets(X: sp.csr_array, path: str | os.PathLike[str]) -> int:
    """Return the first column of targets where each line has one value of either side."""
    X.sort_indices()
    if (np.diff(X.indptr) == 2).all() and X.indices[::2].max() < X.indices[1::2].min():
        return int(X.indices[1::2].min())
    raise DataError(
        f"{path}: which columns describe queries, and which targets? Give the number of columns of queries, which come "
        "first: load_libsvm(path, queries=943), or --loader libsvm:queries=943"
    )


def _different(X: sp.csr_array) -> tuple[sp.csr_array, Rows]:
    """Return the different rows of a matrix, and the number of each row among them."""
    X.sort_indices()
    seen: dict[tuple[bytes, bytes], int] = {}
    rows = [
        seen.setdefault((X.indices[a:b].tobytes(), X.data[a:b].tobytes()), len(seen))
        for a, b in itertools.pairwise(X.indptr)
    ]
    _, first = np.unique(rows, return_index=True)
    return sp.csr_array(X[first]), np.array(rows)


def _dataset(
    query: tuple[sp.csr_array, NDArray[np.integer]],
    target: tuple[sp.csr_array, NDArray[np.integer]],
    y: NDArray[np.float64],
    duplicates: Duplicates,
) -> Dataset:
    (query_ids, queries), (target_ids, targets) = _described("query", query[0]), _described("target", target[0])
    pairs = {"query": query_ids[query[1]], "target": target_ids[target[1]], "rating": y}
    return Dataset.of(pairs, rating="rating", queries=queries, targets=targets, duplicates=duplicates)


def _described(role: str, X: sp.csr_array) -> tuple[Rows, SideTable]:
    """Return the ids of instances that have rows of features, and the side that the rest of the features describes.

    Where the first feature of each row is 1 and its own, as a one-hot id is, its column is the id; else rows are
    numbered.
    """
    X.sort_indices()
    names, place, met = np.unique(X.indices, return_inverse=True, return_counts=True)
    used = sp.csr_array(
        (X.data, place, X.indptr), shape=(X.shape[0], len(names))
    )  # as wide as needed: indices may be huge
    ids, kept = np.arange(X.shape[0]), np.ones(len(names), bool)
    if (np.diff(X.indptr) > 0).all():
        own = place[X.indptr[:-1]]
        if (X.data[X.indptr[:-1]] == 1).all() and (met[own] == 1).all():
            ids, kept[own] = names[own].astype(np.int64), False
    features = [str(name) for name in names[kept]]
    block = Precomputed(sp.csr_array(used[:, kept]), ids=ids, features=features, name="features")
    return ids, SideTable({role: ids}, blocks=[block] if features else [])


__all__ = ["load_libsvm", "load_svdfeature"]
