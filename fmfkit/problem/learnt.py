"""Penalties whose strengths are learnt from the data: variational Bayes inside coordinate descent.

The loss, times ``noise``, is taken as the negative logarithm of a likelihood; the parameters of feature block b in
latent dimension k as drawn from N(0, 1/λ_bk). How uncertain the parameters still are, given the pairs, is known from
the curvatures that an update has anyway: a variance for each. From these come the λ that fit best, the noise, and, for
each dimension, the mean variance of either side's embedding, which the other side's update takes into account. See
docs/strengths.md.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fmfkit.interfaces import Loss
from fmfkit.problem.features import Features
from fmfkit.problem.objective import LearntPenalty
from fmfkit.problem.strengths import Part, Side, Spread
from fmfkit.regularizers import ElasticNet
from fmfkit.typing import Reals, SideName

if TYPE_CHECKING:
    from fmfkit.problem.observations import Observations
    from fmfkit.problem.problem import Problem

Array = NDArray[np.float64]
Sides = tuple[Iterable[str], Iterable[str]]

START_SHARE, PLAIN_START_SHARE = 0.05, 0.5
"""How much of the variance of scores the random factors make at the start; the second where the instances of a side
have no features but their ids, so that its factors must grow from it."""
CERTAINTY = 0.85
"""What the variances of embeddings are multiplied by: taken as if parameters were independent, they are too large."""
SHARED_START = 0.1
"""What it is multiplied by for features that several instances share."""
BIAS_PRECISION = 5.0
"""λ of biases at the start, where scores deviate by 1."""
PAIRS_LOOKED_AT = 100_000
"""Pairs from which the unit of scores, and the mean curvature of a loss, are found."""


@attrs.frozen(eq=False)
class SideStrengths:
    """What was learnt of one side."""

    factors: Array
    """(blocks, rank) λ: the precision of the prior."""
    bias: Array | None
    """(blocks, 1) the same for the bias, if there is one."""
    variance: Array
    """(rank) the variance of the side's embedding, on average over the pairs."""
    bias_variance: float = 0.0


@attrs.frozen(eq=False)
class Strengths:
    """What was learnt: of each side, and of the noise."""

    query: SideStrengths
    target: SideStrengths
    noise: float
    """What the loss is multiplied by to be the negative logarithm of a likelihood."""
    curvature: float
    """The curvature of the loss, on average over the pairs."""
    unit: float
    """How far scores deviate that are as uncertain as y: the scale that all begins with."""
    start: float
    """The deviation of the factors of instances' own features at the start."""
    rounds: int = 0
    """How many rounds have learnt."""

    def side(self, name: SideName) -> SideStrengths:
        """Return those of one side."""
        return self.query if name == "query" else self.target

    def learning_again(self, before: Sides, now: Sides) -> Strengths:
        """Return strengths to begin with for more data: those of the blocks that there were, the first ones for others.

        ``before`` and ``now`` are the feature blocks of both sides, by name.
        """

        def extended(side: SideStrengths, old: Iterable[str], new: Iterable[str]) -> SideStrengths:
            first = _first(self.unit, self.start, side.factors.shape[1], bias=side.bias is not None)
            places = {name: place for place, name in enumerate(old)}
            at = [places.get(name, len(places)) for name in new]
            factors = np.concatenate([side.factors, first.factors])[at]
            if side.bias is None or first.bias is None:
                return attrs.evolve(side, factors=factors)
            return attrs.evolve(side, factors=factors, bias=np.concatenate([side.bias, first.bias])[at])

        query, target = (
            extended(side, *blocks) for side, *blocks in zip((self.query, self.target), before, now, strict=True)
        )
        return attrs.evolve(self, query=query, target=target, rounds=0)

    def after_update(self, problem: Problem, name: SideName, found: Array) -> Strengths:
        """Return the strengths after an update of one side.

        ``found`` is (updates, blocks + 1, wide): for the bias, if there is one, and each panel of dimensions, the sums
        of w² + variance over the features of each block, and of curvature times variance over the instances.
        """
        side = problem.query if name == "query" else problem.target
        blocks = len(side.features.blocks)
        panels = found if side.bias is None else found[1:]
        sums = panels.transpose(1, 0, 2).reshape(blocks + 1, -1)[:, : problem.rank]
        count = 1 + _observed_features(problem, name)[:, None]
        total = self.curvature * problem.observations.total or 1.0
        learnt = SideStrengths(
            count / (self.unit + sums[:blocks]),
            None if side.bias is None else count / (self.unit**2 + found[0, :blocks, :1]),
            CERTAINTY * sums[blocks] / total,
            0.0 if side.bias is None else float(found[0, blocks, 0]) / total,
        )
        return attrs.evolve(self, query=learnt) if name == "query" else attrs.evolve(self, target=learnt)

    def after_round(self, problem: Problem, loss: float, squares: tuple[Array, Array]) -> Strengths:
        """Return the strengths after both sides' updates.

        ``loss`` is the weighted loss, ``squares`` are Σ_i c_i U_ik² of both sides, where c_i is the curvature of all
        pairs of an instance.
        """
        counted = attrs.evolve(self, rounds=self.rounds + 1)
        if problem.loss.likelihood:
            return counted
        pairs = problem.observations.total
        query, target = self.query, self.target
        uncertain = float(squares[0] @ target.variance + squares[1] @ query.variance)
        both = float(query.variance @ target.variance) + query.bias_variance + target.bias_variance
        uncertain += self.curvature * pairs * both
        prior = self.curvature * self.unit**2
        return attrs.evolve(counted, noise=(1 + pairs) / (prior + 2 * loss + uncertain))


def initial_strengths(loss: Loss, y: Reals, given: Reals | None, offset: float, shape: Shape) -> Strengths:
    """Return the strengths that learning begins with; ``y`` is of all pairs, ``given`` their weights."""
    some = slice(None, None, max(1, len(y) // PAIRS_LOOKED_AT))
    y = y[some]
    score = np.full_like(y, offset)
    weight = None if given is None else given[some].astype(np.float64)
    weight = None if weight is None or not weight.any() else weight
    curvature = _mean(np.broadcast_to(loss.curvature(score, y), y.shape), weight) or 1.0
    noise = 1.0
    if not loss.likelihood:
        rounding = curvature * _mean(np.square(100 * np.finfo(y.dtype).eps * y), weight)
        value = _mean(loss.value(score, y), weight)
        noise = 1 / (2 * value) if value > rounding else 1.0  # all y are one number: any unit will do
    unit = 1 / np.sqrt(noise * curvature)

    share = PLAIN_START_SHARE if shape.plain else START_SHARE
    start = float(np.sqrt(unit) * (share / shape.rank) ** 0.25)  # rank · start⁴ is a share of unit²
    query, target = (
        _first(unit, start, shape.rank, bias=bias, blocks=blocks)
        for blocks, bias in zip(shape.blocks, shape.biases, strict=True)
    )
    return Strengths(query, target, noise, curvature, float(unit), start)


def _first(unit: float, start: float, rank: int, *, bias: bool, blocks: int = 1) -> SideStrengths:
    """Return what learning begins with on one side."""
    factors = np.full((blocks, rank), 1 / start**2)
    return SideStrengths(factors, np.full((blocks, 1), BIAS_PRECISION / unit**2) if bias else None, np.zeros(rank))


@attrs.frozen
class Shape:
    """What the strengths of a problem are there for."""

    rank: int
    blocks: tuple[int, int]
    """Feature blocks of the queries and of the targets."""
    biases: tuple[bool, bool]
    plain: bool
    """Whether no two instances of a side share a feature."""


def _mean(values: Any, weight: Array | None) -> float:
    return float(np.average(np.asarray(values, np.float64), weights=weight)) if len(values) else 0.0


def _observed_features(problem: Problem, name: SideName) -> Array:
    """Return how many features of each block have pairs."""
    side = problem.query if name == "query" else problem.target
    data, features = problem.observations, side.features
    observed, width = data.observed(name) > 0, len(features.blocks)
    if data.division is None or name == "target":
        return np.bincount(features.group[observed], minlength=width).astype(np.float64)
    rows, division = features.own, data.division

    def own(shard: int) -> Array:
        mine = rows[division.rows(shard)]
        mine = mine[mine >= 0]
        return np.bincount(features.group[mine[observed[mine]]], minlength=width).astype(np.float64)

    shared = features.group[observed & features.shared]
    return division.sum((width,), own) + np.bincount(shared, minlength=width)


def learnt_part(
    penalty: LearntPenalty, strengths: Strengths, name: SideName, features: Features, columns: slice
) -> Part:
    """Return the factors' part of a side, or the bias's: l2 is λ over the noise."""
    side = strengths.side(name)
    precision = side.factors if columns.start == 0 else side.bias
    assert precision is not None
    l2 = precision / strengths.noise
    if strengths.rounds >= penalty.rounds:
        factors = [penalty.shrink * penalty.strengths.get(f"{name}.{block}", 1.0) for block in features.blocks]
        l2 = l2 * np.array(factors)[:, None]
    ones = np.ones(features.cols, features.dtype)
    return Part(ElasticNet(l2=1.0), ones, l2.astype(features.dtype), columns, features.group)


def spread_of(penalty: LearntPenalty, strengths: Strengths, name: SideName, data: Observations) -> Spread:
    """Return what the uncertainty of the other side adds to the penalty of this one."""
    other = strengths.target if name == "query" else strengths.query
    factor = penalty.spread if strengths.rounds >= penalty.rounds else 1.0
    weight = strengths.curvature * data.totals(name)
    return Spread(weight.astype(data.dtype), (factor * other.variance).astype(data.dtype))


ROWS_AT_ONCE = 65536
"""Rows of an embedding that are squared at a time."""


def spread_squares(side: Side, embedding: Reals) -> Array:
    """Return Σ_i weight_i U_ik² of each latent dimension."""
    assert side.spread is not None
    weight, rank = side.spread.weight, len(side.spread.variance)
    total = np.zeros(rank)
    for first in range(0, len(weight), ROWS_AT_ONCE):
        some = embedding[first : first + ROWS_AT_ONCE, :rank].astype(np.float64)
        total += np.einsum("i,ik,ik->k", weight[first : first + ROWS_AT_ONCE].astype(np.float64), some, some)
    return total


def spread_value(side: Side, embedding: Reals) -> float:
    """Return what a side pays for the other side's uncertainty; 0 where strengths are given."""
    if side.spread is None:
        return 0.0
    return float(spread_squares(side, embedding) @ side.spread.variance.astype(np.float64)) / 2


def start_scales(strengths: Strengths, features: Features) -> Reals:
    """Return the deviation of each feature's factors at the start."""
    return np.where(features.shared, SHARED_START * strengths.start, strengths.start).astype(features.dtype)


__all__ = ["SideStrengths", "Strengths"]
