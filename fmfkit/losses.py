"""The built-in losses."""

from __future__ import annotations

from typing import ClassVar

import attrs
import numpy as np

from fmfkit.interfaces import Loss
from fmfkit.typing import Reals


@attrs.frozen
class Square(Loss):
    """(s - y)², for ratings on a scale: g = 2 (s - y), beta = 2."""

    beta = 2.0
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
        if weight is None:
            return float(np.mean(y, dtype=np.float64)) if len(y) else 0.0
        return float(np.einsum("i,i->", y, weight, dtype=np.float64) / np.sum(weight, dtype=np.float64))


@attrs.frozen
class Logistic(Loss):
    """ln(1 + e^s) - y s, for y between 0 and 1: g = σ(s) - y, beta = 1/4."""

    beta = 0.25
    likelihood: ClassVar[bool] = True
    metrics: ClassVar[tuple[str, ...]] = ("log_loss", "auc")
    calibrated: ClassVar[bool] = True

    def value(self, score: Reals, y: Reals) -> Reals:
        """ln(1 + e^s) - y s, without overflow."""
        return np.logaddexp(score.dtype.type(0), score) - y * score

    def gradient(self, score: Reals, y: Reals) -> Reals:
        """σ(s) - y."""
        return self.link(score) - y

    def curvature(self, score: Reals, y: Reals) -> Reals:
        """Return (σ(s) - 1/2) / s, never above 1/4: the tightest bound at s (Jaakkola and Jordan).

        It is never below 1e-9, so that what weights and features make of it does not vanish in single precision.
        """
        near = np.abs(score) < 0.01
        far = np.where(near, score.dtype.type(1), score)
        tight = np.maximum(np.tanh(far / 2) / (2 * far), 1e-9)
        with np.errstate(over="ignore"):
            return np.where(near, 0.25 - np.square(score) / 48, tight).astype(score.dtype)

    def link(self, score: Reals) -> Reals:
        """σ(s), the probability of a match."""
        with np.errstate(over="ignore"):
            return 1 / (1 + np.exp(-score))

    def check_y(self, y: Reals) -> None:
        """Refuse y outside [0, 1]."""
        if y.size and (y.min() < 0 or y.max() > 1):
            raise ValueError(
                f"y: the logistic loss takes y between 0 and 1, got values from {y.min():g} to {y.max():g}; "
                "map the labels to 0 and 1, or use losses.Square()"
            )


__all__ = ["Logistic", "Square"]
