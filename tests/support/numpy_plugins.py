"""A loss and a regularizer as a plugin author would write them, in NumPy."""

from __future__ import annotations

import ctypes

import attrs
import numpy as np

from fmfkit import Loss, Regularizer
from fmfkit.native import NativeRegularizer


@attrs.frozen
class NumpySquare(Loss):
    """The square loss, with one curvature for all pairs or, if asked, one for each."""

    per_pair: bool = False

    def value(self, score, y):
        return (score - y) ** 2

    def gradient(self, score, y):
        return 2 * (score - y)

    def curvature(self, score, y):
        return np.full_like(score, 2.0) if self.per_pair else 2.0


@attrs.frozen
class NumpyLogistic(Loss):
    def value(self, score, y):
        return np.logaddexp(0, score) - y * score

    def gradient(self, score, y):
        return 1 / (1 + np.exp(-score)) - y

    def curvature(self, score, y):
        return 0.25


@attrs.frozen
class PseudoHuber(Loss):
    def value(self, score, y):
        square = (score - y) ** 2
        return square / (1 + np.sqrt(1 + square))  # sqrt(1 + r²) - 1 without cancellation

    def gradient(self, score, y):
        return (score - y) / np.sqrt(1 + (score - y) ** 2)

    def curvature(self, score, y):
        return 1 / np.sqrt(1 + (score - y) ** 2)  # a majoriser that is tight where it touches


@attrs.frozen
class NumpyRidge(Regularizer):
    l2: float = 0.1

    def penalty(self, w, strength=1.0):
        return strength * self.l2 / 2 * w**2

    def T(self, x, y, w, strength=1.0):
        curvature = y + self.l2 * strength
        return np.where(curvature > 0, -(x + self.l2 * strength * w) / np.where(curvature > 0, curvature, 1), 0)


@attrs.frozen
class NumpyLasso(Regularizer):
    l1: float = 0.05

    def penalty(self, w, strength=1.0):
        return strength * self.l1 * np.abs(w)

    def T(self, x, y, w, strength=1.0):
        free = w - x / np.where(y > 0, y, 1)
        shrunk = np.sign(free) * np.maximum(np.abs(free) - strength * self.l1 / np.where(y > 0, y, 1), 0)
        return np.where(y > 0, shrunk, np.where(strength > 0, 0, w)) - w


@attrs.frozen
class NativeLasso(NumpyLasso):
    """The same, as a table whose functions are made of it: they do as they would in C, one call for a batch."""

    @property
    def native(self):
        def arrays(dtype, *addresses, n):
            kind = {"f4": ctypes.c_float, "f8": ctypes.c_double}[dtype]
            return [np.ctypeslib.as_array(ctypes.cast(address, ctypes.POINTER(kind)), (n,)) for address in addresses]

        def functions(dtype):
            def T(x, y, w, strength, d, n, params):
                x, y, w, strength, d = arrays(dtype, x, y, w, strength, d, n=n)
                d[:] = NumpyLasso.T(self, x, y, w, strength)

            def penalty(w, strength, out, n, params):
                w, strength, out = arrays(dtype, w, strength, out, n=n)
                out[:] = NumpyLasso.penalty(self, w, strength)

            step = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 5, ctypes.c_int64, ctypes.c_void_p)(T)
            cost = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3, ctypes.c_int64, ctypes.c_void_p)(penalty)
            return step, cost

        made = {bits: functions(dtype) for bits, dtype in (("f32", "f4"), ("f64", "f8"))}
        given = {}
        for bits, pair in made.items():
            for name, function in zip(("T", "penalty"), pair, strict=True):
                given[f"{name}_{bits}"] = ctypes.cast(function, ctypes.c_void_p).value
        return NativeRegularizer.of_functions(**given, owner=made)


@attrs.frozen
class NonNegative(Regularizer):
    l2: float = 0.1

    def penalty(self, w, strength=1.0):
        return np.where(w < 0, np.inf, strength * self.l2 / 2 * w**2)

    def T(self, x, y, w, strength=1.0):
        curvature = np.maximum(y + self.l2 * strength, 1e-12)
        return np.maximum(w - (x + self.l2 * strength * w) / curvature, 0) - w


class BatchBound(NumpySquare):
    """A curvature that holds for the pairs it was asked about, and no others."""

    def value(self, score, y):
        return y**2 * (score - 1) ** 2

    def gradient(self, score, y):
        return 2 * y**2 * (score - 1)

    def curvature(self, score, y):
        return float(2 * np.max(y**2))
