"""Problems of many kinds, each with something that a solver could fail to see."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from fmfkit.interfaces import Loss, Regularizer
from fmfkit.problem import AllCells, LearntPenalty, Penalties, Penalty, Problem
from fmfkit.regularizers import ElasticNet
from fmfkit.testing.common import SEED, problem
from fmfkit.typing import Reals


@attrs.frozen
class PlainLoss(Loss):
    """ln cosh(s - y), in NumPy alone."""

    def value(self, score: Reals, y: Reals) -> Reals:
        """|r| + ln(1 + e^(-2 |r|)) - ln 2."""
        r = np.abs(score - y)
        return np.asarray(r + np.log1p(np.exp(-2 * r)) - np.asarray(np.log(2), r.dtype))

    def gradient(self, score: Reals, y: Reals) -> Reals:
        """tanh(s - y)."""
        return np.asarray(np.tanh(score - y))

    def curvature(self, score: Reals, y: Reals) -> float:
        """1, the largest there is."""
        return 1.0


@attrs.frozen
class PlainRegularizer(Regularizer):
    """0.02 |w| + w²/20, in NumPy alone: solvers do not know it for an elastic net."""

    def penalty(self, w: Reals, strength: float | Reals = 1.0) -> Reals:
        """strength · (0.02 |w| + w²/20)."""
        return ElasticNet(l1=0.02, l2=0.1).penalty(w, strength)

    def T(self, x: Reals, y: Reals, w: Reals, strength: float | Reals = 1.0) -> Reals:
        """A Newton step, shrunk, that stops at zero."""
        return ElasticNet(l1=0.02, l2=0.1).T(x, y, w, strength)


def _spread(rng: np.random.Generator, size: int) -> NDArray[Any]:
    """Return weights over two orders of magnitude."""
    return np.asarray(10 ** rng.uniform(-1.3, 0.7, size))


def _dense(*, rank: int = 2, disagree: float = 0.0, **options: Any) -> Problem:
    """Return a problem with all pairs of 14 queries and 11 targets; pairs of little weight disagree with the others."""
    rng = np.random.default_rng(SEED)
    queries, targets = 14, 11
    i, j = np.divmod(rng.permutation(queries * targets), targets)
    weight = rng.choice([1.0, 0.02, 0.0], len(i), p=[0.5, 0.45, 0.05])
    y = rng.normal(size=queries)[i] * rng.normal(size=targets)[j] + 0.3 * rng.normal(size=len(i))
    y += np.where(weight < 1, -disagree, disagree)
    blocks = [
        {
            "indicator": sp.eye_array(rows, format="csr"),
            "shared": sp.csr_array(np.where(rng.random((rows, 4)) < 0.5, rng.normal(size=(rows, 4)), 0)),
        }
        for rows in (queries, targets)
    ]
    shift = options.pop("shift", 0.0)
    if disagree:
        options["weight"] = weight
    made: dict[str, Any] = {"dtype": "float64", "penalty": ElasticNet(l2=0.1), "X": blocks[0], "Z": blocks[1]} | options
    return Problem.from_coo(i, j, y + shift, shape=(queries, targets), rank=rank, **made)


def _cells() -> Problem:
    rng = np.random.default_rng(SEED)
    cells = AllCells(weight=0.5, value=-2.0, queries=_spread(rng, 14), targets=_spread(rng, 11))
    return _dense(cells=cells, offset=0.5)


def _of_each_part() -> Problem:
    penalties = Penalties(
        P=Penalty(ElasticNet(l2=0.3)),
        Q=Penalty(ElasticNet(l2=0.02), scale="uniform"),
        query_bias=Penalty(ElasticNet(l2=3.0), scale="uniform"),
        target_bias=Penalty(ElasticNet(l2=0.01), scale="uniform"),
    )
    return _dense(penalty=penalties, shift=1.0, offset=0.0)


SMALL: dict[str, Callable[[], Problem]] = {
    "square loss": lambda: problem(),
    "float32 and weights": lambda: _dense(rank=3, dtype="float32", disagree=1.0),
    "logistic loss": lambda: problem(loss="logistic", y=np.array([0.0, 1.0])),
    "l1": lambda: problem(penalty=ElasticNet(l1=0.05, l2=0.05)),
    "spread weights": lambda: _dense(disagree=2.0),
    "a large offset": lambda: _dense(shift=305.0, offset=300.0),
    "growth": lambda: _dense(rank=4, penalty=Penalty(ElasticNet(l2=0.02), growth=3.0)),
    "all cells": _cells,
    "strengths of feature blocks": lambda: _dense(
        penalty=Penalty(ElasticNet(l2=0.1), strengths={"shared": 30.0, "indicator": 0.5})
    ),
    "a penalty of each part": _of_each_part,
    "no biases": lambda: _dense(query_bias=False, target_bias=False),
    "rank 1": lambda: _dense(rank=1, disagree=1.0),
    "rank 8": lambda: _dense(rank=8, penalty=ElasticNet(l2=0.02)),
    "rank 13, float32": lambda: _dense(rank=13, dtype="float32", penalty=ElasticNet(l2=0.02)),
    "rank 33": lambda: _dense(rank=33, penalty=ElasticNet(l2=0.05)),
    "a loss and a regularizer in NumPy": lambda: _dense(loss=PlainLoss(), penalty=PlainRegularizer()),
}
LEARNT = {
    "learnt strengths": lambda: problem(penalty=LearntPenalty(rounds=1)),
    "learnt strengths and weights": lambda: _dense(disagree=1.0, penalty=LearntPenalty(rounds=3)),
}


@functools.cache
def large() -> Problem:
    """Return a problem with more than 100,000 pairs, of weights that differ."""
    rng = np.random.default_rng(SEED)
    rows, pairs, rank = 1500, 110_000, 3
    i, j = np.divmod(rng.choice(rows * rows, pairs, replace=False), rows)
    y = np.sum(rng.normal(size=(rows, rank))[i] * rng.normal(size=(rows, rank))[j], axis=1) + rng.normal(size=pairs)
    weight = rng.choice([0.2, 1.0, 2.0], pairs)
    return Problem.from_coo(i, j, y, shape=(rows, rows), rank=rank, weight=weight, penalty=ElasticNet(l2=0.05))


@attrs.frozen(eq=False)
class Convex:
    """A problem whose best factors are zero, so that it is ridge regression, and its least objective."""

    problem: Problem
    least: float


def convex(**options: Any) -> Convex:
    """Return such a problem."""
    still = Penalty(ElasticNet(l2=1e4), scale="uniform")
    soft = Penalty(ElasticNet(l2=0.5), scale="uniform", strengths=options.pop("strengths", {}))
    if not soft.strengths:
        options |= {"X": None, "Z": None}  # an indicator for each row
    made = _dense(rank=1, penalty=Penalties(P=still, Q=still, query_bias=soft, target_bias=soft), **options)
    pairs, sides = made.query.pairs, made.sides
    X, Z = (sp.csr_array((f.values_by_row(), f.row_index, f.row_ptr), shape=(f.rows, f.cols)).toarray()
            for f in (side.features for side in sides))  # fmt: skip
    A, y = np.hstack([X[pairs.row_of], Z[pairs.other]]), pairs.y - made.offset
    weight = np.ones(len(y)) if pairs.weight is None else pairs.weight
    if made.cells is not None:
        queries, targets = (side.cells for side in sides)
        assert queries is not None
        assert targets is not None
        i, j = np.divmod(np.arange(len(X) * len(Z)), len(Z))
        A, y = np.vstack([A, np.hstack([X[i], Z[j]])]), np.append(y, np.full(len(i), made.cells.value - made.offset))
        weight = np.append(weight, made.cells.weight * queries[i] * targets[j])
    strength = 0.5 * np.concatenate([side.bias.strength for side in sides if side.bias is not None])
    best = np.linalg.solve(2 * (A.T * weight) @ A + np.diag(strength), 2 * (A.T * weight) @ y)
    return Convex(made, float((weight * (A @ best - y) ** 2).sum() + (strength * best**2).sum() / 2))


@functools.cache
def convexes() -> dict[str, Convex]:
    """Return problems of this kind, by name."""
    rng = np.random.default_rng(SEED)
    cells = AllCells(weight=0.5, value=-2.0, queries=_spread(rng, 14), targets=_spread(rng, 11))
    return {
        "ridge regression": convex(),
        "with spread weights": convex(disagree=2.0),
        "with a large offset": convex(shift=105.0, offset=100.0),
        "with all cells": convex(cells=cells, offset=0.5),
        "with strengths of feature blocks": convex(strengths={"shared": 20.0, "indicator": 0.05}),
    }


__all__ = ["LEARNT", "SMALL", "Convex", "convex", "convexes", "large"]
