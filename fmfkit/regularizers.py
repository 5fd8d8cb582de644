"""The built-in regularizers."""

from __future__ import annotations

import attrs
import numpy as np

from fmfkit.arguments import not_negative
from fmfkit.interfaces import Regularizer
from fmfkit.typing import Reals


@attrs.frozen(kw_only=True)
class ElasticNet(Regularizer):
    """strength · (l1 |w| + l2/2 w²).

    The paper's setting is ``Penalty(ElasticNet(l1=0.1, l2=1.0), scale="uniform")``.
    """

    l1: float = attrs.field(default=0.0, converter=float, validator=not_negative)
    l2: float = attrs.field(default=0.1, converter=float, validator=not_negative)

    def penalty(self, w: Reals, strength: float | Reals = 1.0) -> Reals:
        """strength · (l1 |w| + l2/2 w²)."""
        return strength * (self.l1 * np.abs(w) + self.l2 / 2 * np.square(w))

    def T(self, x: Reals, y: Reals, w: Reals, strength: float | Reals = 1.0) -> Reals:
        """Return the paper's two branches: a Newton step, shrunk by l1, that stops at w + d = 0."""
        a, curvature = self.l1 * strength, y + self.l2 * strength
        slope = x + self.l2 * strength * w
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            right = w - slope / curvature >= 0
            d = np.where(right, np.maximum(-(slope + a) / curvature, -w), np.minimum(-(slope - a) / curvature, -w))
        return np.where(curvature > 0, d, np.where(a > 0, -w, 0))


__all__ = ["ElasticNet"]
