"""Random problems for the tests, made from a seed and a few switches."""

from __future__ import annotations

import os

import attrs
import numpy as np
import scipy.sparse as sp
from hypothesis import settings
from hypothesis import strategies as st

from fmfkit import AllCells, Penalty, Problem, regularizers

few = settings(max_examples=int(os.environ.get("FMFKIT_EXAMPLES", "40")), deadline=None)
"""How many random problems a property is tried on; slow builds of the kernels ask for fewer."""


@attrs.frozen(kw_only=True)
class Case:
    """What a random problem is like; ``build`` makes it."""

    seed: int = 0
    queries: int = 12
    targets: int = 9
    pairs: int = 40
    query_features: int = 7
    target_features: int = 5
    indicators: bool = True
    """Whether instances have an indicator of their own beside the features."""
    even: bool = False
    """Whether the features of a row all have the same value."""
    plain: bool = False
    """No features at all: plain matrix factorization."""
    rank: int = 3
    loss: str = "square"
    weights: bool = False
    query_bias: bool = True
    target_bias: bool = True
    l1: float = 0.0
    l2: float = 0.1
    scale: str | float = "observations"
    growth: float = 0.0
    cells: str = "none"
    """A term over all cells: "none", "plain", or "weighed" with weights of rows, a value, and an offset of its own."""
    dtype: str = "float64"

    def build(self, **changes: object) -> Problem:
        rng = np.random.default_rng(self.seed)
        places = rng.choice(self.queries * self.targets, min(self.pairs, self.queries * self.targets), replace=False)
        i, j = np.divmod(places, self.targets)
        y = rng.normal(size=len(places)) if self.loss == "square" else rng.integers(0, 2, len(places)).astype(float)
        weight = rng.choice([0.0, 0.5, 1.0, 3.0], len(places)) if self.weights else None
        options = {
            "shape": (self.queries, self.targets),
            "rank": self.rank,
            "loss": self.loss,
            "weight": weight,
            "X": None if self.plain else self._features(rng, self.queries, self.query_features),
            "Z": None if self.plain else self._features(rng, self.targets, self.target_features),
            "query_bias": self.query_bias,
            "target_bias": self.target_bias,
            "dtype": self.dtype,
            "penalty": self.penalty(),
            **self._cells(rng),
        }
        return Problem.from_coo(i, j, y, **{**options, **changes})

    def _cells(self, rng: np.random.Generator) -> dict[str, object]:
        if self.cells == "none":
            return {}
        if self.cells == "plain":
            return {"cells": AllCells(0.3)}
        a, b = (rng.choice([0.0, 0.5, 1.0, 2.0], rows) for rows in (self.queries, self.targets))
        return {"cells": AllCells(weight=0.2, value=-0.4, queries=a, targets=b), "offset": 0.3}

    def penalty(self, regularizer: object = None) -> Penalty:
        """The penalty of the case, with a regularizer of its own or another."""
        net = regularizers.ElasticNet(l1=self.l1, l2=self.l2)
        return Penalty(regularizer or net, scale=self.scale, growth=self.growth)

    def _features(self, rng: np.random.Generator, rows: int, cols: int) -> dict[str, sp.csr_array]:
        """Random features with empty rows and columns, an explicit zero, and the first two columns alike."""
        X = np.where(rng.random((rows, cols)) < 0.4, rng.normal(size=(rows, cols)), 0)
        X[rng.random(rows) < 0.2] = 0
        X[:, rng.random(cols) < 0.2] = 0
        if cols > 1:
            X[:, 1] = X[:, 0]
        if self.even:
            X = (X != 0) * rng.normal(size=(rows, 1))
        shared = sp.csr_array(X)
        if shared.nnz and not self.even:
            shared.data[0] = 0.0
        return {"indicator": sp.eye_array(rows), "shared": shared} if self.indicators else {"shared": shared}


def cases(**fixed: object) -> st.SearchStrategy[Case]:
    """Cases of every kind, down to a single query, target, pair or feature; ``fixed`` holds some switches still."""
    free = {
        "seed": st.integers(0, 2**32 - 1),
        "queries": st.integers(1, 12),
        "targets": st.integers(1, 9),
        "pairs": st.integers(1, 60),
        "query_features": st.integers(1, 8),
        "target_features": st.integers(1, 6),
        "indicators": st.booleans(),
        "even": st.booleans(),
        "plain": st.booleans(),
        "rank": st.integers(1, 4),
        "loss": st.sampled_from(["square", "logistic"]),
        "weights": st.booleans(),
        "query_bias": st.booleans(),
        "target_bias": st.booleans(),
        "l1": st.sampled_from([0.0, 0.01, 0.3]),
        "l2": st.sampled_from([0.0, 0.1, 2.0]),
        "scale": st.sampled_from(["observations", "uniform", 0.5]),
        "growth": st.sampled_from([0.0, 0.7]),
        "cells": st.sampled_from(["none", "plain", "weighed"]),
        "dtype": st.sampled_from(["float32", "float64"]),
    }
    return st.builds(Case, **{**free, **{name: st.just(value) for name, value in fixed.items()}})


def large(dtype: str = "float32", loss: object = "square") -> Problem:
    """A problem whose sets are shared out between threads and whose heaviest column is cut into pieces."""
    rng = np.random.default_rng(5)
    q, p, pairs = 40_000, 300, 120_000
    places = np.unique(rng.integers(q * p, size=pairs))
    i, j = np.divmod(places, p)
    y = rng.normal(size=len(places)) if loss == "square" else rng.integers(0, 2, len(places)).astype(float)
    everyone = sp.csr_array(np.ones((q, 1)))
    groups = sp.csr_array(
        (rng.normal(size=2 * q), rng.integers(40, size=2 * q), np.arange(0, 2 * q + 1, 2)), shape=(q, 40)
    )
    options = {
        "rank": 11,
        "X": {"everyone": everyone, "groups": groups, "id": sp.eye_array(q)},
        "dtype": dtype,
        "loss": loss,
    }
    return Problem.from_coo(i, j, y, shape=(q, p), **options)
