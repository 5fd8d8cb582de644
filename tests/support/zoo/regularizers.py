"""A good regularizer, and broken ones."""

from __future__ import annotations

import attrs
import numpy as np

from fmfkit import Regularizer
from zoo.keeper import animal


@attrs.frozen
class GoodRidge(Regularizer):
    """l2/2 w², as it should be."""

    def penalty(self, w, strength=1.0):
        return strength * 0.25 * w * w

    def T(self, x, y, w, strength=1.0):
        curvature = y + 0.5 * strength
        with np.errstate(all="ignore"):
            return np.where(curvature > 0, -(x + 0.5 * strength * w) / curvature, w * 0)


@animal("check_T_minimises", "check_zero_strength_is_the_plain_step")
class TOffByAFactor(GoodRidge):
    def T(self, x, y, w, strength=1.0):
        return GoodRidge.T(self, x, y, w, strength) * w.dtype.type(0.9)


@animal("check_T_minimises", "check_T_never_makes_it_worse", "check_trains", "check_zero_strength_is_the_plain_step")
class TWithTheWrongSign(GoodRidge):
    def T(self, x, y, w, strength=1.0):
        return -GoodRidge.T(self, x, y, w, strength)


@animal("check_T_minimises", "check_T_never_makes_it_worse", "check_trains")
class PenaltyOfAnother(GoodRidge):
    """Pays twice what T expects."""

    def penalty(self, w, strength=1.0):
        return strength * 0.5 * w * w


@animal("check_penalty_grows_with_strength", "check_T_minimises", "check_T_never_makes_it_worse")
class IgnoresStrength(GoodRidge):
    def penalty(self, w, strength=1.0):
        return 0.25 * w * w + 0 * strength * w


@animal("check_constraints_are_respected", "check_T_never_makes_it_worse", "check_T_minimises", "check_trains")
class LeavesItsBounds(GoodRidge):
    """Says that w is never negative, and makes it so."""

    def penalty(self, w, strength=1.0):
        return np.where(w < 0, w.dtype.type(np.inf), strength * 0.25 * w * w)
