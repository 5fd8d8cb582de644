"""A loss and a regularizer as a plugin author would write them, in NumPy."""

from __future__ import annotations

import attrs
import numpy as np

from fmfkit import Loss, Regularizer


@attrs.frozen
class NumpySquare(Loss):
    """The square loss, with one curvature for all pairs or, if asked, one for each."""

    per_pair: bool = False

    def value(self, score, y):
        return (score - y) ** 2

    def gradient(self, score, y):
        return 2 * (score - y)

    def curvature(self, score, y):
        return np.full_like(score, 2.0) if self.per_pair else 2.0


@attrs.frozen
class NumpyLogistic(Loss):
    def value(self, score, y):
        return np.logaddexp(0, score) - y * score

    def gradient(self, score, y):
        return 1 / (1 + np.exp(-score)) - y

    def curvature(self, score, y):
        return 0.25


@attrs.frozen
class PseudoHuber(Loss):
    def value(self, score, y):
        square = (score - y) ** 2
        return square / (1 + np.sqrt(1 + square))  # sqrt(1 + r²) - 1 without cancellation

    def gradient(self, score, y):
        return (score - y) / np.sqrt(1 + (score - y) ** 2)

    def curvature(self, score, y):
        return 1 / np.sqrt(1 + (score - y) ** 2)  # a majoriser that is tight where it touches


@attrs.frozen
class NumpyRidge(Regularizer):
    l2: float = 0.1

    def penalty(self, w, strength=1.0):
        return strength * self.l2 / 2 * w**2

    def T(self, x, y, w, strength=1.0):
        curvature = y + self.l2 * strength
        return np.where(curvature > 0, -(x + self.l2 * strength * w) / np.where(curvature > 0, curvature, 1), 0)


@attrs.frozen
class NonNegative(Regularizer):
    l2: float = 0.1

    def penalty(self, w, strength=1.0):
        return np.where(w < 0, np.inf, strength * self.l2 / 2 * w**2)

    def T(self, x, y, w, strength=1.0):
        curvature = np.maximum(y + self.l2 * strength, 1e-12)
        return np.maximum(w - (x + self.l2 * strength * w) / curvature, 0) - w


class BatchBound(NumpySquare):
    """A curvature that holds for the pairs it was asked about, and no others."""

    def value(self, score, y):
        return y**2 * (score - 1) ** 2

    def gradient(self, score, y):
        return 2 * y**2 * (score - 1)

    def curvature(self, score, y):
        return float(2 * np.max(y**2))
