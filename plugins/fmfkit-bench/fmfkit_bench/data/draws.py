"""Random draws behind the generated data: who is paired with whom, and which features a row has."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import scipy.sparse as sp
from fmfkit_bench.data.pairs import Pairs
from numpy.typing import NDArray

QUERIES = 10_000
"""Queries whose pairs are drawn at a time, to limit memory."""
ROWS = 20_000
"""Rows whose features are drawn at a time."""


def different(keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """Sort the keys in place and return those that differ; ``np.unique`` takes thirty times as long."""
    keys.sort()
    return keys[np.diff(keys, prepend=-1) > 0]


def normal(rng: np.random.Generator, shape: tuple[int, int]) -> NDArray[np.float32]:
    """Return standard normal numbers."""
    return rng.standard_normal(shape, dtype=np.float32)


def eye(n: int) -> sp.csr_array:
    """Return one feature for each row."""
    return sp.eye_array(n, dtype=np.float32, format="csr")


def one_hot(category: NDArray[Any]) -> sp.csr_array:
    """Return one feature for each category."""
    n = len(category)
    return sp.csr_array((np.ones(n, np.float32), category.astype(np.int32), np.arange(n + 1)))


def pairs(rng: np.random.Generator, shape: tuple[int, int], n: int) -> tuple[Pairs, Pairs]:
    """Draw about n different pairs for training, and a ninth of that for testing.

    Some queries and targets are far more active than others. The y of all pairs is 0.
    """
    q, p = shape
    n = int(n / 0.9)
    activity = rng.lognormal(0, 1.4, q)
    for _ in range(5):  # no query takes more than half of the targets; the others make up for it
        activity = np.minimum(activity / activity.sum() * n, p / 2)
    want = np.maximum(np.round(activity), 1).astype(np.int64)
    lots = _lots(rng.lognormal(0, 1.6, p))
    starts = range(0, q, QUERIES)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        drawn = pool.map(
            lambda start, rng: _some_pairs(rng, start, want[start : start + QUERIES], p, lots),
            starts,
            rng.spawn(len(starts)),
        )
        queries, targets = zip(*drawn, strict=True)
    query, target = np.concatenate(queries), np.concatenate(targets)
    del queries, targets
    test = rng.random(len(query), np.float32) < 0.1
    every = Pairs(query, target, np.zeros(len(query), np.float32))
    return every.only(~test), every.only(test)


def _lots(weight: NDArray[np.float64]) -> NDArray[np.int32]:
    """Return numbers, each as often as its weight asks: to draw one of them is to draw by weight."""
    many = min(2**24, 256 * len(weight))
    return np.searchsorted(np.cumsum(weight) / weight.sum(), (np.arange(many) + 0.5) / many).astype(np.int32)


def _some_pairs(
    rng: np.random.Generator, start: int, counts: NDArray[np.int64], p: int, lots: NDArray[np.int32]
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Draw about as many different targets as wanted for each of some queries."""
    draws = np.ceil(counts * (1.5 + 12 * counts / p)).astype(np.int64) + 2  # popular ones are drawn again and again
    row = np.repeat(np.arange(len(counts)), draws)
    row, column = np.divmod(different(row * p + lots[rng.integers(0, len(lots), len(row), np.int32)]), p)
    found = np.bincount(row, minlength=len(counts))
    keep = rng.random(len(row)) * found[row] < counts[row]
    return (row[keep] + start).astype(np.int32), column[keep].astype(np.int32)


def bag(rng: np.random.Generator, rows: int, features: int, each: int) -> sp.csr_array:
    """Return a matrix with about ``each`` features per row, value 1, some far more common than others."""
    each = min(each, features // 2)
    weights = np.cumsum(rng.lognormal(0, 1.0, features))
    parts = []
    for begin in range(0, rows, ROWS):
        n = min(ROWS, rows - begin)
        column = np.searchsorted(weights, rng.random(n * 2 * each) * weights[-1], side="right")
        key = different(np.repeat(np.arange(n), 2 * each) * features + column)
        row, column = key // features, key % features
        chosen = rng.random(len(key)) < each * n / len(key)
        counts = np.bincount(row[chosen], minlength=n)
        values = np.ones(int(chosen.sum()), np.float32)
        indices = column[chosen].astype(np.int32)
        parts.append(sp.csr_array((values, indices, np.concatenate([[0], np.cumsum(counts)])), shape=(n, features)))
    return sp.vstack(parts, format="csr")


__all__ = ["bag", "different", "eye", "normal", "one_hot", "pairs"]
