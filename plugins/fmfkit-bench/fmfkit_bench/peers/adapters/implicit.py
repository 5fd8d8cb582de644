"""implicit: alternating least squares and Bayesian personalized ranking."""

from __future__ import annotations

import contextlib
import importlib
from typing import Any

import attrs
import numpy as np
import scipy.sparse as sp
from fmfkit_bench.peers.interface import Factors, Knobs, Note, Number, Peer, Rows, Settings, Task
from numpy.typing import NDArray


@attrs.frozen(eq=False)
class ImplicitModel:
    """implicit's own ranking."""

    model: Any

    def score(self, query: Rows, target: Rows) -> NDArray[Any]:
        """Return scores."""
        return Factors(self.model.user_factors, self.model.item_factors).score(query, target)

    def top(self, queries: Rows, k: int, known: sp.csr_matrix) -> NDArray[Any]:
        """Return the best targets."""
        ranked = self.model.recommend(queries, known[queries], N=min(k, known.shape[1]))
        return np.where(ranked[1] > np.finfo(np.float32).min, ranked[0], -1)


class ALS(Peer):
    """Weighted alternating least squares over all cells."""

    parts = ("implicit.cpu.als",)
    rates = False

    def knobs(self, task: Task) -> Knobs:
        """Return the penalty, and the weight of positives."""
        return {"regularization": Number(0.05, stride=3.0), "alpha": Number(10.0, stride=3.0)}

    def train(self, task: Task, settings: Settings, note: Note) -> None:
        """Fit, with a callback."""
        als = importlib.import_module("implicit.cpu.als")
        model = als.AlternatingLeastSquares(
            factors=task.rank, iterations=task.rounds, num_threads=task.threads, random_state=task.seed, **settings
        )
        _watched(model, task, note)


class BPR(Peer):
    """Bayesian personalized ranking by stochastic gradient descent."""

    parts = ("implicit.cpu.bpr",)
    rates = False

    def knobs(self, task: Task) -> Knobs:
        """Return the learning rate and the penalty."""
        return {"learning_rate": Number(0.05), "regularization": Number(0.01)}

    def train(self, task: Task, settings: Settings, note: Note) -> None:
        """Fit, with a callback; ten epochs, each as many draws as there are pairs, are a round."""
        bpr = importlib.import_module("implicit.cpu.bpr")
        model = bpr.BayesianPersonalizedRanking(
            factors=task.rank, iterations=10 * task.rounds, num_threads=task.threads, random_state=task.seed, **settings
        )
        _watched(model, task, note, every=10)


class _EnoughError(Exception):
    """Ends a fit of implicit's, which has no other way."""


def _watched(model: Any, task: Task, note: Note, every: int = 1) -> None:
    """Fit, and note every so many epochs."""

    def after(epoch: int, *rest: Any) -> None:
        if (epoch + 1) % every == 0 and note(lambda: ImplicitModel(model)):
            raise _EnoughError

    with contextlib.suppress(_EnoughError):
        model.fit(task.matrix, show_progress=False, callback=after)


__all__ = ["ALS", "BPR"]
