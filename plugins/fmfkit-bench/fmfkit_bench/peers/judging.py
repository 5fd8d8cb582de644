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
DECIDES = "map@10"
"""What decides between settings where targets are ranked, unless asked for another."""
RECALL_DEPTHS, NDCG_DEPTHS = (20, 50, 100, 300), (20, 100)
DEEPEST = 10_000
"""With at most so many targets the MAP is over all ranks, else over the first ``FIRST``."""
FIRST = 1000
QUERIES_AT_ONCE = 1000


@attrs.frozen(eq=False)
class Judge:
    """Held-out pairs, and the metric that decides: the RMSE, or for rankings the one that was asked for."""

    test: Dataset
    known: sp.csr_matrix
    """The training pairs, which are not ranked."""
    ranking: bool
    queries: Rows
    decides: str = DECIDES

    @classmethod
    def of(cls, task: Task, test: Dataset, queries: int | None = None, decides: str = DECIDES) -> Judge:
        """Judge by the pairs of ``test``; rankings by some of its queries, or all."""
        rows = np.unique(test.query)
        if queries is not None and len(rows) > queries:
            rows = np.sort(np.random.default_rng(0).choice(rows, queries, replace=False))
        return cls(test, task.matrix, task.ranking, rows, decides)

    def value(self, trained: Trained) -> float:
        """Return the metric that decides."""
        if not self.ranking:
            return metrics.rmse(core.y_of(self.test), trained.score(self.test.query, self.test.target))
        name, k = ranking_metric(self.decides)
        ranking = self._ranking(trained, self.queries, k)
        return float(getattr(ranking, name)(min(k, self.test.shape[1])))

    def everything(self, trained: Trained) -> dict[str, float]:
        """Return all metrics that are shown."""
        if not self.ranking:
            return {"RMSE": self.value(trained)}
        parts = np.array_split(self.queries, -(-len(self.queries) // QUERIES_AT_ONCE))
        found = [self._shown(trained, part) for part in parts]
        sizes = [len(part) for part in parts]
        return {name: float(np.average([one[name] for one in found], weights=sizes)) for name in found[0]}

    def _shown(self, trained: Trained, queries: Rows) -> dict[str, float]:
        """Return the metrics of some queries' rankings."""
        targets = self.test.shape[1]
        depth = targets if targets <= DEEPEST else FIRST
        ranking = self._ranking(trained, queries, depth)
        shown = {
            "P@1": ranking.precision(1),
            "MAP" if depth == targets else f"MAP@{depth}": ranking.map(),
            "MAP@5": ranking.map(5),
        }
        shown |= {f"recall@{k}": ranking.recall(k) for k in RECALL_DEPTHS if k < targets}
        return shown | {f"ndcg@{k}": ranking.ndcg(k) for k in NDCG_DEPTHS if k < targets}

    def _ranking(self, trained: Trained, queries: Rows, k: int) -> metrics.Ranking:
        relevant = self.test.matrix[queries]
        return metrics.Ranking.of(trained.top(queries, min(k, relevant.shape[1]), self.known), relevant)


def ranking_metric(text: str) -> tuple[str, int]:
    """Return the name and the depth of a metric of rankings, such as "recall@20"."""
    name, _, depth = text.partition("@")
    if name not in ("precision", "recall", "map", "ndcg") or not depth.isdigit() or int(depth) < 1:
        raise ValueError(f"expected precision, recall, map or ndcg and a depth, such as recall@20, got {text!r}")
    return name, int(depth)


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


__all__ = ["DECIDES", "JUDGED_QUERIES", "Judge", "Watch", "ranking_metric"]
