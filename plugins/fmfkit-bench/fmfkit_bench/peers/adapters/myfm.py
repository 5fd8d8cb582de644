"""myFM: Bayesian factorization machines."""

from __future__ import annotations

import importlib
from typing import Any

import attrs
import numpy as np
import scipy.sparse as sp
from fmfkit_bench.peers.interface import Knobs, Note, Number, Peer, Rows, Settings, Task
from numpy.typing import NDArray


class MyFM(Peer):
    """myFM: Bayesian factorization machines by Gibbs sampling, on one thread."""

    ranks = False
    takes_features = True

    def knobs(self, task: Task) -> Knobs:
        """Return the number of samples; it finds penalties itself."""
        return {"n_iter": Number(60, least=30, most=300, whole=True)}

    def train(self, task: Task, settings: Settings, note: Note) -> None:
        """Sample, with both sides as relation blocks."""
        myfm: Any = importlib.import_module("myfm")
        matrices = [task.features(side) for side in (0, 1)]

        def blocks(query: Rows, target: Rows) -> list[Any]:
            rows = zip((query, target), matrices, strict=True)
            return [myfm.RelationBlock(row, sp.csr_matrix(matrix, dtype=np.float64)) for row, matrix in rows]

        model = myfm.MyFMRegressor(rank=task.rank, random_seed=task.seed)
        groups = [block.shape[1] for side in task.sides for block in side.values()]
        model.fit(
            None,
            task.y.astype(np.float64),
            X_rel=blocks(task.data.query, task.data.target),
            n_iter=settings["n_iter"],
            n_kept_samples=settings["n_iter"] * 2 // 3,
            group_shapes=groups,
        )
        note(lambda: MyFMModel(lambda query, target: model.predict(None, blocks(query, target))))


@attrs.frozen(eq=False)
class MyFMModel:
    """A sample of machines, which can be asked for scores of pairs only."""

    score: Any

    def top(self, queries: Rows, k: int, known: sp.csr_matrix) -> NDArray[Any]:
        """Refuse: to score all targets of a query, one pair at a time in each sample, is no way to rank."""
        raise NotImplementedError


__all__ = ["MyFM"]
