"""The logistic loss as a plugin would write it: in NumPy, and compiled by numba."""

from __future__ import annotations

import functools
import importlib
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fmfkit import Loss
from fmfkit.native import NativeLoss

Reals = NDArray[Any]


@attrs.frozen
class InNumPy(Loss):
    """The logistic loss in NumPy."""

    def value(self, score: Reals, y: Reals) -> Reals:
        """ln(1 + e^s) - y s."""
        return np.asarray(np.maximum(score, 0) + np.log1p(np.exp(-np.abs(score))) - y * score)

    def gradient(self, score: Reals, y: Reals) -> Reals:
        """sigma(s) - y."""
        return np.asarray(0.5 * (1 + np.tanh(score / 2)) - y)

    def curvature(self, score: Reals, y: Reals) -> float:
        """The largest value."""
        return 0.25

    def offset(self, y: Reals, weight: Reals | None) -> float:
        """Return 0, which is what the built-in loss is given here."""
        return 0.0


@attrs.frozen
class InNumba(InNumPy):
    """The logistic loss compiled by numba."""

    @property
    def native(self) -> NativeLoss:
        """All functions, for both precisions."""
        return NativeLoss.of_functions(beta=0.25, **_compiled())


@functools.cache
def _compiled() -> dict[str, Any]:
    numba: Any = importlib.import_module("numba")
    return _functions(numba, "f32", np.float32, np.int32, 23) | _functions(numba, "f64", np.float64, np.int64, 52)


def _functions(numba: Any, suffix: str, real: Any, whole: Any, mantissa: int) -> dict[str, Any]:
    """Compile for one precision; e^x by a polynomial, so that loops become vector code."""
    types = numba.types
    pointer = types.CPointer(types.float32 if suffix == "f32" else types.float64)
    options: dict[str, Any] = {"nopython": True, "error_model": "numpy", "fastmath": {"contract", "arcp", "nsz"}}
    three = numba.cfunc(types.void(pointer, pointer, pointer, types.int64, types.voidptr), **options)
    four = numba.cfunc(types.void(pointer, pointer, pointer, pointer, types.int64, types.voidptr), **options)
    single = suffix == "f32"
    low, high = real(-87 if single else -708), real(88 if single else 709)
    shift = real(12582912.0 if single else 6755399441055744.0)
    head = real(0.693359375 if single else 6.93147180369123816490e-01)
    tail = real(-2.12194440e-4 if single else 1.90821492927058770002e-10)
    terms = 7 if single else 14
    powers = [real(1.0)]
    for n in range(1, terms):
        powers.append(real(float(powers[-1]) / n))
    series = tuple(reversed(powers))
    up, log2e = whole(mantissa), real(1.44269504088896340736)

    @numba.njit(error_model="numpy", fastmath={"contract"}, inline="always")  # type: ignore[untyped-decorator]
    def exp(x: Any) -> Any:
        x = min(max(x, low), high)
        shifted = x * log2e + shift
        k = shifted - shift
        r = x - k * head - k * tail
        p = series[0]
        for n in range(1, terms):
            p = p * r + series[n]
        return whole(real(p).view(whole) + (real(shifted).view(whole) << up)).view(real)

    def value(score: Any, y: Any, out: Any, n: int, params: Any) -> None:
        s, t, o = numba.carray(score, n), numba.carray(y, n), numba.carray(out, n)
        for k in range(n):
            o[k] = max(s[k], real(0)) + np.log1p(exp(-abs(s[k]))) - t[k] * s[k]

    def gradient(score: Any, y: Any, out: Any, n: int, params: Any) -> None:
        s, t, o = numba.carray(score, n), numba.carray(y, n), numba.carray(out, n)
        for k in range(n):
            o[k] = real(1) / (real(1) + exp(-s[k])) - t[k]

    def curvature(score: Any, y: Any, g: Any, h: Any, n: int, params: Any) -> None:
        s, t = numba.carray(score, n), numba.carray(y, n)
        slope, curve = numba.carray(g, n), numba.carray(h, n)
        for k in range(n):
            p = real(1) / (real(1) + exp(-s[k]))
            near = abs(s[k]) < real(0.01)
            safe = real(1) if near else s[k]
            slope[k] = p - t[k]
            curve[k] = real(0.25) - s[k] * s[k] / real(48) if near else (p - real(0.5)) / safe

    return {
        f"value_{suffix}": three(value),
        f"gradient_{suffix}": three(gradient),
        f"curvature_{suffix}": four(curvature),
    }


__all__ = ["InNumPy", "InNumba"]
