"""Regularizers that are right for moderate numbers, one at a time, in double precision, and nowhere else."""

from __future__ import annotations

import numpy as np

from zoo.keeper import animal
from zoo.regularizers import GoodRidge


@animal("check_T_minimises", "check_T_never_makes_it_worse")
class StrengthCappedAt100InT(GoodRidge):
    def T(self, x, y, w, strength=1.0):
        return GoodRidge.T(self, x, y, w, np.minimum(strength, np.asarray(100, w.dtype)))


@animal("check_penalty_grows_with_strength", "check_T_minimises", "check_T_never_makes_it_worse")
class StrengthCappedAt1000InThePenalty(GoodRidge):
    def penalty(self, w, strength=1.0):
        return GoodRidge.penalty(self, w, np.minimum(strength, np.asarray(1000, w.dtype)))


@animal("check_penalty_grows_with_strength")
class StrengthCappedInBoth(GoodRidge):
    """T is right for the penalty, but neither for the strength."""

    def penalty(self, w, strength=1.0):
        return GoodRidge.penalty(self, w, np.minimum(strength, np.asarray(20_000, w.dtype)))

    def T(self, x, y, w, strength=1.0):
        return GoodRidge.T(self, x, y, w, np.minimum(strength, np.asarray(20_000, w.dtype)))


@animal("check_T_minimises")
class SmallStrengthsIgnored(GoodRidge):
    def T(self, x, y, w, strength=1.0):
        return GoodRidge.T(self, x, y, w, np.where(np.asarray(strength) < 1e-3, w.dtype.type(0), strength))


@animal("check_T_minimises", "check_T_never_makes_it_worse", "check_zero_strength_is_the_plain_step")
class CurvatureCappedAt1000(GoodRidge):
    """Wrong for a large y."""

    def T(self, x, y, w, strength=1.0):
        return GoodRidge.T(self, x, np.minimum(y, np.asarray(1000, w.dtype)), w, strength)


@animal("check_T_minimises", "check_zero_strength_is_the_plain_step")
class StepsShortForLargeY(GoodRidge):
    def T(self, x, y, w, strength=1.0):
        d = GoodRidge.T(self, x, y, w, strength)
        return np.where(y > 20_000, d * w.dtype.type(0.5), d)


@animal("check_T_minimises", "check_zero_strength_is_the_plain_step")
class StepsNoFurtherThan100(GoodRidge):
    def T(self, x, y, w, strength=1.0):
        return np.clip(GoodRidge.T(self, x, y, w, strength), -100, 100)


@animal("check_single_precision_is_exact")
class DeadZoneInSingle(GoodRidge):
    """Changes below 1e-4 are left out."""

    def T(self, x, y, w, strength=1.0):
        d = GoodRidge.T(self, x, y, w, strength)
        return np.where(np.abs(d) < 1e-4, w.dtype.type(0), d) if w.dtype == np.float32 else d


@animal("check_single_precision_is_exact")
class SmallParametersVanishInSingle(GoodRidge):
    """Parameters below 1e-6 become zero."""

    def T(self, x, y, w, strength=1.0):
        d = GoodRidge.T(self, x, y, w, strength)
        return np.where(np.abs(w + d) < 1e-6, -w, d) if w.dtype == np.float32 else d


@animal("check_single_precision_is_exact")
class PenaltyInHalfPrecision(GoodRidge):
    def penalty(self, w, strength=1.0):
        found = GoodRidge.penalty(self, w, strength)
        if w.dtype == np.float64:
            return found
        mantissa, power = np.frexp(found)
        return np.ldexp(mantissa.astype(np.float16).astype(np.float32), power)


@animal("check_T_minimises", "check_zero_strength_is_the_plain_step")
class DeadZone(GoodRidge):
    """Changes below 1e-5 are left out, in either precision."""

    def T(self, x, y, w, strength=1.0):
        d = GoodRidge.T(self, x, y, w, strength)
        return np.where(np.abs(d) < 1e-5, w.dtype.type(0), d)


@animal("check_is_elementwise")
class ShrinksTowardsTheMean(GoodRidge):
    """Couples parameters, in whatever order they come."""

    def T(self, x, y, w, strength=1.0):
        d = GoodRidge.T(self, x, y, w, strength)
        return d * w.dtype.type(1 - 1e-6) + w.dtype.type(1e-6) * d.mean() if w.ndim == 1 and 1 < w.size < 40 else d


@animal("check_is_elementwise")
class ClipsTheWholeChange(GoodRidge):
    """No batch moves further than 1000 altogether."""

    def T(self, x, y, w, strength=1.0):
        d = GoodRidge.T(self, x, y, w, strength)
        size = np.sqrt(np.square(d, dtype=np.float64).sum())
        return d if size <= 1e3 or w.size == 1 else (d * (1e3 / size)).astype(w.dtype)


@animal("check_is_elementwise")
class SharesThePenaltyOfLargeBatches(GoodRidge):
    def penalty(self, w, strength=1.0):
        found = GoodRidge.penalty(self, w, strength)
        return np.full_like(found, found.mean()) if w.size > 50_000 else found


@animal("check_remembers_nothing")
class RidgeCachesByPlace(GoodRidge):
    """Makes the change once for each array, known by its place in memory and its length."""

    cache = {}  # noqa: RUF012

    def T(self, x, y, w, strength=1.0):
        key = x.ctypes.data, x.size, w.ctypes.data, w.dtype.str
        if self.cache.get("key") != key:
            self.cache.update(key=key, d=GoodRidge.T(self, x, y, w, strength))
        return self.cache["d"].reshape(w.shape).copy()


@animal("check_remembers_nothing")
class RidgeCachesByShape(GoodRidge):
    cache = {}  # noqa: RUF012

    def penalty(self, w, strength=1.0):
        key = w.shape, w.dtype.str
        if w.size != 777 and w.size != 1013:
            return GoodRidge.penalty(self, w, strength)
        return self.cache.setdefault(key, GoodRidge.penalty(self, w, strength))


@animal("check_leaves_the_process_alone")
class RidgeDraws(GoodRidge):
    """Draws from the global generator, for nothing."""

    def penalty(self, w, strength=1.0):
        np.random.rand()  # noqa: NPY002
        return GoodRidge.penalty(self, w, strength)
