"""The built-in losses."""

from __future__ import annotations

from typing import ClassVar

import attrs
import numpy as np

from fmfkit.interfaces import Loss, Reals


@attrs.frozen
class Square(Loss):
    """(s - y)², for scores on a scale: g = 2 (s - y), beta = 2."""

    calibrated: ClassVar[bool] = True

    def value(self, score: Reals, y: Reals) -> Reals:
        """(s - y)²."""
        return np.square(score - y)

    def gradient(self, score: Reals, y: Reals) -> Reals:
        """2 (s - y)."""
        return 2 * (score - y)

    def curvature(self, score: Reals, y: Reals) -> float:
        """Return 2, the second derivative."""
        return 2.0

    def offset(self, y: Reals, weight: Reals | None) -> float:
        """Return the mean of y."""
        if weight is not None and not np.any(weight):
            return 0.0
        return float(np.average(np.asarray(y, np.float64), weights=weight)) if len(y) else 0.0


@attrs.frozen
class Logistic(Loss):
    """ln(1 + e^s) - y s, for y between 0 and 1: g = σ(s) - y, beta = 1/4."""

    calibrated: ClassVar[bool] = True

    def value(self, score: Reals, y: Reals) -> Reals:
        """ln(1 + e^s) - y s, without overflow."""
        return np.logaddexp(score.dtype.type(0), score) - y * score

    def gradient(self, score: Reals, y: Reals) -> Reals:
        """σ(s) - y."""
        return self.link(score) - y

    def curvature(self, score: Reals, y: Reals) -> float:
        """Return 1/4, the largest second derivative."""
        return 0.25

    def link(self, score: Reals) -> Reals:
        """σ(s), the probability of a match."""
        with np.errstate(over="ignore"):
            return 1 / (1 + np.exp(-score))

    def check_targets(self, y: Reals) -> None:
        """Refuse y outside [0, 1]."""
        if y.size and (y.min() < 0 or y.max() > 1):
            raise ValueError(
                f"scores: the logistic loss takes y between 0 and 1, got values from {y.min():g} to {y.max():g}; "
                "map the labels to 0 and 1, or use losses.Square()"
            )


__all__ = ["Logistic", "Square"]
