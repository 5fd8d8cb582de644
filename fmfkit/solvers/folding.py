"""The mean of many models as one model.

The mean of the score matrices of samples has a rank as large as all of theirs together, but few of its dimensions
matter. With the samples' embeddings side by side, [U_1, U_2, ...] and [V_1, V_2, ...], the best approximation of their
product with a given number of dimensions comes from a singular value decomposition, and is linear in the parameters:
it is a model like any other, for new instances too.
"""

from __future__ import annotations

import functools
from concurrent.futures import ThreadPoolExecutor

import attrs
import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from fmfkit.typing import Reals

Array = NDArray[np.float64]
LEAST = 1e-6
"""Directions that make a smaller part of an embedding than this are left out: to single precision they are noise."""


@attrs.frozen(eq=False)
class Sides:
    """Factors and embeddings of a model, without biases."""

    P: Reals
    Q: Reals
    U: Reals
    V: Reals


@functools.cache
def _linear_algebra() -> ThreadpoolController:
    return ThreadpoolController()


def fold(model: Sides, weights: tuple[Reals, Reals], rank: int, threads: int = 1) -> tuple[Reals, Reals]:
    """Return P and Q of the model's best approximation with ``rank`` dimensions at most.

    Instances count by their weights. Each side has a thread of its own, linear algebra none beside: its bits would
    depend on their number, and it keeps processors waiting.
    """
    with _linear_algebra().limit(limits=1, user_api="blas"), ThreadPoolExecutor(min(threads, 2)) as sides:
        (half_u, back_u), (half_v, back_v) = sides.map(_roots, (model.U, model.V), weights)
        A, s, B = np.linalg.svd(half_u @ half_v.T, full_matrices=False)
        root = np.sqrt(s[:rank])
        to_P, to_Q = back_u @ (A[:, :rank] * root), back_v @ (B[:rank].T * root)
        P, Q = sides.map(np.matmul, (model.P, model.Q), (to_P.astype(model.P.dtype), to_Q.astype(model.Q.dtype)))
        return P, Q


def _roots(embedding: Reals, weight: Reals) -> tuple[Array, Array]:
    """Return R with RᵀR = UᵀU, rows counting by their weights, and its inverse from the right, where there is one."""
    heavy = embedding * np.sqrt(weight)[:, None]
    values, vectors = np.linalg.eigh((heavy.T @ heavy).astype(np.float64))
    kept = values > LEAST * max(float(values[-1]), np.finfo(np.float64).tiny)
    root = np.sqrt(values[kept])
    return root[:, None] * vectors[:, kept].T, vectors[:, kept] / root


__all__ = ["Sides", "fold"]
