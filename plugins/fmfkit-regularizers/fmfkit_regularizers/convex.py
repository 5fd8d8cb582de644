"""Convex penalties."""

from __future__ import annotations

import attrs
import numpy as np
from attrs import validators

from fmfkit import Regularizer
from fmfkit.typing import Reals


@attrs.frozen(kw_only=True)
class NonNegative(Regularizer):
    """strength · (l1 w + l2/2 w²) for w >= 0; parameters below zero are not allowed."""

    l1: float = attrs.field(default=0.0, converter=float, validator=validators.ge(0))
    l2: float = attrs.field(default=0.1, converter=float, validator=validators.ge(0))

    def penalty(self, w: Reals, strength: float | Reals = 1.0) -> Reals:
        """Infinite below zero."""
        return np.where(w < 0, w.dtype.type(np.inf), strength * (self.l1 * w + self.l2 / 2 * w * w))

    def T(self, x: Reals, y: Reals, w: Reals, strength: float | Reals = 1.0) -> Reals:
        """The minimum of a parabola, held at zero."""
        slope, curvature = x + strength * (self.l1 + self.l2 * w), y + strength * self.l2
        free = w - slope / np.where(curvature > 0, curvature, 1)
        still = np.where(slope > 0, w * 0, w)  # without curvature: down to zero, or nothing pulls
        return np.asarray(np.maximum(np.where(curvature > 0, free, still), 0) - w)


__all__ = ["NonNegative"]
