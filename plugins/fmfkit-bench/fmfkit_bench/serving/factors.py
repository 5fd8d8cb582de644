"""Models to recommend with: random factors, in fmfkit and in implicit, and the training pairs to leave out."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any

import numpy as np
import scipy.sparse as sp
from fmfkit_bench.data.pairs import Pairs
from numpy.typing import NDArray

from fmfkit import Model

INSTALL = "implicit is not installed (python -m pip install implicit), so it is left out"


def known(train: Pairs, shape: tuple[int, int]) -> sp.csr_matrix:
    """Return the training pairs; implicit wants scipy's older kind of matrix."""
    ones = np.ones(len(train), np.float32)
    return sp.csr_matrix((ones, (train.query, train.target)), shape=shape)


def in_implicit(model: Model, threads: int) -> Any:
    """Return implicit's model with the same factors; None where it is not installed."""
    if importlib.util.find_spec("implicit") is None:
        return None
    als = importlib.import_module("implicit.cpu.als")
    with one_blas_thread():
        theirs = als.AlternatingLeastSquares(factors=model.rank, num_threads=threads)
    theirs.user_factors = np.ascontiguousarray(model.query_embedding)
    theirs.item_factors = np.ascontiguousarray(model.target_embedding)
    return theirs


def recommend(theirs: Any, rows: NDArray[Any], left_out: sp.csr_matrix, k: int) -> Any:
    """Return implicit's best targets of some queries; ``left_out`` has a row for each."""
    return theirs.recommend(rows, left_out, N=k, filter_already_liked_items=True)[0]


def one_blas_thread() -> Any:
    """Return a context with BLAS on one thread beside implicit's own, as implicit asks for."""
    return importlib.import_module("threadpoolctl").threadpool_limits(1, "blas")


__all__ = ["INSTALL", "in_implicit", "known", "one_blas_thread", "recommend"]
