"""Small problems in the shapes of the paper's data: a rank makes the shards that it has, on any number of ranks."""

import attrs
import numpy as np
import scipy.sparse as sp

from fmfkit import AllCells, LearntPenalty, Loss, Observations, Penalty
from fmfkit.regularizers import ElasticNet


class NumPyLogistic(Loss):
    """The logistic loss, written as plugins may."""

    beta = 0.25

    def value(self, score, y):
        return np.logaddexp(0, score) - y * score

    def gradient(self, score, y):
        return 1 / (1 + np.exp(-score)) - y

    def curvature(self, score, y):
        p = 1 / (1 + np.exp(-score))
        return p * (1 - p) + 1e-3


@attrs.frozen
class Shape:
    """Queries of a shard, targets, pairs of a query, and which features there are."""

    queries: int
    targets: int
    pairs: int
    indicator: bool = True
    tags: bool = False
    """Queries share words."""
    history: bool = False
    groups: bool = False
    """Targets share groups."""
    binary: bool = False


SHAPES = {
    "ml10m": Shape(40, 90, 20, history=True),
    "yahoo": Shape(60, 150, 9, history=True, groups=True),
    "weibo": Shape(50, 60, 8, tags=True, groups=True, binary=True),
    "flickr": Shape(45, 90, 6, indicator=False, tags=True, binary=True),
    "plain": Shape(40, 90, 9),
    "plain, binary": Shape(40, 60, 9, binary=True),
}


def shard(shape, number, dtype):
    """Return the pairs and the features of a shard."""
    rng = np.random.default_rng([11, number])
    queries = shape.queries + number % 3
    rows = np.repeat(np.arange(queries), rng.integers(0, 2 * shape.pairs, queries))
    at = np.unique(np.stack([rows, rng.integers(0, shape.targets, len(rows))]), axis=1)
    y = rng.random(at.shape[1])
    y = (y < 0.4).astype(float) if shape.binary else np.round(1 + 4 * y, 1)
    blocks = {}
    if shape.tags:
        blocks["tags"] = sp.random_array((queries, 25), density=0.15, rng=rng, format="csr", dtype=dtype)
    if shape.history:
        known = sp.csr_array((np.ones(at.shape[1]), (at[0], at[1])), shape=(queries, shape.targets))
        counts = np.maximum(np.diff(known.indptr), 1)
        blocks["history"] = sp.csr_array(known.multiply(1 / np.sqrt(counts)[:, None]))
    return queries, at, y, rng.random(at.shape[1]) + 0.5, blocks


def observations(group, name, dtype, *, weighted=False):
    """Return what a rank observes."""
    shape = SHAPES[name]
    parts = [shard(shape, number, dtype) for number in group.mine]
    cuts = np.cumsum([0, *(part[0] for part in parts)])
    at = np.concatenate([part[1] + [[begin], [0]] for part, begin in zip(parts, cuts, strict=False)], axis=1)
    y, weight = (np.concatenate([part[n] for part in parts]) for n in (2, 3))
    X = {"indicator": sp.eye_array(int(cuts[-1]), format="csr")} if shape.indicator else {}
    for block in parts[0][4]:
        X[block] = sp.vstack([part[4][block] for part in parts], format="csr")
    rng = np.random.default_rng(12)
    Z = {"indicator": sp.eye_array(shape.targets, format="csr")}
    if shape.groups:
        Z["groups"] = sp.random_array((shape.targets, 12), density=0.2, rng=rng, format="csr")
    division = group.division(cuts)
    given = {"weight": weight if weighted else None, "dtype": dtype, "shape": (int(cuts[-1]), shape.targets)}
    return Observations.from_coo(*at, y, X=X, Z=Z, division=division, **given)


PENALTY = Penalty(ElasticNet(l2=0.3))
CASES = {
    "square": {"loss": "square", "penalty": PENALTY},
    "square, no biases": {"loss": "square", "penalty": PENALTY, "query_bias": False, "target_bias": False},
    "square, learnt": {"loss": "square", "penalty": LearntPenalty(rounds=2)},
    "square, cells": {"loss": "square", "penalty": PENALTY, "cells": AllCells(0.02)},
    "logistic": {"loss": "logistic", "penalty": PENALTY},
    "logistic, learnt": {"loss": "logistic", "penalty": LearntPenalty(rounds=2)},
    "logistic in NumPy": {"loss": NumPyLogistic(), "penalty": PENALTY},
    "logistic, l1 on targets": {
        "loss": "logistic",
        "penalty": {"P": PENALTY, "Q": Penalty(ElasticNet(l1=0.1, l2=0.1))},
    },
}
