"""cmfrec: collective matrix factorization."""

from __future__ import annotations

import importlib
from typing import Any

import attrs
import numpy as np
import scipy.sparse as sp
from fmfkit_bench.peers.interface import Choice, Knobs, Note, Number, Peer, Rows, Settings, Task
from numpy.typing import NDArray


@attrs.frozen(eq=False)
class CmfrecModel:
    """cmfrec's own prediction and ranking."""

    model: Any

    def score(self, query: Rows, target: Rows) -> NDArray[Any]:
        """Return scores."""
        return np.asarray(self.model.predict(query, target))

    def top(self, queries: Rows, k: int, known: sp.csr_matrix) -> NDArray[Any]:
        """Return the best targets, query by query."""
        seen = [known.indices[known.indptr[row] : known.indptr[row + 1]] for row in queries]
        ranked = np.full((len(queries), k), -1)
        for place, (query, left_out) in enumerate(zip(queries, seen, strict=True)):
            n = min(k, known.shape[1] - len(left_out))
            if n > 0:
                ranked[place, :n] = self.model.topN(int(query), n=n, exclude=left_out)
        return ranked


class Cmfrec(Peer):
    """Collective matrix factorization: side information in matrices of their own."""

    ranks = False

    def knobs(self, task: Task) -> Knobs:
        """Return the penalty, for each pair or the same for all, iterations, side information, and its weight."""
        return {
            "lambda_": Number(0.05),
            "scale_lam": Choice((True, False)),
            "niter": Number(10, least=2, most=50, whole=True),
            "side": Choice(("none", "history", "features", "both")),
            "w_side": Number(0.1),
        }

    def train(self, task: Task, settings: Settings, note: Note) -> None:
        """Fit once."""
        side, weight, scaled = settings["side"], settings["w_side"], settings["scale_lam"]
        model = importlib.import_module("cmfrec").CMF(
            k=task.rank,
            lambda_=settings["lambda_"] * (1.0 if scaled else task.pairs_of_each),
            scale_lam=scaled,
            niter=settings["niter"],
            use_float=True,
            precompute_for_predictions=False,
            w_user=weight,
            w_item=weight,
            w_implicit=weight,
            add_implicit_features=side in ("history", "both"),
            NA_as_zero_user=True,
            NA_as_zero_item=True,
            nthreads=task.threads,
            random_state=task.seed + 1,
            verbose=False,
        )
        users, items = (
            task.features(k, identity=False, history=False) if side in ("features", "both") else None for k in (0, 1)
        )
        given = {name: None if part is None else sp.coo_matrix(part) for name, part in (("U", users), ("I", items))}
        model.fit(X=sp.coo_matrix(task.matrix), **given)
        note(lambda: CmfrecModel(model))


__all__ = ["Cmfrec"]
