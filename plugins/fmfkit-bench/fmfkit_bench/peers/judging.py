"""How models are judged on held-out pairs, and what is noted of a training."""

from __future__ import annotations

import time
from collections.abc import Callable

import attrs
import numpy as np
import scipy.sparse as sp
from fmfkit_bench import core
from fmfkit_bench.peers.interface import Rows, Task, Trained
from fmfkit_bench.speed import machine

from fmfkit import Dataset, metrics
from fmfkit.search import best_place

JUDGED_QUERIES = 2000
"""While settings are searched, rankings are judged by so many queries."""


@attrs.frozen(eq=False)
class Judge:
    """Held-out pairs, and the metric that decides: the RMSE, or MAP@10."""

    test: Dataset
    known: sp.csr_matrix
    """The training pairs, which are not ranked."""
    ranking: bool
    queries: Rows

    @classmethod
    def of(cls, task: Task, test: Dataset, queries: int | None = None) -> Judge:
        """Judge by the pairs of ``test``; rankings by some of its queries, or all."""
        rows = np.unique(test.query)
        if queries is not None and len(rows) > queries:
            rows = np.sort(np.random.default_rng(0).choice(rows, queries, replace=False))
        return cls(test, task.matrix, task.ranking, rows)

    def value(self, trained: Trained) -> float:
        """Return the metric that decides."""
        if not self.ranking:
            return metrics.rmse(core.y_of(self.test), trained.score(self.test.query, self.test.target))
        return self._ranking(trained, 10).map(10)

    def everything(self, trained: Trained) -> dict[str, float]:
        """Return all metrics that are shown."""
        if not self.ranking:
            return {"RMSE": self.value(trained)}
        ranking = self._ranking(trained, self.test.shape[1])
        return {"P@1": ranking.precision(1), "MAP": ranking.map(), "MAP@5": ranking.map(5)}

    def _ranking(self, trained: Trained, k: int) -> metrics.Ranking:
        relevant = self.test.matrix[self.queries]
        return metrics.Ranking.of(trained.top(self.queries, min(k, relevant.shape[1]), self.known), relevant)


@attrs.define
class Watch:
    """What is noted of a training: the deciding metric and the seconds of training after each round."""

    judge: Judge
    patience: int | None = None
    """Stop after so many rounds without a better value."""
    deadline: float = np.inf
    """Stop at this time."""
    values: list[float] = attrs.field(factory=list)
    seconds: list[float] = attrs.field(factory=list)
    last: Trained | None = None
    peak: int | None = None
    """The peak memory of training, without judging."""
    _began: float = attrs.field(factory=lambda: time.perf_counter())

    def note(self, give: Callable[[], Trained]) -> bool:
        """Judge the model of a round; see ``interface.Note``."""
        spent = time.perf_counter() - self._began
        self.seconds.append((self.seconds[-1] if self.seconds else 0.0) + spent)
        now = machine.peak_bytes()
        self.peak = now if self.peak is None or now is None else max(self.peak, now)
        self.last = give()
        self.values.append(self.judge.value(self.last))
        stop = self.patience is not None and len(self.values) - self.best >= self.patience
        machine.reset_peak()
        self._began = time.perf_counter()
        return stop or self._began > self.deadline

    @property
    def best(self) -> int:
        """The best round, from 1."""
        return 1 + best_place(self.values, larger=self.judge.ranking)


__all__ = ["JUDGED_QUERIES", "Judge", "Watch"]
