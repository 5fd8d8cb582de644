"""A good regularizer, and broken ones."""

from __future__ import annotations

import threading
from ctypes import CFUNCTYPE, POINTER, c_double, c_float, c_int64, c_void_p, cast

import attrs
import numpy as np

from fmfkit import Regularizer
from fmfkit.native import NativeRegularizer
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


@animal("check_keeps_shape_and_dtype")
class RidgeInDouble(GoodRidge):
    """Its penalty is in double precision, whatever it is given."""

    def penalty(self, w, strength=1.0):
        return GoodRidge.penalty(self, np.asarray(w, np.float64), strength)


@animal("check_leaves_its_input_alone", "check_is_safe_from_several_threads")
class RidgeInPlace(GoodRidge):
    """Works in the array it is given, where it may."""

    def T(self, x, y, w, strength=1.0):
        if x.flags.writeable:
            x += 0.5 * strength * w
            return -x / np.where(y + 0.5 * strength > 0, y + 0.5 * strength, 1)
        return GoodRidge.T(self, x, y, w, strength)


@animal("check_is_elementwise")
class RidgeOfItsPlace(GoodRidge):
    """The first parameter of a long batch pays for all."""

    def penalty(self, w, strength=1.0):
        found = GoodRidge.penalty(self, w, strength)
        if w.ndim == 1 and w.size > 200:
            found = found + 0
            found[0] += 1
        return found


@animal("check_copies_are_equal")
class RidgeWithoutEquality(GoodRidge):
    __eq__ = object.__eq__
    __hash__ = object.__hash__


@animal("check_is_safe_from_several_threads")
class RidgeInOneRoom(GoodRidge):
    """Works in one buffer for all callers."""

    scratch = np.zeros(30_000)

    def penalty(self, w, strength=1.0):
        if w.ndim != 1 or w.size != 20_000:
            return GoodRidge.penalty(self, w, strength)
        room = self.scratch[: w.size]
        for _ in range(3):
            np.multiply(w, w, out=room)
            threading.Event().wait(0.0005)
        return strength * 0.25 * room


def _wrong_native():
    """Return native functions whose T differs from the fifth digit on."""
    functions = {}
    for suffix, real in (("f32", c_float), ("f64", c_double)):
        array = POINTER(real)

        def step(x, y, w, strength, d, n, params):
            for t in range(n):
                curvature = y[t] + 0.5 * strength[t]
                d[t] = -1.0001 * (x[t] + 0.5 * strength[t] * w[t]) / curvature if curvature > 0 else 0

        def penalty(w, strength, out, n, params):
            for t in range(n):
                out[t] = strength[t] * 0.25 * w[t] * w[t]

        functions[f"T_{suffix}"] = CFUNCTYPE(None, *[array] * 5, c_int64, c_void_p)(step)
        functions[f"penalty_{suffix}"] = CFUNCTYPE(None, *[array] * 3, c_int64, c_void_p)(penalty)
    addresses = {name: cast(function, c_void_p).value for name, function in functions.items()}
    return NativeRegularizer.of_functions(owner=functions, **addresses)


@animal("check_native_equals_numpy")
class NativeRidgeDiffers(GoodRidge):
    _native = _wrong_native()

    @property
    def native(self):
        return self._native
