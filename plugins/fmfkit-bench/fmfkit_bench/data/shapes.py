"""Generated problems in the shapes of the paper's data sets.

Who is paired with whom is drawn with skewed activity and popularity. Tastes come from the features: with a and b drawn
at random, U = X a + a part of its own, V = Z b + a part of its own; y is U·V plus biases and noise. A tenth of the
pairs is held out for testing, before history features are made from the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import attrs
import numpy as np
from fmfkit_bench import core
from fmfkit_bench.core import HISTORY
from fmfkit_bench.data import draws
from fmfkit_bench.data.draws import bag, eye, normal, one_hot
from fmfkit_bench.data.pairs import Blocks, Pairs
from numpy.typing import NDArray

from fmfkit import Model, Problem

LATENT = 8
"""Dimensions of the tastes behind the data."""


@attrs.frozen(eq=False, kw_only=True)
class Shape:
    """A generated data set."""

    name: str
    queries: int
    targets: int
    train: Pairs
    test: Pairs
    X: Blocks | None
    Z: Blocks | None
    loss: str
    strength: float
    """l2 of the elastic net, found by a search on the test error, with all features."""
    plain_strength: float
    """The same for plain matrix factorization."""
    rate: float
    """The learning rate of stochastic gradient descent, found likewise; it falls by a fifth each round."""

    @property
    def size(self) -> tuple[int, int]:
        """The numbers of queries and targets."""
        return self.queries, self.targets

    def problem(self, rank: int, *, features: bool = True, sample: float = 1.0, shrink: float | None = None) -> Problem:
        """Return the training problem, with all features or indicators only, of all pairs or of a random part.

        With ``shrink``, strengths are learnt, and multiplied by it.
        """
        chosen: Any = slice(None) if sample == 1 else np.random.default_rng(0).random(len(self.train)) < sample
        return core.Given(
            pairs=self.train.only(chosen),
            shape=self.size,
            X=self.X if features else None,
            Z=self.Z if features else None,
            loss=self.loss,
            penalty=core.elastic_net(self.strength if features else self.plain_strength)
            if shrink is None
            else core.learnt(shrink),
        ).problem(rank)

    def for_testing(self) -> Shape:
        """Return it without what only training needs, to free the memory."""
        return attrs.evolve(self, train=self.train.only(slice(0)), X=None, Z=None)

    def test_error(self, model: Model) -> float:
        """Return the root mean square error, or for the logistic loss the mean loss, on the pairs held out."""
        score = model.score(self.test.query, self.test.target).astype(np.float64)
        if self.loss == "square":
            return float(np.sqrt(np.mean(np.square(score - self.test.y))))
        return float(np.mean(np.logaddexp(0, score) - self.test.y * score))


def generate(name: str, scale: float, seed: int = 0) -> Shape:
    """Return a data set in one of the shapes, with ``scale`` times its queries and pairs."""
    if name not in SHAPES:
        raise ValueError(f"shape: expected one of {sorted(SHAPES)}, got {name!r}")
    if not 0 < scale <= 1:
        raise ValueError(f"scale: expected a number above 0 and up to 1, got {scale}")
    return SHAPES[name](scale, np.random.default_rng(seed))


def tagged_images(scale: float, seed: int = 0) -> Shape:
    """Return Flickr's shape with about four tags for each image, which its words decide more than in ``generate``'s."""
    return _flickr(scale, np.random.default_rng(seed), Choices(level=-5.0, pull=3.0))


def _ml10m(scale: float, rng: np.random.Generator) -> Shape:
    q, p = _size(69_878 * scale), _size(10_677 * scale**0.5)
    parts = draws.pairs(rng, (q, p), int(9_000_000 * scale))
    history = core.history_features(parts[0], (q, p))
    U = history @ normal(rng, (p, LATENT)) + 0.1 * normal(rng, (q, LATENT))
    V = normal(rng, (p, LATENT))
    _rate(rng, Tastes(parts, U, V))
    return _ratings("ml10m", parts, {"user": eye(q), HISTORY: history}, None, p)


def _yahoo(scale: float, rng: np.random.Generator) -> Shape:
    q, p = _size(1_000_000 * scale), _size(600_000 * scale**0.5)
    parts = draws.pairs(rng, (q, p), int(250_000_000 * scale))
    history = core.history_features(parts[0], (q, p))
    album, artist = rng.integers(0, max(p // 8, 1), p), rng.integers(0, max(p // 30, 1), p)
    Z = {"track": eye(p), "album": one_hot(album), "artist": one_hot(artist)}
    U = history @ normal(rng, (p, LATENT)) + 0.5 * normal(rng, (q, LATENT))
    V = 0.6 * (Z["album"] @ normal(rng, (Z["album"].shape[1], LATENT)))
    V += 0.6 * (Z["artist"] @ normal(rng, (Z["artist"].shape[1], LATENT))) + 0.5 * normal(rng, (p, LATENT))
    _rate(rng, Tastes(parts, U, V))
    return _ratings("yahoo", parts, {"user": eye(q), HISTORY: history}, Z, p)


def _ratings(name: str, parts: tuple[Pairs, Pairs], X: Blocks, Z: Blocks | None, targets: int) -> Shape:
    return Shape(
        name=name,
        queries=X["user"].shape[0],
        targets=targets,
        train=parts[0],
        test=parts[1],
        X=X,
        Z=Z,
        loss="square",
        strength=0.12,
        plain_strength=0.09,
        rate=0.01,
    )


def _weibo(scale: float, rng: np.random.Generator) -> Shape:
    q, p = _size(2_000_000 * scale), _size(5_000 * scale**0.5)
    parts = draws.pairs(rng, (q, p), int(93_000_000 * scale))
    X = {"user": eye(q), "social": bag(rng, q, _size(100_000 * scale**0.5), 24), "profile": bag(rng, q, 120, 3)}
    Z = {"celebrity": eye(p), "category": bag(rng, p, 400, 15)}
    U = X["social"] @ normal(rng, (X["social"].shape[1], LATENT)) / 5 + 0.2 * normal(rng, (q, LATENT))
    U += X["profile"] @ normal(rng, (120, LATENT)) / 2
    V = Z["category"] @ normal(rng, (400, LATENT)) / 4 + 0.4 * normal(rng, (p, LATENT))
    _choose(rng, Tastes(parts, U, V), Choices(level=-1.0))
    return Shape(
        name="weibo",
        queries=q,
        targets=p,
        train=parts[0],
        test=parts[1],
        X=X,
        Z=Z,
        loss="logistic",
        strength=0.05,
        plain_strength=0.03,
        rate=0.01,
    )


@attrs.frozen
class Choices:
    """How often pairs are positive: the logistic function of ``level`` plus ``pull`` times tastes and biases."""

    level: float
    pull: float = 1.5


FLICKR = Choices(level=-2.0)


def _flickr(scale: float, rng: np.random.Generator, choices: Choices = FLICKR) -> Shape:
    q, p = _size(650_000 * scale), _size(20_000 * scale**0.5)
    parts = draws.pairs(rng, (q, p), int(39_000_000 * scale))
    words = bag(rng, q, 2_000, 694)
    words.data /= 694**0.5
    U = words @ normal(rng, (2_000, LATENT)) + 0.1 * normal(rng, (q, LATENT))
    _choose(rng, Tastes(parts, U, normal(rng, (p, LATENT))), choices)
    return Shape(
        name="flickr",
        queries=q,
        targets=p,
        train=parts[0],
        test=parts[1],
        X={"words": words},
        Z=None,
        loss="logistic",
        strength=0.02,
        plain_strength=0.05,
        rate=0.1,
    )


SHAPES: dict[str, Callable[[float, np.random.Generator], Shape]] = {
    "ml10m": _ml10m,
    "yahoo": _yahoo,
    "weibo": _weibo,
    "flickr": _flickr,
}


def _size(number: float) -> int:
    return max(round(number), 2)


PART = 1_000_000
"""Pairs whose y is made at a time."""


@attrs.frozen(eq=False)
class Tastes:
    """The factors behind the y of some pairs."""

    parts: tuple[Pairs, Pairs]
    U: NDArray[np.float32]
    V: NDArray[np.float32]

    def each(self, rng: np.random.Generator) -> Iterator[tuple[NDArray[np.float32], NDArray[np.float32]]]:
        """Yield U·V and biases of some pairs after others, with the array that their y goes into."""
        query_bias, target_bias = 0.3 * normal(rng, (len(self.U), 1))[:, 0], 0.4 * normal(rng, (len(self.V), 1))[:, 0]
        for pairs in self.parts:
            for begin in range(0, len(pairs), PART):
                part = slice(begin, begin + PART)
                i, j = pairs.query[part], pairs.target[part]
                taste = np.einsum("ek,ek->e", self.U[i], self.V[j]) / np.float32(LATENT**0.5)
                yield taste + query_bias[i] + target_bias[j], pairs.y[part]


def _rate(rng: np.random.Generator, tastes: Tastes) -> None:
    """Rate the pairs: tastes, biases, noise."""
    for taste, y in tastes.each(rng):
        y[...] = 3.5 + 0.6 * taste + 0.7 * rng.standard_normal(len(taste), np.float32)


def _choose(rng: np.random.Generator, tastes: Tastes, choices: Choices) -> None:
    """Make the pairs positive or negative."""
    for taste, y in tastes.each(rng):
        y[...] = rng.random(len(taste), np.float32) < 1 / (1 + np.exp(-(choices.level + choices.pull * taste)))


__all__ = ["SHAPES", "Shape", "generate", "tagged_images"]
