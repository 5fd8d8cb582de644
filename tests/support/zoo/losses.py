"""A good loss, and broken ones."""

from __future__ import annotations

import threading
from ctypes import CFUNCTYPE, POINTER, c_double, c_float, c_int64, c_void_p, cast

import attrs
import numpy as np

from fmfkit import Loss
from fmfkit.native import NativeLoss
from zoo.keeper import animal


@attrs.frozen
class Good(Loss):
    """ln cosh(s - y), as it should be."""

    def value(self, score, y):
        r = np.abs(score - y)
        return r + np.log1p(np.exp(-2 * r)) - np.asarray(np.log(2), r.dtype)

    def gradient(self, score, y):
        return np.tanh(score - y)

    def curvature(self, score, y):
        return 1.0


@animal("check_gradient_is_the_derivative", "check_curvature_majorises", "check_trains")
class WrongGradientSign(Good):
    def gradient(self, score, y):
        return -np.tanh(score - y)


@animal("check_gradient_is_the_derivative")
class GradientOffByALittle(Good):
    def gradient(self, score, y):
        return np.tanh(score - y) * score.dtype.type(0.999)

    def curvature(self, score, y):
        return 3.0  # large enough to hide it


@animal("check_curvature_majorises")
class CurvatureTooSmall(Good):
    def curvature(self, score, y):
        return 0.9


@animal("check_curvature_majorises", "check_trains")
class CurvatureOfThePoint(Good):
    """The second derivative where it stands: no majoriser."""

    def curvature(self, score, y):
        return 1 - np.tanh(score - y) ** 2


@animal("check_beta_is_the_largest_curvature")
class BetaTooSmall(Good):
    beta = 0.9


@animal("check_value_is_convex")
class NotConvex(Good):
    def value(self, score, y):
        return np.log1p((score - y) ** 2)

    def gradient(self, score, y):
        return 2 * (score - y) / (1 + (score - y) ** 2)

    def curvature(self, score, y):
        return 2.0


@animal("check_finite_at_extremes", "check_y_that_passes_can_be_learnt")
class OverflowsFarAway(Good):
    def value(self, score, y):
        with np.errstate(over="ignore"):
            return np.log(np.cosh(score - y))

    def curvature(self, score, y):
        return 1.0


@animal("check_keeps_shape_and_dtype")
class AlwaysDouble(Good):
    def gradient(self, score, y):
        return np.tanh(score.astype(np.float64) - y)


@animal(
    "check_keeps_shape_and_dtype",
    "check_is_elementwise",
    "check_takes_empty_arrays",
    "check_trains",
    "check_curvature_majorises",
    "check_gradient_is_the_derivative",
)
class SumsUp(Good):
    """Returns one number for all pairs."""

    def value(self, score, y):
        return np.sum(Good.value(self, score, y))


@animal(
    "check_leaves_its_input_alone",
    "check_gradient_is_the_derivative",
    "check_curvature_majorises",
    "check_finite_at_extremes",
    "check_keeps_shape_and_dtype",
    "check_is_elementwise",
    "check_remembers_nothing",
    "check_takes_empty_arrays",
    "check_y_that_passes_can_be_learnt",
    "check_is_safe_from_several_threads",
    "check_trains",
)
class WritesToItsInput(Good):
    def gradient(self, score, y):
        score -= y
        return np.tanh(score)


@animal("check_is_elementwise")
class CentresTheBatch(Good):
    """Its curvature follows from the mean of the batch."""

    def curvature(self, score, y):
        return np.full_like(score, 1.0 + (float(np.abs(score - y).mean()) if score.size else 0.0))


@animal("check_remembers_nothing", "check_is_elementwise", "check_is_safe_from_several_threads", "check_trains")
class Counts(Good):
    """Its curvature grows with every call: hidden state."""

    calls = [0.0]  # noqa: RUF012

    def curvature(self, score, y):
        self.calls[0] += 1
        return 1.0 + self.calls[0] / 1000


@animal("check_is_safe_from_several_threads")
class SharedScratch(Good):
    """Works in one buffer for all callers."""

    scratch = np.zeros(30_000)

    def gradient(self, score, y):
        if score.ndim != 1 or score.size != 20_000:
            return Good.gradient(self, score, y)
        room = self.scratch[: score.size]
        for _ in range(3):
            np.subtract(score, y, out=room)
            np.tanh(room, out=room)
            threading.Event().wait(0.0005)
        return room.copy()


@animal(
    "check_y_that_passes_can_be_learnt",
    "check_curvature_majorises",
    "check_finite_at_extremes",
    "check_gradient_is_the_derivative",
    "check_value_is_convex",
    "check_trains",
)
class TakesWhatItCannot(Good):
    """The logarithm of y, for y that check_y does not refuse."""

    def value(self, score, y):
        with np.errstate(all="ignore"):
            return Good.value(self, score, np.log(y))

    def gradient(self, score, y):
        with np.errstate(all="ignore"):
            return np.tanh(score - np.log(y))


@animal("check_link_takes_the_best_score_to_its_y")
class PredictsOnAnotherScale(Good):
    calibrated = True

    def link(self, score):
        return 2 * score


@animal("check_link_keeps_the_order_of_scores")
class LinkFalls(Good):
    def link(self, score):
        return -score


@animal("check_copies_are_equal")
class NoEquality(Good):
    __eq__ = object.__eq__
    __hash__ = object.__hash__
    __repr__ = object.__repr__


def _wrong_native():
    functions = {}
    for suffix, real in (("f32", c_float), ("f64", c_double)):
        signature = CFUNCTYPE(None, POINTER(real), POINTER(real), POINTER(real), c_int64, c_void_p)

        def value(s, y, out, n, params):
            for t in range(n):
                out[t] = (s[t] - y[t]) ** 2

        def gradient(s, y, out, n, params):
            for t in range(n):
                out[t] = 2.0001 * (s[t] - y[t])  # the fifth digit

        functions[f"value_{suffix}"] = signature(value)
        functions[f"gradient_{suffix}"] = signature(gradient)
    addresses = {name: cast(function, c_void_p).value for name, function in functions.items()}
    return NativeLoss.of_functions(beta=2.0001, owner=functions, **addresses)


@animal("check_native_equals_numpy")
class NativeDiffers(Good):
    _native = _wrong_native()

    def value(self, score, y):
        return (score - y) ** 2

    def gradient(self, score, y):
        return 2 * (score - y)

    def curvature(self, score, y):
        return 2.0

    @property
    def native(self):
        return self._native
