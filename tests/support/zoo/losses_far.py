"""Losses that are right where one looks first: wrong far out, for large y, in large batches, in single precision."""

from __future__ import annotations

import attrs
import numpy as np

from fmfkit import Loss
from zoo.keeper import animal
from zoo.losses import Good


class Tight(Good):
    """ln cosh(s - y) with the tightest curvature, tanh(r) / r."""

    def curvature(self, score, y):
        r = np.abs(score - y)
        return np.where(r < 1e-2, 1 - r * r / 3, np.tanh(r) / np.maximum(r, r.dtype.type(1e-2)))


@attrs.frozen
class GoodSquare(Loss):
    """(s - y)², as it should be, in NumPy."""

    def value(self, score, y):
        return (score - y) ** 2

    def gradient(self, score, y):
        return 2 * (score - y)

    def curvature(self, score, y):
        return np.full_like(score, 2.0)


@animal("check_curvature_majorises")
class CurvatureHalvedBeyond500(Tight):
    def curvature(self, score, y):
        tight = Tight.curvature(self, score, y)
        return np.where(np.abs(score - y) > 500, tight / 2, tight)


@animal("check_curvature_majorises")
class CurvatureOneTenthTooSmallAbove50(Tight):
    """On one side only."""

    def curvature(self, score, y):
        tight = Tight.curvature(self, score, y)
        return np.where(score > 50, score.dtype.type(0.9) * tight, tight)


@animal("check_curvature_majorises")
class CurvatureVanishesBeyond50000(Tight):
    def curvature(self, score, y):
        return np.where(np.abs(score) > 50_000, 0, Tight.curvature(self, score, y))


@animal("check_curvature_majorises")
class CurvatureTooSmallBetween40And60(GoodSquare):
    def curvature(self, score, y):
        return np.where((np.abs(score) > 40) & (np.abs(score) < 60), score.dtype.type(1.9), score.dtype.type(2))


@animal("check_gradient_is_the_derivative", "check_curvature_majorises")
class GradientClippedAt100(GoodSquare):
    def gradient(self, score, y):
        return np.clip(2 * (score - y), -100, 100)


@animal("check_gradient_is_the_derivative", "check_curvature_majorises")
class GradientOffBeyond500(Tight):
    def gradient(self, score, y):
        return np.tanh(score - y) * np.where(np.abs(score) > 500, score.dtype.type(0.99), score.dtype.type(1))


@animal("check_gradient_is_the_derivative", "check_curvature_majorises")
class GradientVanishesBeyond50000(Tight):
    def gradient(self, score, y):
        return np.where(np.abs(score - y) > 50_000, 0, np.tanh(score - y)).astype(score.dtype)


@animal("check_gradient_is_the_derivative", "check_curvature_majorises")
class GradientOffForLargeY(Tight):
    def gradient(self, score, y):
        return np.tanh(score - y) * np.where(np.abs(y) > 50, score.dtype.type(1.01), score.dtype.type(1))


@animal("check_curvature_majorises")
class CurvatureTooSmallForLargeY(GoodSquare):
    def curvature(self, score, y):
        return np.where(np.abs(y) > 3000, score.dtype.type(1), score.dtype.type(2))


@animal("check_gradient_is_the_derivative", "check_curvature_majorises", "check_value_is_convex")
class ValueCappedAt1000(GoodSquare):
    def value(self, score, y):
        return np.minimum((score - y) ** 2, score.dtype.type(1e6))


@animal("check_is_elementwise")
class CentresLargeBatches(Good):
    """Subtracts the mean of the scores from batches of more than 100,000 pairs."""

    def gradient(self, score, y):
        middle = score.mean() if score.size > 100_000 else score.dtype.type(0)
        return np.tanh(score - middle - y)


@animal("check_is_elementwise")
class WorstOfBatchesBeyond5000(Tight):
    """One curvature, the largest, for long batches: it majorises, but for other pairs than those it is asked about."""

    def curvature(self, score, y):
        each = Tight.curvature(self, score, y)
        return np.full_like(each, each.max()) if each.size > 5000 else each


@animal("check_is_elementwise")
class NormalisesInSingle(Good):
    """Scales long batches in single precision by what they sum up to."""

    def value(self, score, y):
        found = Good.value(self, score, y)
        if score.dtype == np.float32 and score.size > 2000:
            found = found * np.float32(1 + 1e-3 * np.tanh(score.sum()))
        return found


@animal("check_is_elementwise")
class LinkOfTheBatch(Good):
    """Predicts on a scale that the batch decides."""

    def link(self, score):
        return score / (1 + np.abs(score).max()) if score.size else score


@animal("check_link_keeps_the_order_of_scores")
class LinkTurnsBackBeyond50(Good):
    def link(self, score):
        return np.where(score > 50, 100 - score, score).astype(score.dtype)


@animal("check_link_keeps_the_order_of_scores")
class LinkSinksFarBelow(Good):
    """A sigmoid that comes up again at scores below -500."""

    def link(self, score):
        return np.where(score < -500, 0.5, 0.5 * (1 + np.tanh(score / 2))).astype(score.dtype)


@animal("check_link_keeps_the_order_of_scores")
class LinkFallsInSingle(Good):
    """Its exponential overflows in single precision, and is taken for zero."""

    def link(self, score):
        with np.errstate(over="ignore"):
            grown = np.exp(np.minimum(score, score.dtype.type(300)))
        return np.where(np.isfinite(grown), grown, 0)


@animal("check_single_precision_is_exact")
class HalfPrecision(Good):
    def gradient(self, score, y):
        if score.dtype == np.float64:
            return np.tanh(score - y)
        return np.tanh(np.clip(score - y, -100, 100).astype(np.float16)).astype(score.dtype)


@animal("check_single_precision_is_exact")
class ExpandsTheSquare(GoodSquare):
    """s² - 2 s y + y², of which single precision leaves little."""

    def value(self, score, y):
        return np.maximum(score**2 - 2 * score * y + y**2, 0) if score.dtype == np.float32 else (score - y) ** 2


@animal("check_single_precision_is_exact")
class RoundsInSingle(Tight):
    """A curvature of three digits."""

    def curvature(self, score, y):
        tight = Tight.curvature(self, score, y)
        if score.dtype == np.float64:
            return tight
        power = np.float32(10) ** np.floor(np.log10(tight)).astype(np.float32)
        return np.ceil(tight / power * 100) / 100 * power


@animal("check_remembers_nothing", "check_is_elementwise")
class CachesByShape(GoodSquare):
    """Makes the curvature once for each number of pairs."""

    cache = {}  # noqa: RUF012

    def curvature(self, score, y):
        key = score.shape, score.dtype.str
        if key not in self.cache:
            self.cache[key] = 2 + (score - y) ** 2 / (1 + (score - y) ** 2)
        return self.cache[key]


@animal("check_remembers_nothing")
class CachesByPlace(GoodSquare):
    """Makes the value once for each array, known by its place in memory and its length."""

    cache = {}  # noqa: RUF012

    def value(self, score, y):
        key = score.ctypes.data, score.size, y.ctypes.data, score.dtype.str
        if self.cache.get("key") != key:
            self.cache.update(key=key, value=(score - y) ** 2)
        return self.cache["value"].reshape(score.shape).copy()


@animal("check_remembers_nothing")
class GradientLeftByValue(GoodSquare):
    """Takes the residuals that ``value`` left, where they are as many."""

    left = {}  # noqa: RUF012

    def value(self, score, y):
        self.left["r"] = score - y
        return (score - y) ** 2

    def gradient(self, score, y):
        r = self.left.get("r")
        fits = r is not None and r.shape == score.shape and r.dtype == score.dtype
        return 2 * (r if fits else score - y)


@animal("check_leaves_the_process_alone")
class SilencesEverything(Good):
    def value(self, score, y):
        np.seterr(all="ignore")
        return Good.value(self, score, y)
