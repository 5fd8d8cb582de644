"""Surprise: biased matrix factorization."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
from fmfkit_bench.peers.interface import Factors, Knobs, Note, Number, Peer, Settings, Task


class Surprise(Peer):
    """Surprise's SVD: biased matrix factorization by stochastic gradient descent, on one thread."""

    parts = ("pandas",)
    ranks = False

    def knobs(self, task: Task) -> Knobs:
        """Return the learning rate, the penalties of factors and biases, and epochs."""
        return {
            "lr_all": Number(0.01),
            "reg_all": Number(0.05),
            "reg_bias": Number(0.05),
            "n_epochs": Number(20, least=2, most=100, whole=True),
        }

    def train(self, task: Task, settings: Settings, note: Note) -> None:
        """Fit once."""
        surprise: Any = importlib.import_module("surprise")
        pandas: Any = importlib.import_module("pandas")
        data = task.data
        frame = pandas.DataFrame({"u": data.query, "i": data.target, "r": task.y})
        reader = surprise.Reader(rating_scale=(task.y.min(), task.y.max()))
        train = surprise.Dataset.load_from_df(frame, reader).build_full_trainset()
        given = dict(settings)
        bias = given.pop("reg_bias")
        model = surprise.SVD(n_factors=task.rank, random_state=task.seed, reg_bu=bias, reg_bi=bias, **given).fit(train)

        def factors() -> Factors:
            q, p = data.shape
            users = np.array([train.to_raw_uid(k) for k in range(train.n_users)])
            items = np.array([train.to_raw_iid(k) for k in range(train.n_items)])
            U, V, bu, bi = np.zeros((q, task.rank)), np.zeros((p, task.rank)), np.zeros(q), np.zeros(p)
            U[users], V[items], bu[users], bi[items] = model.pu, model.qi, model.bu, model.bi
            return Factors(U, V, bu + train.global_mean, bi)

        note(factors)


__all__ = ["Surprise"]
