"""What anybody could predict: the mean, biases alone, popularity. A model that is no better has learnt nothing."""

from __future__ import annotations

import functools
from collections.abc import Mapping

import attrs
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from fmfkit._kernels.buffers import padded
from fmfkit._kernels.scoring import PackedTargets, Skip
from fmfkit.interfaces import Loss
from fmfkit.model.answers import Ranked
from fmfkit.recommend.evaluation import Judged, Metric
from fmfkit.typing import Reals

Array = NDArray[np.float64]
ROUNDS, CONSTANT_ROUNDS = 8, 30
"""Of the fit of biases, and of one constant: they hardly move after a few."""
L2 = 5.0
"""Where the penalty of biases begins; it is then learnt."""


@attrs.frozen(eq=False)
class Biases:
    """A model without factors: it is judged as any other is."""

    offset: float
    query: Array
    target: Array
    loss: Loss

    def score(self, queries: NDArray[np.int32], targets: NDArray[np.int32]) -> Array:
        """Return the scores of pairs."""
        return np.asarray(self.offset + self.query[queries] + self.target[targets])

    @functools.cached_property
    def _packed(self) -> PackedTargets:
        return PackedTargets(padded(self.target.astype(np.float32)[:, None]), self.offset, 1)

    def recommend(self, queries: NDArray[np.int32], k: int, *, exclude: sp.csr_array | None) -> Ranked:
        """Rank targets by their bias, the same for every query but for what is left out."""
        one: Reals = padded(np.ones((len(queries), 1), np.float32))
        return Ranked(*self._packed.best(one, k, None if exclude is None else Skip.of(sp.csr_array(exclude[queries]))))


@attrs.frozen(eq=False)
class Known:
    """The training pairs, as far as baselines look at them."""

    query: NDArray[np.int32]
    target: NDArray[np.int32]
    y: Array
    weight: Array
    shape: tuple[int, int]

    @classmethod
    def of(cls, seen: sp.csr_array, weight: Array | None) -> Known:
        """Take the pairs of a matrix, y by query, and their weights."""
        query = np.repeat(np.arange(seen.shape[0], dtype=np.int32), np.diff(seen.indptr))
        return cls(
            query, seen.indices, seen.data.astype(float), np.ones(seen.nnz) if weight is None else weight, seen.shape
        )


def baselines(loss: Loss, known: Known, *, ranks: bool) -> dict[str, Biases]:
    """Return what anybody could predict, by name: popularity where targets are ranked, else biases and the mean."""
    nothing = np.zeros(known.shape[0]), np.zeros(known.shape[1])
    if ranks:
        often = np.bincount(known.target, weights=known.weight, minlength=known.shape[1]).astype(float)
        return {"popularity": Biases(0.0, nothing[0], often, loss)}
    if not loss.calibrated or not known.weight.any():
        return {}
    constant = _Constant(loss, known)
    mean = constant.best()
    return {"biases alone": constant.with_biases(mean), "the mean": Biases(mean, *nothing, loss)}


@attrs.frozen(eq=False)
class _Constant:
    """One score for all pairs, and then biases around it, for any loss by its gradients and curvatures."""

    loss: Loss
    known: Known

    def slopes(self, score: Array) -> tuple[Array, Array]:
        """Return gradient and curvature of each pair."""
        y, weight = self.known.y, self.known.weight
        return weight * self.loss.gradient(score, y), weight * np.broadcast_to(self.loss.curvature(score, y), y.shape)

    def noise(self, score: Array) -> float:
        """Return what the loss is divided by to be the negative logarithm of a likelihood."""
        if self.loss.likelihood:
            return 1.0
        return 2 * float(np.average(self.loss.value(score, self.known.y), weights=self.known.weight)) or 1.0

    def best(self) -> float:
        """Return the score of the least loss."""
        score = 0.0
        for _ in range(CONSTANT_ROUNDS):
            g, h = self.slopes(np.full_like(self.known.y, score))
            step = float(g.sum() / max(h.sum(), np.finfo(float).tiny))
            score -= step
            if abs(step) <= 1e-9 * abs(score):
                break
        return score

    def with_biases(self, offset: float) -> Biases:
        """Add a bias for each query and target: means of what is left, shrunk by how far biases deviate."""
        known = self.known
        sides = (known.query, known.shape[0]), (known.target, known.shape[1])
        bias, l2 = [np.zeros(count) for _, count in sides], [float(known.weight.mean()) * L2] * 2
        for _ in range(ROUNDS):
            for n, (rows, count) in enumerate(sides):
                score = offset + bias[0][known.query] + bias[1][known.target]
                g, h = (np.bincount(rows, weights=part, minlength=count) for part in self.slopes(score))
                some = h > 0
                bias[n][some] -= (g[some] + l2[n] * bias[n][some]) / (h[some] + l2[n])
                noise = self.noise(score)
                l2[n] = noise / float(np.mean(np.square(bias[n][some]) + noise / (h[some] + l2[n])))
        return Biases(offset, bias[0], bias[1], self.loss)


@attrs.frozen
class Comparison:
    """A model on held-out pairs, beside what anybody could predict."""

    metric: str
    value: float
    larger: bool
    """Whether larger values are better."""
    baselines: Mapping[str, float]
    """The values of the baselines, by name."""

    @property
    def gain(self) -> float | None:
        """By which share the model is better than the best baseline; None where there is none."""
        if not self.baselines:
            return None
        best = (max if self.larger else min)(self.baselines.values())
        if best == 0:
            return np.inf if self.larger and self.value > 0 else 0.0
        return self.value / best - 1 if self.larger else 1 - self.value / best

    def __str__(self) -> str:
        """Return it in a line."""
        others = ", ".join(f"{name} {value:.4f}" for name, value in self.baselines.items())
        return f"{self.metric} {self.value:.4f}" + (f" ({others})" if others else "")


def compare(metric: Metric, value: float, judged: Judged, known: Known) -> Comparison:
    """Compare how good a model is on held-out pairs with baselines made of its training pairs."""
    found = baselines(judged.model.loss, known, ranks=metric.ranks)
    values = {name: float(metric.measure(attrs.evolve(judged, model=model))) for name, model in found.items()}
    return Comparison(metric.name, value, metric.larger, values)


__all__ = ["Biases", "Comparison", "Known", "baselines", "compare"]
