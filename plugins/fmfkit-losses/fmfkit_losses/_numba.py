"""Native functions that numba compiles."""

from __future__ import annotations

import functools
import importlib
import importlib.util
from math import sqrt
from typing import Any


@functools.cache
def pseudo_huber() -> dict[str, Any] | None:
    """Return the functions of fmfkit.h for the pseudo-Huber loss, or None without numba."""
    if importlib.util.find_spec("numba") is None:
        return None
    types = importlib.import_module("numba").types
    return _functions("f32", types.float32) | _functions("f64", types.float64)


def _functions(suffix: str, real: Any) -> dict[str, Any]:
    """Compile for one precision."""
    numba: Any = importlib.import_module("numba")
    carray, types = numba.carray, numba.types
    # numpy's error model: a division that checks for zero would keep the loops from becoming vector code
    options: dict[str, Any] = {"nopython": True, "error_model": "numpy", "fastmath": {"contract", "arcp", "nsz"}}
    array, params_type = types.CPointer(real), types.CPointer(types.float64)
    three = numba.cfunc(types.void(array, array, array, types.int64, params_type), **options)
    four = numba.cfunc(types.void(array, array, array, array, types.int64, params_type), **options)

    def value(score: Any, y: Any, out: Any, n: int, params: Any) -> None:
        delta = real(params[0])
        s, t, o = carray(score, n), carray(y, n), carray(out, n)
        for k in range(n):
            r = (s[k] - t[k]) / delta
            o[k] = delta * delta * r * (r / (real(1) + sqrt(real(1) + r * r)))

    def gradient(score: Any, y: Any, out: Any, n: int, params: Any) -> None:
        delta = real(params[0])
        s, t, o = carray(score, n), carray(y, n), carray(out, n)
        for k in range(n):
            r = (s[k] - t[k]) / delta
            o[k] = delta * (r / sqrt(real(1) + r * r))

    def curvature(score: Any, y: Any, g: Any, h: Any, n: int, params: Any) -> None:
        delta = real(params[0])
        s, t, slope, curve = carray(score, n), carray(y, n), carray(g, n), carray(h, n)
        for k in range(n):
            r = (s[k] - t[k]) / delta
            curve[k] = real(1) / sqrt(real(1) + r * r)
            slope[k] = delta * (r / sqrt(real(1) + r * r))

    return {
        f"value_{suffix}": three(value),
        f"gradient_{suffix}": three(gradient),
        f"curvature_{suffix}": four(curvature),
    }
