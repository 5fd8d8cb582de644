"""How good scores and rankings are.

Of scores: ``rmse``, ``mae``, ``log_loss``, ``auc``. Of rankings: a ``Ranking`` holds, for each query, which of its
ranked targets are relevant, and how many are in all. Of what is ranked, whether it is relevant or not: ``coverage``,
``gini``, ``novelty``. All of it works on whole arrays.
"""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


def rmse(y: ArrayLike, predicted: ArrayLike, weight: ArrayLike | None = None) -> float:
    """Return the root mean square error.

    Args:
        y: the given values.
        predicted: what the model predicts.
        weight: of each pair; 1 if left out.
    """
    truth, guess, w = _aligned(y, predicted, weight)
    return float(np.sqrt(np.average(np.square(guess - truth), weights=w)))


def mae(y: ArrayLike, predicted: ArrayLike, weight: ArrayLike | None = None) -> float:
    """Return the mean absolute error.

    Args:
        y: the given values.
        predicted: what the model predicts.
        weight: of each pair; 1 if left out.
    """
    truth, guess, w = _aligned(y, predicted, weight)
    return float(np.average(np.abs(guess - truth), weights=w))


def log_loss(y: ArrayLike, probability: ArrayLike, weight: ArrayLike | None = None) -> float:
    """Return the mean of −y ln p − (1 − y) ln(1 − p); probabilities are held off 0 and 1 by one rounding.

    Args:
        y: from 0 to 1.
        probability: what the model predicts.
        weight: of each pair; 1 if left out.
    """
    truth, p, w = _aligned(y, probability, weight)
    if truth.min() < 0 or truth.max() > 1 or p.min() < 0 or p.max() > 1:
        raise ValueError("log_loss: expected labels and probabilities from 0 to 1")
    tiny = np.finfo(np.float64).eps
    p = np.clip(p, tiny, 1 - tiny)
    return float(np.average(-truth * np.log(p) - (1 - truth) * np.log1p(-p), weights=w))


def auc(y: ArrayLike, score: ArrayLike, weight: ArrayLike | None = None) -> float:
    """Return the chance that a positive has a higher score than a negative, ties counting half.

    Args:
        y: 0 or 1.
        score: what ranks the pairs.
        weight: of each pair; 1 if left out.
    """
    truth, s, w = _aligned(y, score, weight)
    if not np.isin(truth, (0, 1)).all():
        raise ValueError("auc: expected labels 0 and 1")
    w = np.ones_like(s) if w is None else w
    order = np.argsort(s, kind="stable")
    s, truth, w = s[order], truth[order], w[order]
    groups = np.concatenate([[0], np.flatnonzero(np.diff(s)) + 1])  # of equal scores
    positive, negative = (np.add.reduceat(w * (truth == label), groups) for label in (1, 0))
    total = positive.sum() * negative.sum()
    if total == 0:
        raise ValueError("auc: expected at least one positive and one negative")
    below = np.cumsum(negative) - negative
    return float((positive * (below + negative / 2)).sum() / total)


@attrs.frozen(eq=False)
class Ranking:
    """The relevance of ranked targets. Queries without a relevant target are left out of all means."""

    hits: NDArray[np.bool_]
    """(queries, ranks) whether the target at that rank is relevant."""
    relevant: NDArray[np.int64]
    """(queries) how many relevant targets there are, ranked or not."""

    @classmethod
    def of(cls, ranked: ArrayLike, relevant: Any) -> Ranking:
        """Look the ranked targets up.

        Args:
            ranked: (queries, ranks) row numbers of targets, best first; −1 where a query has no more.
            relevant: sparse matrix, queries × targets, whose stored entries above 0 are the relevant ones.
        """
        table = sp.csr_array(relevant, copy=True)
        table.sum_duplicates()
        places = np.asarray(ranked)
        if places.ndim != 2 or places.shape[0] != table.shape[0]:
            raise ValueError(f"ranked: expected {table.shape[0]} rows, one per query, got shape {places.shape}")
        if places.size and (places.min() < -1 or places.max() >= table.shape[1]):
            raise ValueError(f"ranked: expected targets from 0 to {table.shape[1] - 1}, or -1, got {places.max()}")
        table.data = (table.data > 0).astype(np.int8)
        table.eliminate_zeros()
        keys = np.repeat(np.arange(table.shape[0]), np.diff(table.indptr)) * table.shape[1] + table.indices
        asked = np.arange(table.shape[0])[:, None] * table.shape[1] + places
        found = np.append(keys, -1)[np.searchsorted(keys, asked)] == asked  # keys ascend
        hits = found & (places >= 0)
        return cls(hits, np.diff(table.indptr).astype(np.int64))

    def first(self, k: int) -> Ranking:
        """Return the first ``k`` ranks."""
        return Ranking(self._first(k), self.relevant)

    def some(self, queries: NDArray[np.int64]) -> Ranking:
        """Return some of the queries, by their places, which may occur several times."""
        return Ranking(self.hits[queries], self.relevant[queries])

    def _mean(self, values: Floats) -> float:
        counted = self.relevant > 0
        if not counted.any():
            raise ValueError("ranking: no query has a relevant target")
        return float(values[counted].mean())

    def _first(self, k: int) -> NDArray[np.bool_]:
        if not 1 <= k <= self.hits.shape[1]:
            raise ValueError(f"k: expected 1 to {self.hits.shape[1]}, the number of ranks, got {k}")
        return self.hits[:, :k]

    def precision(self, k: int) -> float:
        """Return P@k: the mean share of relevant targets among the first k."""
        return self._mean(self._first(k).sum(axis=1) / k)

    def recall(self, k: int) -> float:
        """Return recall@k: the mean share of a query's relevant targets that are among its first k."""
        return self._mean(self._first(k).sum(axis=1) / np.maximum(self.relevant, 1))

    def map(self, k: int | None = None) -> float:
        """Return MAP@k, or MAP over all ranks: the mean of Σ_{r ≤ k, relevant at r} P@r / number of relevant targets.

        That is the definition of KDD Cup 2012, which the paper uses: all relevant targets count below the line, also
        where there are more than k of them.
        """
        first = self.hits if k is None else self._first(k)
        precision = np.cumsum(first, axis=1) / np.arange(1, first.shape[1] + 1)
        return self._mean((precision * first).sum(axis=1) / np.maximum(self.relevant, 1))

    def ndcg(self, k: int) -> float:
        """Return NDCG@k: Σ 1/log2(1 + rank) over relevant ranks, over the most that the query could have."""
        gain = 1 / np.log2(np.arange(2, k + 2))
        best = np.concatenate([[0], np.cumsum(gain)])[np.minimum(self.relevant, k)]
        return self._mean((self._first(k) @ gain) / np.where(best > 0, best, 1))

    def mrr(self) -> float:
        """Return the mean of 1 / rank of the first relevant target, 0 where none is ranked."""
        first = np.where(self.hits.any(axis=1), self.hits.argmax(axis=1) + 1.0, np.inf)
        return self._mean(1 / first)


def coverage(ranked: ArrayLike, targets: int) -> float:
    """Return the share of all targets that are ranked for somebody.

    Args:
        ranked: as for ``Ranking.of``.
        targets: how many targets there are.
    """
    return float(np.count_nonzero(_often(ranked, targets)) / targets)


def gini(ranked: ArrayLike, targets: int) -> float:
    """Return how unequally often targets are ranked: 0 if all are as often, nearly 1 if the same few always are.

    Args:
        ranked: as for ``Ranking.of``.
        targets: how many targets there are.
    """
    often = np.sort(_often(ranked, targets)).astype(np.float64)
    place = np.arange(1, targets + 1)
    return float(((2 * place - targets - 1) * often).sum() / (targets * often.sum()))


def novelty(ranked: ArrayLike, known: ArrayLike, queries: int) -> float:
    """Return the mean of −log2 (1 + n) / (1 + queries) over ranked targets that n queries know: rare ones are more.

    Args:
        ranked: as for ``Ranking.of``.
        known: n for each target.
        queries: how many queries there are.
    """
    often = _often(ranked, len(np.asarray(known)))
    surprise = np.log2(1 + queries) - np.log2(1 + np.asarray(known, np.float64))
    return float(np.average(surprise, weights=often))


def _often(ranked: ArrayLike, targets: int) -> NDArray[np.int64]:
    """Return how often each target is ranked."""
    places = np.asarray(ranked).ravel()
    if places.size and (places.min() < -1 or places.max() >= targets):
        raise ValueError(f"ranked: expected targets from 0 to {targets - 1}, or -1, got {places.max()}")
    often = np.bincount(places[places >= 0], minlength=targets)
    if not often.any():
        raise ValueError("ranked: no target is ranked for any query")
    return often


def _aligned(y: ArrayLike, other: ArrayLike, weight: ArrayLike | None) -> tuple[Floats, Floats, Floats | None]:
    arrays = [np.asarray(a, dtype=np.float64) for a in (y, other)]
    w = None if weight is None else np.asarray(weight, dtype=np.float64)
    if arrays[0].ndim != 1 or arrays[0].shape != arrays[1].shape or (w is not None and w.shape != arrays[0].shape):
        shapes = [a.shape for a in (*arrays, w) if a is not None]
        raise ValueError(f"expected flat arrays of one length, got shapes {shapes}")
    if arrays[0].size == 0:
        raise ValueError("expected at least one pair, got none")
    for name, array in (("y", arrays[0]), ("predictions", arrays[1]), ("weight", w)):
        if array is not None and not np.isfinite(array).all():
            raise ValueError(f"{name}: some values are NaN or infinite")
    if w is not None and (w.min() < 0 or w.sum() == 0):
        raise ValueError("weight: expected no negative weight, and some above 0")
    return arrays[0], arrays[1], w


__all__ = ["Ranking", "auc", "coverage", "gini", "log_loss", "mae", "novelty", "rmse"]
