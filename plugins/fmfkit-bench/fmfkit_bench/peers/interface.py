"""What the race needs of a system: its settings, how it trains, and a model that scores and ranks."""

from __future__ import annotations

import importlib
import importlib.util
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, ClassVar, Protocol

import attrs
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from fmfkit import Dataset
from fmfkit.data import Encoder

Rows = NDArray[np.int32]
Settings = dict[str, Any]


@attrs.frozen
class Number:
    """A setting that is a number above 0: the search multiplies it, within bounds."""

    start: float
    least: float = 0.0
    most: float = np.inf
    whole: bool = False


@attrs.frozen
class Choice:
    """A setting that is one of some; the search begins with the first."""

    options: tuple[Any, ...]


Knobs = Mapping[str, Number | Choice]


@attrs.frozen(eq=False, kw_only=True)
class Task:
    """Training data, and what every system is held to."""

    data: Dataset
    ranking: bool
    """Whether it has positives only, and targets are to be ranked; else scores are to be told."""
    new_queries: bool
    """Whether the queries to be judged by are not in the training pairs."""
    rank: int
    threads: int
    seed: int
    rounds: int
    """At most."""

    @cached_property
    def sides(self) -> tuple[dict[str, sp.csr_array], dict[str, sp.csr_array]]:
        """The feature blocks of queries and targets, by name, the identity of each first."""
        return Encoder.learn(self.data).features(self.data)

    @property
    def matrix(self) -> sp.csr_matrix:
        """The scores of the training pairs."""
        pairs = (self.data.score.astype(np.float32), (self.data.query, self.data.target))
        return _small_indices(sp.csr_matrix(pairs, self.data.shape))

    def features(self, side: int, *, identity: bool = True, implicit: bool = True) -> sp.csr_matrix | None:
        """Return the features of queries (0) or targets (1) in one matrix; None where there are none."""
        left_out = ("indicator",) * (not identity) + ("implicit",) * (not implicit)
        blocks = [block for name, block in self.sides[side].items() if name not in left_out]
        return _small_indices(sp.csr_matrix(sp.hstack(blocks, format="csr", dtype=np.float32))) if blocks else None


def _small_indices(matrix: sp.csr_matrix) -> sp.csr_matrix:
    """Return it with 32-bit indices, which is all that some systems take."""
    matrix.indices, matrix.indptr = matrix.indices.astype(np.int32), matrix.indptr.astype(np.int32)
    return matrix


class Trained(Protocol):
    """A model."""

    def score(self, query: Rows, target: Rows) -> NDArray[Any]:
        """Return the scores of pairs."""

    def top(self, queries: Rows, k: int, known: sp.csr_matrix) -> NDArray[Any]:
        """Return the k best targets of each query, those stored in ``known`` left out (-1 where there are no more).

        A system that only tells scores raises NotImplementedError.
        """


@attrs.frozen(eq=False)
class Factors:
    """score = U·V + biases, ranked by NumPy: for systems that give their factors, and no ranking of many queries."""

    queries: NDArray[Any]
    targets: NDArray[Any]
    query_bias: NDArray[Any] | float = 0.0
    target_bias: NDArray[Any] | float = 0.0
    """One for each, the global mean included in either."""

    def score(self, query: Rows, target: Rows) -> NDArray[Any]:
        """Return the scores of pairs."""
        found = np.einsum("ek,ek->e", self.queries[query], self.targets[target])
        return np.asarray(found + _at(self.query_bias, query) + _at(self.target_bias, target))

    def top(self, queries: Rows, k: int, known: sp.csr_matrix) -> NDArray[Any]:
        """Return the best targets, a block of queries at a time."""
        return np.concatenate(
            [self._block(queries[begin : begin + 512], k, known) for begin in range(0, len(queries), 512)]
        )

    def _block(self, rows: Rows, k: int, known: sp.csr_matrix) -> NDArray[Any]:
        score = self.queries[rows] @ self.targets.T + self.target_bias
        return best_of(score, k, known[rows])


def best_of(score: NDArray[Any], k: int, known: sp.csr_matrix) -> NDArray[Any]:
    """Return the columns with the highest scores in each row, what is stored in ``known`` left out."""
    score[np.repeat(np.arange(known.shape[0]), np.diff(known.indptr)), known.indices] = -np.inf
    k = min(k, score.shape[1])
    some = (
        np.argpartition(-score, k - 1, axis=1)[:, :k] if k < score.shape[1] else np.tile(np.arange(k), (len(score), 1))
    )
    value = np.take_along_axis(score, some, axis=1)
    order = np.argsort(-value, axis=1, kind="stable")
    return np.where(np.isneginf(np.take_along_axis(value, order, 1)), -1, np.take_along_axis(some, order, 1))


def _at(bias: NDArray[Any] | float, rows: Rows) -> Any:
    return bias if isinstance(bias, float) else bias[rows]


Note = Callable[[Callable[[], Trained]], bool]
"""Called after a round with what gives the model as it is then; tells whether to stop."""


class Peer(ABC):
    """A system. An adapter says what it takes, and trains; the race does the rest, alike for all."""

    name: ClassVar[str]
    module: ClassVar[str]
    """What is imported."""
    install: ClassVar[str]
    """What ``python -m pip install`` takes."""
    parts: ClassVar[tuple[str, ...]] = ()
    """Further modules that training imports."""
    ranks: ClassVar[bool] = True
    """Whether it can learn from positives only, to rank."""
    rates: ClassVar[bool] = True
    """Whether it can learn scores."""
    takes_features: ClassVar[bool] = False
    bayesian: ClassVar[bool] = False
    """Whether it averages over many models instead of estimating one."""

    def load(self) -> None:
        """Import all that training needs, before time and memory are measured."""
        for name in (self.module, *self.parts):
            importlib.import_module(name)

    def reason_to_skip(self, task: Task) -> str | None:
        """Return why it cannot take part, if so."""
        if importlib.util.find_spec(self.module) is None:
            return f"not installed (python -m pip install {self.install})"
        if not (self.ranks if task.ranking else self.rates):
            return "does not rank positives" if task.ranking else "does not learn scores"
        if task.new_queries and not self.takes_features:
            return "takes no features, and the queries are new"
        return None

    @abstractmethod
    def knobs(self, task: Task) -> Knobs:
        """Return the settings to search, and where to begin."""

    @abstractmethod
    def train(self, task: Task, settings: Settings, note: Note) -> None:
        """Train for ``task.rounds`` at most, calling ``note`` after each round, or once at the end.

        Stop when ``note`` returns True. Time spent inside ``note`` is not counted.
        """


__all__ = ["Choice", "Factors", "Knobs", "Note", "Number", "Peer", "Settings", "Task", "Trained", "best_of"]
