"""What the race needs of a system: its settings, how it trains, and a model that scores and ranks."""

from __future__ import annotations

import importlib
import importlib.util
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cached_property
from typing import Any, ClassVar, Literal, Protocol

import attrs
import numpy as np
import scipy.sparse as sp
from fmfkit_bench import core
from fmfkit_bench.core import HISTORY, INDICATOR
from fmfkit_bench.data.pairs import Blocks
from numpy.typing import NDArray

from fmfkit import Dataset
from fmfkit.search import Choice, Knobs, Number, Settings

Rows = NDArray[np.int32]
SideName = Literal["query", "target"]


@attrs.frozen(eq=False, kw_only=True)
class Task:
    """Training data, and what every system is held to."""

    data: Dataset
    ranking: bool
    """Whether the data has positives only, and targets are ranked; otherwise ratings are predicted."""
    cold: SideName | None
    """The side whose instances to be judged by are not in the training pairs, if any."""
    rank: int
    threads: int
    seed: int
    rounds: int
    """At most."""

    @property
    def new_queries(self) -> bool:
        """Whether the queries to be judged by are not in the training pairs."""
        return self.cold == "query"

    @property
    def y(self) -> NDArray[np.float64]:
        """The ratings of the training pairs, or 1 for positives."""
        return core.y_of(self.data)

    @cached_property
    def sides(self) -> tuple[Blocks, Blocks]:
        """The feature blocks of queries and targets, by name, the identity of each first."""
        return core.features_of(self.data)

    @property
    def matrix(self) -> sp.csr_matrix:
        """The training pairs as a sparse matrix of their y."""
        return _small_indices(sp.csr_matrix(core.pairs_of(self.data).matrix(self.data.shape)))

    @property
    def pairs_of_each(self) -> float:
        """How many pairs a row of the larger side has: what turns a penalty per pair into one per row."""
        return len(self.data) / max(self.data.shape)

    def features(self, side: int, *, identity: bool = True, history: bool = True) -> sp.csr_matrix | None:
        """Return the features of queries (0) or targets (1) in one matrix; None where there are none."""
        left_out = (INDICATOR,) * (not identity) + (HISTORY,) * (not history)
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

        A system that only scores pairs raises NotImplementedError.
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
        """Return the best targets, some queries at a time."""
        parts = [queries[begin : begin + 512] for begin in range(0, len(queries), 512)]
        return np.concatenate([self._some(part, k, known) for part in parts])

    def _some(self, rows: Rows, k: int, known: sp.csr_matrix) -> NDArray[Any]:
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
"""Called after a round with a function that returns the model as it is then; returns whether to stop."""


class Peer(ABC):
    """An adapter: it names the settings of a system, and trains it. The race does the rest, in the same way for all."""

    parts: ClassVar[tuple[str, ...]] = ()
    """Modules that training imports, besides the system's own."""
    ranks: ClassVar[bool] = True
    """Whether it can learn from positives only, to rank."""
    rates: ClassVar[bool] = True
    """Whether it can learn ratings."""
    takes_features: ClassVar[bool] = False

    def load(self) -> None:
        """Import everything that training needs, before time and memory are measured."""
        for name in self.parts:
            importlib.import_module(name)

    def reason_to_skip(self, task: Task) -> str | None:
        """Return why it cannot take part, if so."""
        if not (self.ranks if task.ranking else self.rates):
            return "does not rank positives" if task.ranking else "does not learn ratings"
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


@attrs.frozen
class System:
    """A system that may take part in the race. Its adapter is imported only where the system is installed."""

    name: str = attrs.field(validator=attrs.validators.instance_of(str))
    module: str = attrs.field(validator=attrs.validators.instance_of(str))
    """What must be importable."""
    install: str
    """What ``python -m pip install`` takes."""
    adapter: str | Callable[[], Peer]
    """A class of adapter, or where to find it, as "package.module:Class"."""
    bayesian: bool = False
    """Whether it averages over many models instead of estimating one; such a system is named, but not ranked."""

    def missing(self) -> str | None:
        """Return how to install it, where it is not installed."""
        installed = importlib.util.find_spec(self.module) is not None
        return None if installed else f"not installed (python -m pip install {self.install})"

    def peer(self) -> Peer:
        """Return its adapter."""
        if not isinstance(self.adapter, str):
            return self.adapter()
        module, _, name = self.adapter.partition(":")
        peer: Peer = getattr(importlib.import_module(module), name)()
        return peer


__all__ = [
    "Choice",
    "Factors",
    "Knobs",
    "Note",
    "Number",
    "Peer",
    "Rows",
    "Settings",
    "System",
    "Task",
    "Trained",
    "best_of",
]
