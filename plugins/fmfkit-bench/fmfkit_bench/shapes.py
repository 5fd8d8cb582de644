"""Generated problems in the shapes of the paper's data sets.

Who is paired with whom is drawn with skewed activity and popularity. Tastes come from the features: with a and b drawn
at random, U = X a + a part of its own, V = Z b + a part of its own; a score is U·V plus biases and noise. A tenth of
the pairs is held out for testing, before implicit feedback is made from the rest.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import attrs
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from fmfkit import Model, Problem, regularizers

QUERIES = 10_000
"""Queries whose pairs are drawn at a time, to keep memory in bounds."""
LATENT = 8
"""Dimensions of the tastes behind the data."""


@attrs.frozen(eq=False)
class Pairs:
    """Pairs in the order of their queries."""

    query: NDArray[np.int32]
    target: NDArray[np.int32]
    score: NDArray[np.float32]

    def only(self, which: NDArray[np.bool_] | slice) -> Pairs:
        """Return some of them."""
        return Pairs(self.query[which], self.target[which], self.score[which])


@attrs.frozen(eq=False)
class Shape:
    """A generated data set."""

    name: str
    queries: int
    targets: int
    train: Pairs
    test: Pairs
    X: dict[str, sp.csr_array] | None
    Z: dict[str, sp.csr_array] | None
    loss: str
    strength: float
    """l2 of the elastic net, found by a search on the test error, with all features."""
    plain_strength: float
    """The same for plain matrix factorization."""
    rate: float
    """The learning rate of stochastic gradient descent, found likewise; it falls by a fifth each round."""

    def problem(self, rank: int, *, features: bool = True, sample: float = 1.0) -> Problem:
        """Return the training problem, with all features or indicators only, of all pairs or of a random part."""
        chosen: Any = slice(None) if sample == 1 else np.random.default_rng(0).random(len(self.train.query)) < sample
        pairs = self.train.only(chosen)
        return Problem.from_coo(
            pairs.query, pairs.target, pairs.score, shape=(self.queries, self.targets), rank=rank,
            X=self.X if features else None, Z=self.Z if features else None, loss=self.loss,
            regularizer=regularizers.ElasticNet(l2=self.strength if features else self.plain_strength),
        )  # fmt: skip

    def for_testing(self) -> Shape:
        """Return it without what only training needs, to give the memory back."""
        return attrs.evolve(self, train=self.train.only(slice(0)), X=None, Z=None)

    def test_error(self, model: Model) -> float:
        """Return the root mean square error, or for the logistic loss the mean loss, on the pairs held out."""
        score = model.score(self.test.query, self.test.target).astype(np.float64)
        if self.loss == "square":
            return float(np.sqrt(np.mean(np.square(score - self.test.score))))
        return float(np.mean(np.logaddexp(0, score) - self.test.score * score))


def generate(name: str, scale: float, seed: int = 0) -> Shape:
    """Return a data set in one of the shapes, with ``scale`` times its queries and pairs."""
    if name not in SHAPES:
        raise ValueError(f"shape: expected one of {sorted(SHAPES)}, got {name!r}")
    if not 0 < scale <= 1:
        raise ValueError(f"scale: expected a number above 0 and up to 1, got {scale}")
    return SHAPES[name](scale, np.random.default_rng(seed))


def tagged_images(scale: float, seed: int = 0) -> Shape:
    """Return Flickr's shape with about four tags for each image, which its words decide more than in ``generate``'s."""
    return _flickr(scale, np.random.default_rng(seed), level=-5.0, pull=3.0)


def _ml10m(scale: float, rng: np.random.Generator) -> Shape:
    q, p = _size(69_878 * scale), _size(10_677 * scale**0.5)
    parts = _draw_pairs(rng, q, p, int(9_000_000 * scale))
    implicit = _implicit(parts[0], (q, p))
    U = implicit @ _normal(rng, (p, LATENT)) + 0.1 * _normal(rng, (q, LATENT))
    V = _normal(rng, (p, LATENT))
    _rate(rng, parts, U, V)
    X = {"user": _eye(q), "implicit": implicit}
    return Shape("ml10m", q, p, *parts, X, None, loss="square", strength=0.12, plain_strength=0.09, rate=0.01)


def _yahoo(scale: float, rng: np.random.Generator) -> Shape:
    q, p = _size(1_000_000 * scale), _size(600_000 * scale**0.5)
    parts = _draw_pairs(rng, q, p, int(250_000_000 * scale))
    implicit = _implicit(parts[0], (q, p))
    album, artist = rng.integers(0, max(p // 8, 1), p), rng.integers(0, max(p // 30, 1), p)
    Z = {"track": _eye(p), "album": _one_hot(album), "artist": _one_hot(artist)}
    U = implicit @ _normal(rng, (p, LATENT)) + 0.5 * _normal(rng, (q, LATENT))
    V = 0.6 * (Z["album"] @ _normal(rng, (Z["album"].shape[1], LATENT)))
    V += 0.6 * (Z["artist"] @ _normal(rng, (Z["artist"].shape[1], LATENT))) + 0.5 * _normal(rng, (p, LATENT))
    _rate(rng, parts, U, V)
    X = {"user": _eye(q), "implicit": implicit}
    return Shape("yahoo", q, p, *parts, X, Z, loss="square", strength=0.12, plain_strength=0.09, rate=0.01)


def _weibo(scale: float, rng: np.random.Generator) -> Shape:
    q, p = _size(2_000_000 * scale), _size(5_000 * scale**0.5)
    parts = _draw_pairs(rng, q, p, int(93_000_000 * scale))
    X = {"user": _eye(q), "social": _bag(rng, q, _size(100_000 * scale**0.5), 24), "profile": _bag(rng, q, 120, 3)}
    Z = {"celebrity": _eye(p), "category": _bag(rng, p, 400, 15)}
    U = X["social"] @ _normal(rng, (X["social"].shape[1], LATENT)) / 5 + 0.2 * _normal(rng, (q, LATENT))
    U += X["profile"] @ _normal(rng, (120, LATENT)) / 2
    V = Z["category"] @ _normal(rng, (400, LATENT)) / 4 + 0.4 * _normal(rng, (p, LATENT))
    _choose(rng, parts, U, V, -1.0)
    return Shape("weibo", q, p, *parts, X, Z, loss="logistic", strength=0.05, plain_strength=0.03, rate=0.01)


def _flickr(scale: float, rng: np.random.Generator, level: float = -2.0, pull: float = 1.5) -> Shape:
    q, p = _size(650_000 * scale), _size(20_000 * scale**0.5)
    parts = _draw_pairs(rng, q, p, int(39_000_000 * scale))
    words = _bag(rng, q, 2_000, 694)
    words.data /= 694**0.5
    U = words @ _normal(rng, (2_000, LATENT)) + 0.1 * _normal(rng, (q, LATENT))
    _choose(rng, parts, U, _normal(rng, (p, LATENT)), level, pull)
    return Shape(
        "flickr", q, p, *parts, {"words": words}, None, loss="logistic", strength=0.02, plain_strength=0.05, rate=0.1
    )


SHAPES: dict[str, Callable[[float, np.random.Generator], Shape]] = {
    "ml10m": _ml10m,
    "yahoo": _yahoo,
    "weibo": _weibo,
    "flickr": _flickr,
}


def _size(number: float) -> int:
    return max(round(number), 2)


def _normal(rng: np.random.Generator, shape: tuple[int, int]) -> NDArray[np.float32]:
    return rng.standard_normal(shape, dtype=np.float32)


def _eye(n: int) -> sp.csr_array:
    return sp.eye_array(n, dtype=np.float32, format="csr")


def _one_hot(category: NDArray[Any]) -> sp.csr_array:
    n = len(category)
    return sp.csr_array((np.ones(n, np.float32), category.astype(np.int32), np.arange(n + 1)))


def _draw_pairs(rng: np.random.Generator, q: int, p: int, n: int) -> tuple[Pairs, Pairs]:
    """Draw different pairs, some queries and targets far more active than others: about n for training, and a tenth of
    all for testing.
    """
    n = int(n / 0.9)
    activity = rng.lognormal(0, 1.4, q)
    for _ in range(5):  # no query takes more than half of the targets; the others make up for it
        activity = np.minimum(activity / activity.sum() * n, p / 2)
    want = np.maximum(np.round(activity), 1).astype(np.int64)
    lots = _lots(rng.lognormal(0, 1.6, p))
    starts = range(0, q, QUERIES)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        drawn = pool.map(
            lambda start, rng: _draw_block(rng, start, want[start : start + QUERIES], p, lots),
            starts,
            rng.spawn(len(starts)),
        )
        queries, targets = zip(*drawn, strict=True)
    query, target = np.concatenate(queries), np.concatenate(targets)
    del queries, targets
    test = rng.random(len(query), np.float32) < 0.1
    pairs = Pairs(query, target, np.zeros(len(query), np.float32))
    return pairs.only(~test), pairs.only(test)


def _lots(weight: NDArray[np.float64]) -> NDArray[np.int32]:
    """Return numbers, each as often as its weight asks: to draw one is to draw by weight."""
    many = min(2**24, 256 * len(weight))
    return np.searchsorted(np.cumsum(weight) / weight.sum(), (np.arange(many) + 0.5) / many).astype(np.int32)


def _different(keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the different numbers, ascending; ``np.unique`` takes thirty times as long."""
    keys.sort()
    return keys[np.diff(keys, prepend=-1) > 0]


def _draw_block(
    rng: np.random.Generator, start: int, counts: NDArray[np.int64], p: int, lots: NDArray[np.int32]
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Draw about as many different targets as wanted for each of some queries."""
    draws = np.ceil(counts * (1.5 + 12 * counts / p)).astype(np.int64) + 2  # popular ones are drawn again and again
    row = np.repeat(np.arange(len(counts)), draws)
    row, column = np.divmod(_different(row * p + lots[rng.integers(0, len(lots), len(row), np.int32)]), p)
    found = np.bincount(row, minlength=len(counts))
    keep = rng.random(len(row)) * found[row] < counts[row]
    return (row[keep] + start).astype(np.int32), column[keep].astype(np.int32)


def _implicit(train: Pairs, shape: tuple[int, int]) -> sp.csr_array:
    """Return SVD++'s features: 1/√n for each of the n targets that a query is paired with in training."""
    counts = np.bincount(train.query, minlength=shape[0])
    value = np.repeat((1 / np.sqrt(np.maximum(counts, 1))).astype(np.float32), counts)
    return sp.csr_array((value, train.target, np.concatenate([[0], np.cumsum(counts)])), shape=shape)


def _bag(rng: np.random.Generator, rows: int, features: int, each: int) -> sp.csr_array:
    """Return a matrix with about ``each`` features per row, value 1, some far more common than others."""
    each = min(each, features // 2)
    weights = np.cumsum(rng.lognormal(0, 1.0, features))
    blocks = []
    for begin in range(0, rows, 20_000):
        n = min(20_000, rows - begin)
        column = np.searchsorted(weights, rng.random(n * 2 * each) * weights[-1], side="right")
        key = _different(np.repeat(np.arange(n), 2 * each) * features + column)
        row, column = key // features, key % features
        chosen = rng.random(len(key)) < each * n / len(key)
        counts = np.bincount(row[chosen], minlength=n)
        values = np.ones(int(chosen.sum()), np.float32)
        indices = column[chosen].astype(np.int32)
        blocks.append(sp.csr_array((values, indices, np.concatenate([[0], np.cumsum(counts)])), shape=(n, features)))
    return sp.vstack(blocks, format="csr")


PART = 1_000_000
"""Pairs that are scored at a time."""


def _tastes(
    rng: np.random.Generator, parts: tuple[Pairs, Pairs], U: NDArray[np.float32], V: NDArray[np.float32]
) -> Iterator[tuple[NDArray[np.float32], NDArray[np.float32]]]:
    """Yield U·V and biases of some pairs after others, and where their scores belong."""
    query_bias, target_bias = 0.3 * _normal(rng, (len(U), 1))[:, 0], 0.4 * _normal(rng, (len(V), 1))[:, 0]
    for pairs in parts:
        for begin in range(0, len(pairs.query), PART):
            part = slice(begin, begin + PART)
            i, j = pairs.query[part], pairs.target[part]
            taste = np.einsum("ek,ek->e", U[i], V[j]) / np.float32(LATENT**0.5)
            yield taste + query_bias[i] + target_bias[j], pairs.score[part]


def _rate(rng: np.random.Generator, parts: tuple[Pairs, Pairs], U: NDArray[np.float32], V: NDArray[np.float32]) -> None:
    """Rate the pairs: tastes, biases, noise."""
    for taste, score in _tastes(rng, parts, U, V):
        score[...] = 3.5 + 0.6 * taste + 0.7 * rng.standard_normal(len(taste), np.float32)


def _choose(
    rng: np.random.Generator, parts: tuple[Pairs, Pairs], U: NDArray[np.float32], V: NDArray[np.float32],
    level: float, pull: float = 1.5,
) -> None:  # fmt: skip
    """Say yes or no to the pairs, by ``pull`` times tastes and biases."""
    for taste, score in _tastes(rng, parts, U, V):
        score[...] = rng.random(len(taste), np.float32) < 1 / (1 + np.exp(-(level + pull * taste)))
