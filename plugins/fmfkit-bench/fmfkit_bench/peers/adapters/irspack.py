"""irspack: alternating least squares over all cells, with features."""

from __future__ import annotations

import importlib
from typing import Any

import attrs
import numpy as np
import scipy.sparse as sp
from fmfkit_bench.peers.interface import Choice, Factors, Knobs, Note, Number, Peer, Rows, Settings, Task, best_of
from numpy.typing import NDArray


@attrs.frozen(eq=False)
class IrspackModel:
    """irspack's own ranking."""

    model: Any

    def score(self, query: Rows, target: Rows) -> NDArray[Any]:
        """Return scores."""
        return Factors(self.model.get_user_embedding(), self.model.get_item_embedding()).score(query, target)

    def top(self, queries: Rows, k: int, known: sp.csr_matrix) -> NDArray[Any]:
        """Return the best targets."""
        parts = np.array_split(queries, -(-len(queries) // 512))
        return np.concatenate([best_of(self.model.get_score(part), k, known[part]) for part in parts])


class Irspack(Peer):
    """irspack's alternating least squares over all cells, with features where there are any."""

    rates = False
    takes_features = True

    def knobs(self, task: Task) -> Knobs:
        """Return the weight of the other cells, the penalty, its power of frequency, and how far features decide."""
        knobs: dict[str, Number | Choice] = {"alpha0": Number(0.1), "reg": Number(1e-3), "nu": Number(1.0, 0.1, 1.5)}
        if task.new_queries:
            return knobs | {"lambda_feature": Number(1.0)}
        return knobs | {"features": Choice((False, True)), "lambda_feature": Number(1.0)}

    def train(self, task: Task, settings: Settings, note: Note) -> None:
        """Train an epoch at a time."""
        more: dict[str, Any] = {}
        if settings.get("features", True):
            for side, what in enumerate(("user", "item")):
                matrix = task.features(side, identity=False, history=False)
                if matrix is not None:
                    more |= {f"{what}_features": matrix, f"lambda_{what}_feature": settings["lambda_feature"]}
        model = importlib.import_module("irspack").IALSRecommender(
            sp.csr_matrix(task.matrix, dtype=np.float64),
            n_components=task.rank,
            alpha0=settings["alpha0"],
            reg=settings["reg"],
            nu=settings["nu"],
            n_threads=task.threads,
            random_seed=task.seed,
            **more,
        )
        model.start_learning()
        for _ in range(task.rounds):
            model.run_epoch()
            if note(lambda: IrspackModel(model)):
                break


__all__ = ["Irspack"]
