"""What a loss costs by the way it is written: built in, C, numba, NumPy; the logistic loss in all of them."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import statistics
from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
from fmfkit_bench.shapes import Shape
from numpy.typing import NDArray

from fmfkit import Loss, Problem, fit, regularizers
from fmfkit.native import NativeLoss

Reals = NDArray[Any]


@attrs.frozen
class Cost:
    """Seconds of a round, and how many times those of the built-in loss."""

    way: str
    threads: int
    seconds: float
    ratio: float


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
        """The largest there is."""
        return 0.25

    def offset(self, y: Reals, weight: Reals | None) -> float:
        """Return 0, as the built-in loss's is put to here."""
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

    def bend(score: Any, y: Any, g: Any, h: Any, n: int, params: Any) -> None:
        s, t = numba.carray(score, n), numba.carray(y, n)
        slope, curve = numba.carray(g, n), numba.carray(h, n)
        for k in range(n):
            p = real(1) / (real(1) + exp(-s[k]))
            near = abs(s[k]) < real(0.01)
            safe = real(1) if near else s[k]
            slope[k] = p - t[k]
            curve[k] = real(0.25) - s[k] * s[k] / real(48) if near else (p - real(0.5)) / safe

    return {f"value_{suffix}": three(value), f"gradient_{suffix}": three(gradient), f"bend_{suffix}": four(bend)}


def ways(say: Callable[[str], None]) -> dict[str, Loss | str]:
    """Return the losses that can be had here."""
    found: dict[str, Loss | str] = {"built in": "logistic"}
    if importlib.util.find_spec("fmfkit_losses") is None:
        say("C: fmfkit-losses is not installed: left out")
    else:
        found["C plugin"] = importlib.import_module("fmfkit_losses.classes").WeightedLogistic(positive=1.0)
    if importlib.util.find_spec("numba") is None:
        say("numba is not installed (python -m pip install numba): left out")
    else:
        found["numba"] = InNumba()
    return found | {"NumPy": InNumPy()}


def measure(
    shape: Shape, rank: int, threads: tuple[int, ...], rounds: int, repeats: int, say: Callable[[str], None]
) -> list[Cost]:
    """Train by turns with each, and compare the medians of the rounds' seconds."""
    problems = {way: _problem(shape, rank, loss) for way, loss in ways(say).items()}
    seconds: dict[tuple[str, int], list[float]] = {}
    for _ in range(repeats):
        for team in threads:
            for way, problem in problems.items():
                history = fit(problem, rounds=rounds, threads=team).history[1:]
                seconds.setdefault((way, team), []).append(statistics.median(record.seconds for record in history))
                say(f"{way} on {team} threads: {seconds[way, team][-1]:.3f} s a round, {history[-1].objective:.6g}")
    medians = {key: statistics.median(times) for key, times in seconds.items()}
    return [Cost(way, team, time, time / medians["built in", team]) for (way, team), time in medians.items()]


def _problem(shape: Shape, rank: int, loss: Loss | str) -> Problem:
    """Return the shape's training pairs with scores of 0 and 1: below and above the mean."""
    y = (shape.train.score > shape.train.score.mean()).astype(np.float32)
    return Problem.from_coo(
        shape.train.query, shape.train.target, y, shape=(shape.queries, shape.targets), rank=rank, X=shape.X, Z=shape.Z,
        loss=loss, offset=0.0, regularizer=regularizers.ElasticNet(l2=0.05),
    )  # fmt: skip


def table(costs: list[Cost]) -> str:
    """Return the costs for people."""
    lines = [f"{'loss':12}{'threads':>8}{'s/round':>10}{'ratio':>8}"]
    return "\n".join(lines + [f"{c.way:12}{c.threads:>8}{c.seconds:>10.4f}{c.ratio:>8.2f}" for c in costs])


__all__ = ["Cost", "measure", "table"]
