"""Losses for counts."""

from __future__ import annotations

from typing import ClassVar

import attrs
import numpy as np
from attrs import validators

from fmfkit import Loss
from fmfkit.typing import Reals


@attrs.frozen
class Poisson(Loss):
    """e^s - y s, for counts y; where s is above ``cap``, the exponential goes on as its parabola.

    The exponential alone has no curvature that majorises everywhere. With the parabola e^cap does; rates above e^cap
    are learnt, but not by the Poisson distribution: choose ``cap`` above the logarithm of the largest rate, and no
    higher, for steps shrink as e^cap grows.
    """

    calibrated: ClassVar[bool] = True

    cap: float = attrs.field(default=3.0, converter=float, validator=[validators.ge(-20), validators.le(20)])

    def _rate(self, score: Reals) -> tuple[Reals, Reals]:
        """Return e^s and its integral's excess, each with the parabola above the cap."""
        low, over = np.minimum(score, self.cap), np.maximum(score - self.cap, 0)
        base = np.exp(low)
        return np.asarray(base * (1 + over)), np.asarray(base * (1 + over + over * over / 2))

    def value(self, score: Reals, y: Reals) -> Reals:
        """e^s - y s."""
        return np.asarray(self._rate(score)[1] - y * score)

    def gradient(self, score: Reals, y: Reals) -> Reals:
        """e^s - y."""
        return np.asarray(self._rate(score)[0] - y)

    def curvature(self, score: Reals, y: Reals) -> float:
        """e^cap, the largest there is."""
        return float(np.exp(self.cap))

    def link(self, score: Reals) -> Reals:
        """The rate, e^s."""
        return self._rate(score)[0]

    def check_y(self, y: Reals) -> None:
        """Refuse counts below zero."""
        if y.size and y.min() < 0:
            raise ValueError(f"y: the Poisson loss takes counts from 0 on, got {y.min():g}")

    def offset(self, y: Reals, weight: Reals | None) -> float:
        """Return the logarithm of the mean count, no higher than the cap."""
        mean = float(np.average(y, weights=weight)) if y.size and (weight is None or weight.sum() > 0) else 1.0
        return float(min(np.log(max(mean, 1e-3)), self.cap))


__all__ = ["Poisson"]
