"""The paper's four tasks: generated in the shapes of its data, or real data of the same kind."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any, Literal

import attrs
import numpy as np
import scipy.sparse as sp
from fmfkit_bench import core
from fmfkit_bench.core import HISTORY, INDICATOR, Given, Strengths
from fmfkit_bench.data import real, shapes
from fmfkit_bench.data.pairs import Blocks, Pairs
from fmfkit_bench.paper.penalties import ALL, PENALTIES, PLAIN, POSITIVES, RATINGS
from numpy.typing import NDArray

from fmfkit import Model, Problem, metrics

Kind = Literal["ratings", "links", "tags"]
Scorer = Callable[[NDArray[np.int32], NDArray[np.int32]], NDArray[Any]]
"""Gives scores of queries and targets."""

NEGATIVES = 14.0
"""Pairs drawn for each positive of data that has positives only."""


@attrs.frozen(eq=False, kw_only=True)
class Case:
    """One task: its data, how models of it are judged, and the sets of features that the paper takes on it."""

    name: str
    title: str
    kind: Kind
    shape: tuple[int, int]
    train: Pairs
    test: Pairs
    X: Blocks | None
    Z: Blocks | None
    subsets: Mapping[str, Mapping[str, tuple[str, ...]]]
    """Models to compare, by name: which blocks of X and of Z they know."""
    loss: str
    penalties: Mapping[str, Strengths]
    """By model."""
    rate: float
    """The learning rate at which stochastic gradient descent is tried first."""
    sets: tuple[int, int]
    """|S|, as in the paper."""
    rounds: int

    @property
    def metrics(self) -> tuple[str, ...]:
        """What models are judged by, the one that decides first."""
        return {"ratings": ("RMSE",), "links": ("MAP@1", "MAP@3", "MAP@5"), "tags": ("MAP", "P@1", "P@3")}[self.kind]

    @property
    def larger(self) -> bool:
        """Whether larger values of the metrics are better."""
        return self.kind != "ratings"

    def problem(self, rank: int, model: str = ALL) -> Problem:
        """Return the training problem of one of the models."""
        chosen = self.subsets[model]
        return Given(
            pairs=self.train,
            shape=self.shape,
            X=_only(self.X, chosen["X"]),
            Z=_only(self.Z, chosen["Z"]),
            loss=self.loss,
            penalty=self.penalties[model].penalty(),
        ).problem(rank)

    def measure(self, model: Model) -> dict[str, float]:
        """Return the metrics of a model on the test pairs."""
        if self.kind == "tags":
            rows = self._tagged
            return self._of_ranking(model.recommend(rows, self.shape[1]).targets, rows)
        return self._of_scores(model.score)

    def popularity(self) -> dict[str, float]:
        """Return the metrics of a model that knows targets by their training pairs only: mean rating, or how many."""
        total = np.bincount(self.train.target, self.train.y, self.shape[1])
        if self.kind == "ratings":
            mean, few = float(self.train.y.mean()), 5.0
            known = (total + few * mean) / (np.bincount(self.train.target, minlength=self.shape[1]) + few)
            return self._of_scores(lambda query, target: known[target])
        if self.kind == "links":
            return self._of_scores(lambda query, target: total[target])
        best = np.argsort(-total, kind="stable")
        return self._of_ranking(np.tile(best, (len(self._tagged), 1)), self._tagged)

    @property
    def _tagged(self) -> NDArray[np.int32]:
        """The queries of the test part that have a positive."""
        return np.unique(self.test.query[self.test.y > 0])

    def _of_ranking(self, ranked: NDArray[Any], rows: NDArray[np.int32]) -> dict[str, float]:
        """Judge rankings of all targets."""
        positive = self.test.only(self.test.y > 0)
        ones = np.ones(len(positive), np.float32)
        relevant = sp.csr_array((ones, (positive.query, positive.target)), shape=self.shape)
        ranking = metrics.Ranking.of(ranked, relevant[rows])
        return {"MAP": ranking.map(), "P@1": ranking.precision(1), "P@3": ranking.precision(3)}

    def _of_scores(self, scorer: Scorer) -> dict[str, float]:
        """Judge scores of the test pairs; of links, rank by them what each query was asked."""
        score = np.asarray(scorer(self.test.query, self.test.target), np.float64)
        if self.kind == "ratings":
            return {"RMSE": metrics.rmse(self.test.y, score)}
        ranking = ranked_among_asked(self.test, score)
        return {f"MAP@{k}": ranking.map(k) for k in (1, 3, 5)}


def ranked_among_asked(test: Pairs, score: NDArray[np.float64], ranks: int = 5) -> metrics.Ranking:
    """Rank the pairs of each query by score, as the KDD Cup did, and note which of the first ones are positive."""
    order = np.lexsort((test.y > 0, -score, test.query))  # of equal scores, negatives first
    query, hit = test.query[order], test.y[order] > 0
    _, row, counts = np.unique(query, return_inverse=True, return_counts=True)
    place = np.arange(len(query)) - np.repeat(np.cumsum(counts) - counts, counts)
    hits = np.zeros((len(counts), ranks), bool)
    first = place < ranks
    hits[row[first], place[first]] = hit[first]
    return metrics.Ranking(hits, np.bincount(row, hit, len(counts)).astype(np.int64))


def _only(blocks: Blocks | None, names: tuple[str, ...]) -> Blocks | None:
    return None if blocks is None else {name: blocks[name] for name in names}


def generated(name: str, scale: float, seed: int) -> Case:
    """Return a task in one of the shapes."""
    shape = shapes.tagged_images(scale, seed) if name == "flickr" else shapes.generate(name, scale, seed)
    return MAKERS[name](shape, scale, seed)


def _ratings(title: str, sets: tuple[int, int], rounds: int) -> Callable[[shapes.Shape, float, int], Case]:
    def make(shape: shapes.Shape, scale: float, seed: int) -> Case:
        X, Z = shape.X or {}, shape.Z
        plain = {"X": ("user",), "Z": ("track",) if Z else ()}
        return _case(
            shape,
            title=title,
            kind="ratings",
            sets=sets,
            rounds=rounds,
            train=shape.train,
            test=shape.test,
            subsets={PLAIN: plain, ALL: {"X": tuple(X), "Z": tuple(Z or ())}},
        )

    return make


def _links(shape: shapes.Shape, scale: float, seed: int) -> Case:
    """Hold out all pairs of 7 % of the users and half of those of 3 %: 70 % of the test users are new, as in Weibo."""
    rng = np.random.default_rng([seed, 1])
    drawn = rng.random(shape.queries, np.float32)
    together = _together(shape)
    mine = drawn[together.query]
    test = (mine < 0.07) | ((mine < 0.1) & (rng.random(len(mine), np.float32) < 0.5))
    category = {"Z": ("celebrity", "category")}
    return _case(
        shape,
        title="Tencent Weibo",
        kind="links",
        sets=(500, 5000),
        rounds=5,
        train=together.only(~test),
        test=together.only(test),
        subsets={
            PLAIN: {"X": ("user",), "Z": ("celebrity",)},
            "FMF-SNS": {"X": ("user", "social"), "Z": ("celebrity",)},
            ALL: {"X": ("user", "social", "profile"), **category},
        },
    )


TEST_IMAGES = 10_000


def _tags(shape: shapes.Shape, scale: float, seed: int) -> Case:
    """Hold out whole images; the tags that an image has are its positives, others are drawn from all tags."""
    positive = _together(shape)
    positive = positive.only(positive.y > 0)
    images = np.unique(positive.query)
    count = min(max(round(TEST_IMAGES * scale), 500), len(images) // 5)
    new = np.zeros(shape.queries, bool)
    new[np.random.default_rng([seed, 2]).choice(images, count, replace=False)] = True
    test = new[positive.query]
    known = positive.only(~test)
    drawn = core.dataset({"query": known.query, "target": known.target, "score": known.y})
    drawn = drawn.with_negatives(NEGATIVES, seed=seed)
    return _case(
        shape,
        title="Flickr",
        kind="tags",
        sets=(50, 500),
        rounds=7,
        train=core.pairs_by_id(drawn),
        test=positive.only(test),
        subsets={ALL: {"X": ("words",), "Z": ()}},
    )


def _case(shape: shapes.Shape, **rest: Any) -> Case:
    return Case(
        name=shape.name,
        shape=shape.size,
        X=shape.X,
        Z=shape.Z,
        loss=shape.loss,
        penalties=PENALTIES[shape.name],
        rate=shape.rate,
        **rest,
    )


def _together(shape: shapes.Shape) -> Pairs:
    """Return all pairs, in the order of their queries."""
    query = np.concatenate([shape.train.query, shape.test.query])
    order = np.argsort(query, kind="stable")
    both = [np.concatenate([getattr(p, part) for p in (shape.train, shape.test)]) for part in ("target", "y")]
    return Pairs(query[order], both[0][order], both[1][order])


MAKERS: dict[str, Callable[[shapes.Shape, float, int], Case]] = {
    "yahoo": _ratings("Yahoo! Music", (5000, 50000), rounds=5),
    "weibo": _links,
    "flickr": _tags,
    "ml10m": _ratings("MovieLens-10M", (50, 500), rounds=8),
}
"""In the paper's order."""


def of_file(path: str | os.PathLike[str], seed: int) -> Case:
    """Return a task of real data: ratings, links, or tags of new queries."""
    data = real.load(path, seed)
    kind: Kind = "ratings" if not data.positives_only else "tags" if data.cold == "query" else "links"
    train, test = data.train, data.test
    if data.positives_only:
        train = train.with_negatives(NEGATIVES, seed=seed)
    if kind == "links":
        test = test.with_negatives(20.0, seed=seed, known=data.train)
    X, Z = core.features_of(data.train)
    every = {"X": tuple(X), "Z": tuple(Z)}
    ids = {side: tuple(name for name in names if name == INDICATOR) for side, names in every.items()}
    subsets = {PLAIN: ids, ALL: every}
    if kind == "tags":
        del subsets[PLAIN]
    elif kind == "links" and core.has_history(data.train):
        subsets = {PLAIN: ids, "FMF-SNS": {"X": (*ids["X"], HISTORY), "Z": ids["Z"]}, ALL: every}
    return Case(
        name=data.name,
        title=data.name,
        kind=kind,
        shape=train.shape,
        train=core.pairs_of(train),
        test=core.pairs_of(test),
        X=X,
        Z=Z,
        subsets=subsets,
        loss="square" if kind == "ratings" else "logistic",
        penalties=dict.fromkeys(subsets, RATINGS if kind == "ratings" else POSITIVES),
        rate=0.01,
        sets=(50, 500),
        rounds=12,
    )


__all__ = ["ALL", "PLAIN", "Case", "generated", "of_file"]
