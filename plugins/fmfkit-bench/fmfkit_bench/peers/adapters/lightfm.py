"""LightFM: factorization of features by stochastic gradient descent."""

from __future__ import annotations

import importlib

import scipy.sparse as sp
from fmfkit_bench.peers.interface import Choice, Factors, Knobs, Note, Number, Peer, Settings, Task


class LightFM(Peer):
    """LightFM with the features of both sides."""

    rates = False
    takes_features = True

    def knobs(self, task: Task) -> Knobs:
        """Return the loss, the learning rate, the penalty and how long WARP looks for a violation."""
        return {
            "loss": Choice(("warp", "bpr", "logistic")),
            "learning_rate": Number(0.05, stride=2.0),
            "alpha": Number(1e-6),
            "max_sampled": Number(10, least=2, most=100, whole=True),
        }

    def train(self, task: Task, settings: Settings, note: Note) -> None:
        """Train two epochs at a time; new queries have no identity of their own."""
        given = dict(settings)
        alpha = given.pop("alpha")
        model = importlib.import_module("lightfm").LightFM(
            no_components=task.rank, random_state=task.seed, item_alpha=alpha, user_alpha=alpha, **given
        )
        X, Z = task.features(0, identity=not task.new_queries), task.features(1)
        matrix = sp.coo_matrix(task.matrix)

        def factors() -> Factors:
            query_bias, queries = model.get_user_representations(X)
            target_bias, targets = model.get_item_representations(Z)
            return Factors(queries, targets, query_bias, target_bias)

        for _ in range(task.rounds):
            model.fit_partial(matrix, user_features=X, item_features=Z, epochs=2, num_threads=task.threads)
            if note(factors):
                break


__all__ = ["LightFM"]
