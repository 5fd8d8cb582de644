"""The mean of many models as one model.

The mean of the score matrices of samples has a rank as large as all of theirs together, but few of its dimensions
matter. With Ū = X P̄ the mean so far and U = X P the next sample, both sides' embeddings stand side by side,
[(1 - a) Ū, a U] and [V̄, V]. The best approximation of their product with a given number of dimensions comes from a
singular value decomposition, and is linear in P̄ and P: it is a model like any other, for new instances too.
"""

from __future__ import annotations

import attrs
import numpy as np
from numpy.typing import NDArray

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


def fold(mean: Sides, sample: Sides, share: float, weights: tuple[Reals, Reals], rank: int) -> tuple[Reals, Reals]:
    """Return P and Q of (1 - share) · mean + share · sample, with ``rank`` dimensions at most.

    Instances count by their weights.
    """
    scaled = attrs.evolve(mean, P=(1 - share) * mean.P, U=(1 - share) * mean.U)
    added = attrs.evolve(sample, P=share * sample.P, U=share * sample.U)
    half_u, back_u = _roots(_gram(scaled.U, added.U, weights[0]))
    half_v, back_v = _roots(_gram(scaled.V, added.V, weights[1]))
    A, s, B = np.linalg.svd(half_u @ half_v.T, full_matrices=False)
    kept, root = min(rank, len(s)), np.sqrt(s[:rank])
    to_P, to_Q = back_u @ (A[:, :kept] * root), back_v @ (B[:kept].T * root)
    return _mapped(scaled.P, added.P, to_P), _mapped(scaled.Q, added.Q, to_Q)


def _gram(mean: Reals, sample: Reals, weight: Reals) -> Array:
    """Return UᵀU of both side by side, rows counting by their weights."""
    heavy_mean, heavy_sample = mean * weight[:, None], sample * weight[:, None]
    across = heavy_mean.T @ sample
    return np.block([[heavy_mean.T @ mean, across], [across.T, heavy_sample.T @ sample]]).astype(np.float64)


def _mapped(mean: Reals, sample: Reals, by: Array) -> Reals:
    narrow = by.astype(mean.dtype)
    return np.asarray(mean @ narrow[: mean.shape[1]] + sample @ narrow[mean.shape[1] :])


def _roots(gram: Array) -> tuple[Array, Array]:
    """Return R with RᵀR = gram, and its inverse from the right, where there is one."""
    values, vectors = np.linalg.eigh(gram)
    kept = values > LEAST * max(float(values[-1]), np.finfo(np.float64).tiny)
    root = np.sqrt(values[kept])
    return root[:, None] * vectors[:, kept].T, vectors[:, kept] / root


__all__ = ["Sides", "fold"]
