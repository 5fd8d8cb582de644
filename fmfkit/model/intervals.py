"""How uncertain scores are, where strengths were learnt: see docs/intervals.md.

A parameter that was observed n times has the variance 1 / (n a_k + λ_bk), where a_k is what one observation says in
latent dimension k: the precision of the noise times the mean square of the other side's embedding, its variance
included.
"""

from __future__ import annotations

import attrs
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import ndtri

from fmfkit.problem.features import FeatureRows
from fmfkit.problem.learnt import SideStrengths, Strengths
from fmfkit.problem.problem import Problem
from fmfkit.typing import Reals

Array = NDArray[np.float64]


@attrs.frozen(eq=False)
class Observed:
    """How often the features of both sides were observed in training: Σ_i x_is² |O_i|."""

    X: Reals
    Z: Reals
    pairs: float
    """How many pairs there were, by weight."""

    @classmethod
    def of(cls, problem: Problem) -> Observed:
        """Count what a problem observes."""
        X, Z = (problem.observations.observed(side).astype(np.float32) for side in ("query", "target"))
        return cls(X, Z, float(problem.query.pairs.totals.sum()))


@attrs.frozen(eq=False)
class SideVariances:
    """The embedding of one side, and its variances."""

    embedding: Array
    """(rows, rank)"""
    variance: Array
    """(rows, rank)"""
    bias: Array
    """(rows) the variance of the bias; zeros without one."""


def pair_counts(features: FeatureRows, observed: Reals) -> Array:
    """Return the number of pairs of each row, as far as it has a feature of its own."""
    counts, owners = np.zeros(features.rows), features.own >= 0
    counts[owners] = observed[features.own[owners]] / np.square(features.own_value[owners], dtype=np.float64)
    return counts


def side_variances(
    features: FeatureRows, observed: Reals, strengths: SideStrengths, says: Array, says_bias: float, embedding: Array
) -> SideVariances:
    """Return the variances of a side's embedding; ``says`` is what one observation says in each dimension."""
    variance = _variances(features, observed, strengths.factors, says)
    bias = np.zeros(features.rows)
    if strengths.bias is not None:
        bias = _variances(features, observed, strengths.bias, np.array([says_bias]))[:, 0]
    return SideVariances(embedding, variance, bias)


def _variances(features: FeatureRows, observed: Reals, precision: Array, says: Array) -> Array:
    """Return the variance of each row in each dimension, for (blocks, dimensions) λ."""
    widths = [part.stop - part.start for part in features.blocks.values()]
    prior = np.repeat(precision, widths, axis=0)
    each = 1 / (observed.astype(np.float64)[:, None] * says + prior)
    squares = np.square(features.values_by_row(), dtype=np.float64)
    first = features.row_ptr[:-1][features.own >= 0]
    squares[first] = 0
    matrix = sp.csr_array((squares, features.row_index, features.row_ptr), shape=(features.rows, features.cols))
    opened = 0.5 * np.asarray(matrix @ each)  # shared features count half: they are correlated
    owners = features.own >= 0
    value = np.square(features.own_value[owners], dtype=np.float64)[:, None]
    opened[owners] += value / prior[features.own[owners]]
    return np.asarray(opened / (1 + pair_counts(features, observed)[:, None] * says * opened))


@attrs.frozen(eq=False)
class Uncertainty:
    """The variances of both sides, and of the noise."""

    queries: SideVariances
    targets: SideVariances
    noise: float
    """The variance of y around its score."""

    @classmethod
    def of(
        cls,
        strengths: Strengths,
        features: tuple[FeatureRows, FeatureRows],
        observed: Observed,
        sides: tuple[Array, Array],
        noise: float,
    ) -> Uncertainty:
        """Make the variances of the embeddings of both sides."""
        one = strengths.noise * strengths.curvature
        counts = [pair_counts(*given) for given in zip(features, (observed.X, observed.Z), strict=True)]
        says = [
            one * (_mean_square(embedding, count) + side.variance)
            for embedding, count, side in zip(sides, counts, (strengths.query, strengths.target), strict=True)
        ]
        queries = side_variances(features[0], observed.X, strengths.query, says[1], one, sides[0])
        targets = side_variances(features[1], observed.Z, strengths.target, says[0], one, sides[1])
        return cls(queries, targets, noise)

    def deviation(self, i: NDArray[np.int32], j: NDArray[np.int32], *, noise: bool) -> Array:
        """Return the deviation of the scores of pairs, with the noise or without."""
        q, t = self.queries, self.targets
        variance = np.einsum("ek,ek->e", np.square(q.embedding[i]) + q.variance[i], t.variance[j])
        variance += np.einsum("ek,ek->e", q.variance[i], np.square(t.embedding[j]))
        return np.asarray(np.sqrt(variance + q.bias[i] + t.bias[j] + (self.noise if noise else 0.0)))


def _mean_square(embedding: Array, count: Array) -> Array:
    """Return the mean square of an embedding over the pairs; over the rows where their pairs are not known."""
    weight = count if count.any() else np.ones(len(count))
    return np.asarray(np.average(np.square(embedding), axis=0, weights=weight))


def half_width(level: float) -> float:
    """Return how many deviations on either side hold a share ``level`` of a normal distribution."""
    if not 0 < level < 1:
        raise ValueError(f"level: expected a share between 0 and 1, got {level!r}")
    return float(ndtri((1 + level) / 2))


__all__ = ["Observed", "Uncertainty", "half_width"]
