"""Where fmfkit-bench calls the parts of fmfkit that it builds with.

Problems, penalties, solvers, data sets and untrained models are made here and nowhere else, so that a change of
fmfkit's interface is a change of this module. Other modules use fmfkit's types, ``fit`` and ``FMF``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import attrs
import numpy as np
import scipy.sparse as sp
from fmfkit_bench.data.pairs import Blocks, Pairs
from numpy.typing import NDArray

import fmfkit
from fmfkit import (
    FMF,
    Dataset,
    LearntPenalty,
    Model,
    PartitionScheduler,
    Penalties,
    Penalty,
    Problem,
    Recommender,
    Solver,
    State,
    solvers,
)
from fmfkit.data import Encoder, Precomputed, SideTable
from fmfkit.data.encoder import history_features as features_of_history
from fmfkit.data.loaders import load_movielens, read_svdfeature
from fmfkit.interfaces import Loss
from fmfkit.regularizers import ElasticNet

HISTORY = "history"
"""The name of the block with a query's own targets as features, as in SVD++."""
INDICATOR = "indicator"
"""The name of the block with one feature for each id."""
Scale = Literal["observations", "uniform"]


def all_threads() -> int:
    """Return how many threads fmfkit uses by default."""
    return int(fmfkit.build_info()["threads"])


# Problems and penalties


@attrs.frozen(eq=False, kw_only=True)
class Given:
    """What a problem is made of, apart from its rank."""

    pairs: Pairs
    shape: tuple[int, int]
    """The numbers of queries and targets."""
    X: Blocks | None = None
    Z: Blocks | None = None
    """Feature blocks; None stands for one feature for each id."""
    loss: Loss | str = "square"
    penalty: Penalty | Penalties | LearntPenalty = attrs.field(factory=Penalty)
    offset: float | None = None
    """None lets the loss choose it."""
    biases: bool = True

    def problem(self, rank: int) -> Problem:
        """Return the problem with so many latent dimensions."""
        return Problem.from_coo(
            self.pairs.query,
            self.pairs.target,
            self.pairs.y,
            shape=self.shape,
            rank=rank,
            X=self.X,
            Z=self.Z,
            loss=self.loss,
            penalty=self.penalty,
            offset=self.offset,
            query_bias=self.biases,
            target_bias=self.biases,
        )


def positives_problem(data: Dataset, rank: int) -> Problem:
    """Return the problem of pairs that are all taken as positives, with a term over all cells."""
    return FMF(rank=rank, data="positives").problem(attrs.evolve(data, y=np.ones(len(data))))


def elastic_net(l2: float) -> Penalty:
    """Return the same penalty for factors and biases."""
    return Penalty(ElasticNet(l2=l2))


def learnt(shrink: float) -> LearntPenalty:
    """Return strengths that are learnt in the first rounds, then multiplied."""
    return LearntPenalty(shrink=shrink)


@attrs.frozen
class Strengths:
    """The strengths of a model's penalty, as ``fmfkit.FMF`` takes them."""

    l2: float
    """Of the factors."""
    bias_l2: float
    P: Mapping[str, float] = attrs.field(factory=dict)
    Q: Mapping[str, float] = attrs.field(factory=dict)
    """What l2 is multiplied by for each feature block."""
    scale: Scale = "observations"

    def penalty(self) -> Penalties:
        """Return the penalty of a problem. Unlike those of ``FMF``, biases have one strength for all blocks."""
        bias = Penalty(ElasticNet(l2=self.bias_l2), scale="uniform")
        P, Q = (Penalty(ElasticNet(l2=self.l2), scale=self.scale, strengths=blocks) for blocks in (self.P, self.Q))
        return Penalties(P=P, Q=Q, query_bias=bias, target_bias=bias)


# Solvers


def panel() -> Solver:
    """Return the default solver, which updates a panel of latent dimensions together."""
    return solvers.Panel()


def pl2m(scheduler: PartitionScheduler | None = None) -> Solver:
    """Return the paper's Algorithm 3, one latent dimension at a time."""
    return solvers.PL2M() if scheduler is None else solvers.PL2M(scheduler=scheduler)


def l2m() -> Solver:
    """Return the paper's Algorithm 2."""
    return solvers.L2M()


def grouped_sgd(rate: float, decay: float) -> Solver:
    """Return stochastic gradient descent that shares a query's embedding among its pairs."""
    return solvers.SGD(learning_rate=rate, decay=decay)


def hogwild(rate: float, decay: float | None = None) -> Solver:
    """Return Hogwild!, pair by pair."""
    return solvers.Hogwild(learning_rate=rate) if decay is None else solvers.Hogwild(learning_rate=rate, decay=decay)


# Data sets


def y_of(data: Dataset) -> NDArray[np.float64]:
    """Return the observed values of a data set."""
    return data.y


def pairs_of(data: Dataset) -> Pairs:
    """Return the pairs of a data set by row numbers."""
    return Pairs(data.query, data.target, y_of(data).astype(np.float32))


def pairs_by_id(data: Dataset) -> Pairs:
    """Return the pairs of a data set whose ids are row numbers of other data."""
    query, target = data.queries.ids.at(data.query), data.targets.ids.at(data.target)
    return Pairs(np.asarray(query, np.int32), np.asarray(target, np.int32), y_of(data).astype(np.float32))


def dataset(pairs: Any, *, history: bool = False) -> Dataset:
    """Return the data set of a table of pairs, or of a file with one."""
    return Dataset.of(pairs, history=history)


def movielens(folder: Any) -> Dataset:
    """Return the data set of a MovieLens folder, with history features."""
    return load_movielens(folder, history=True)


def svdfeature(path: Any) -> Dataset:
    """Return the data set of a file in SVDFeature's format."""
    read = read_svdfeature(path)
    pairs = Pairs(read.query, read.target, read.y)
    return numbered(pairs, (read.X.shape[0], read.Z.shape[0]), {"features": read.X}, {"features": read.Z})


def numbered(
    pairs: Pairs,
    shape: tuple[int, int],
    X: Mapping[str, sp.csr_array] | None = None,
    Z: Mapping[str, sp.csr_array] | None = None,
    *,
    history: bool = False,
) -> Dataset:
    """Return the data set of pairs whose ids are row numbers, with these feature blocks."""
    blocks = [[Precomputed(matrix, name=name) for name, matrix in (side or {}).items()] for side in (X, Z)]
    return Dataset.of(
        {"query": pairs.query, "target": pairs.target, "rating": pairs.y},
        queries=SideTable({"query": np.arange(shape[0])}, blocks=blocks[0]),
        targets=SideTable({"target": np.arange(shape[1])}, blocks=blocks[1]),
        history=history,
    )


def has_history(data: Dataset) -> bool:
    """Return whether a data set has history features."""
    return data.history


def without_features(data: Dataset) -> Dataset:
    """Return a data set with one feature for each id and no others."""
    sides = {name: attrs.evolve(getattr(data, name), blocks=()) for name in ("queries", "targets")}
    return attrs.evolve(data, history=False, **sides)


def without_query_ids(data: Dataset) -> Dataset:
    """Return a data set whose queries have no feature of their own."""
    return attrs.evolve(data, queries=attrs.evolve(data.queries, indicator=False))


def features_of(data: Dataset) -> tuple[Blocks, Blocks]:
    """Return the feature blocks of queries and targets, learnt from this data set."""
    return Encoder.learn(data).features(data)


def strengths_of(data: Dataset) -> dict[str, dict[str, float]]:
    """Return the strengths of the feature blocks of each side, as ``FMF(strengths=)`` calls sides and blocks."""
    return dict(zip(("query", "target"), Encoder.learn(data).strengths({}), strict=True))


def described(data: Dataset) -> list[str]:
    """Return the blocks that describe instances beside their ids, as ``FMF(strengths=)`` calls them."""
    return Encoder.learn(data).described()


def history_features(train: Pairs, shape: tuple[int, int]) -> sp.csr_array:
    """Return 1/√n for each of the n targets that a query is paired with; pairs are in the order of their queries."""
    ends = np.cumsum(np.bincount(train.query, minlength=shape[0]))
    known = sp.csr_array((np.ones(len(train), np.int8), train.target, np.append(0, ends)), shape=shape)
    return features_of_history(known)


# Models without training


def untrained(shape: tuple[int, int], rank: int, seed: int, threads: int) -> Model:
    """Return a model with random factors and without biases."""
    one = np.zeros(1, np.int32)
    given = Given(pairs=Pairs(one, one, np.ones(1, np.float32)), shape=shape, offset=0.0, biases=False)
    problem = given.problem(rank)
    return Model.of(problem, State.initial(problem, seed=seed, threads=threads, scale=1.0))


def with_ids(model: Model, seen: sp.csr_array, queries: list[str], targets: list[str]) -> Recommender:
    """Return a model that answers by ids, and leaves out the pairs in ``seen``."""
    data = Dataset.of(
        {"query": queries[:1], "target": targets[:1], "rating": [1.0]},
        queries=SideTable({"query": queries}, blocks=[]),
        targets=SideTable({"target": targets}, blocks=[]),
    )
    return Recommender(model=model, encoder=Encoder.learn(data), seen=seen, columns=data.columns)
