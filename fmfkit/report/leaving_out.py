"""What a feature block is worth: the same model, with the block's features left out of its scores."""

from __future__ import annotations

import attrs
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from fmfkit._kernels.buffers import padded
from fmfkit._kernels.scoring import PackedTargets, Skip
from fmfkit.interfaces import Loss
from fmfkit.model.answers import Ranked
from fmfkit.model.model import Model
from fmfkit.recommend.evaluation import Judged, Metric
from fmfkit.recommend.resampling import Estimate, on_draws
from fmfkit.typing import Reals, SideName


@attrs.frozen(eq=False)
class Embedded:
    """Embeddings of both sides, biases included: a score is the offset and their product."""

    offset: float
    query: Reals
    target: Reals
    loss: Loss

    def score(self, queries: NDArray[np.int32], targets: NDArray[np.int32]) -> Reals:
        """Return the scores of pairs."""
        return np.asarray(self.offset + np.einsum("ij,ij->i", self.query[queries], self.target[targets]))

    def recommend(self, queries: NDArray[np.int32], k: int, *, exclude: sp.csr_array | None) -> Ranked:
        """Return the best targets of queries."""
        packed = PackedTargets(padded(self.target), self.offset, 1)
        skip = None if exclude is None else Skip.of(sp.csr_array(exclude[queries]))
        return Ranked(*packed.best(padded(self.query[queries]), k, skip))


def without(model: Model, side: SideName, block: str) -> Embedded:
    """Return a model whose queries, or targets, have no features of a block."""
    features, W = (model.X, model.P) if side == "query" else (model.Z, model.Q)
    part = (features.block(block) @ W[features.blocks[block]]).astype(W.dtype)
    lone, bias = part[:, : model.rank], part[:, model.rank :].sum(axis=1)
    U, V, u, v = model.query_embedding, model.target_embedding, model.query_bias, model.target_bias
    if side == "query":
        U, u = U - lone, u - bias
    else:
        V, v = V - lone, v - bias
    ones = np.ones_like
    return Embedded(model.offset, np.column_stack([U, u, ones(u)]), np.column_stack([V, ones(v), v]), model.loss)


def worth(on: Judged, metric: Metric, model: Model, resamples: int, level: float) -> dict[str, Estimate]:
    """Return, by block, how much worse a metric is without its features, called as strengths call them."""
    found, sign = {}, 1 if metric.larger else -1
    names: list[tuple[SideName, str]] = [*(("query", name) for name in model.X.blocks)]
    names += [("target", name) for name in model.Z.blocks]
    for side, block in names:
        other = attrs.evolve(on, model=without(model, side, block))
        drawn = on_draws([on, other], [metric], resamples, 0)[metric.name]
        lost = sign * (float(metric.measure(on)) - float(metric.measure(other)))
        found[f"{side}.{block}"] = Estimate.of(lost, sign * (drawn[:, 0] - drawn[:, 1]), level)
    return found


__all__ = ["worth"]
