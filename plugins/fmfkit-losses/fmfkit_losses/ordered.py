"""A loss for ordered classes, such as one to five stars."""

from __future__ import annotations

import itertools
import struct
from abc import abstractmethod
from collections.abc import Iterable
from typing import ClassVar

import attrs
import numpy as np
from attrs import validators
from fmfkit_losses._native import ffi, lib
from numpy.typing import NDArray
from scipy.special import erfcx, expit, log_ndtr, ndtr, ndtri_exp

from fmfkit import Loss
from fmfkit.losses import Logistic
from fmfkit.native import NativeLoss
from fmfkit.typing import Reals

Array = NDArray[np.float64]
MOST = 64
"""Classes that there may be; csrc/losses.c has room for as many."""
FAR = 1e30
"""Where the first class begins and the last one ends."""
NEWTON_STEPS = 30
SMALLEST_STEP = 1e-6
HALF_LOG_2PI = 0.5 * np.log(2 * np.pi)
LEAST_GAP = 1e-3
"""Between cut points at the start: classes that hardly occur."""


def _floats(given: Iterable[float]) -> tuple[float, ...]:
    return tuple(float(number) for number in given)


def _rising(instance: Ordered, attribute: attrs.Attribute[tuple[float, ...]], value: tuple[float, ...]) -> None:
    if not all(a < b for a, b in itertools.pairwise(value)) or not np.isfinite(value).all():
        raise ValueError(f"{attribute.name}: expected finite numbers, each above the one before, got {value}")


@attrs.frozen(eq=False)
class Pieces:
    """F between the ends a and b of a class, f being its density."""

    log: Array
    """ln(F(b) - F(a))"""
    low: Array
    """f(a) / (F(b) - F(a))"""
    high: Array
    """f(b) / (F(b) - F(a))"""
    low_slope: Array
    """f'(a) / (F(b) - F(a))"""
    high_slope: Array
    """f'(b) / (F(b) - F(a))"""


@attrs.frozen
class Ordered(Loss):
    """Ordered classes: P(y <= class k) = F(cut_k - s) for some distribution function F.

    Which classes there are is found from y, and the cut points between them are learnt between rounds, so that stars
    need not be equally far apart. The prediction is the mean of the classes, by their probabilities.
    """

    classes: tuple[float, ...] = attrs.field(
        default=(1, 2, 3, 4, 5), converter=_floats, validator=[_rising, validators.min_len(2), validators.max_len(MOST)]
    )
    """The values of y, ascending."""
    cuts: tuple[float, ...] = attrs.field(default=(-2, -0.7, 0.7, 2), converter=_floats, validator=_rising)
    """Where one class ends and the next begins: one fewer than there are classes."""
    likelihood: ClassVar[bool] = True
    learns: ClassVar[bool] = True

    def __attrs_post_init__(self) -> None:
        """Refuse cut points that do not belong to the classes."""
        if len(self.cuts) != len(self.classes) - 1:
            raise ValueError(f"cuts: expected {len(self.classes) - 1} for {len(self.classes)} classes, got {self.cuts}")

    @abstractmethod
    def _below(self, x: Array) -> Array:
        """Return F."""

    @abstractmethod
    def _pieces(self, a: Array, b: Array) -> Pieces:
        """Return what is known of F between a and b."""

    @property
    def _ends(self) -> Array:
        return np.array([-FAR, *self.cuts, FAR])

    def _place(self, y: Reals) -> NDArray[np.int64]:
        return np.searchsorted(np.array(self.classes, y.dtype), y)

    def _around(self, score: Reals, y: Reals) -> tuple[Array, Array]:
        """Return how far the score is from either end of its class."""
        place, s = self._place(y), score.astype(np.float64)
        return self._ends[place] - s, self._ends[place + 1] - s

    def value(self, score: Reals, y: Reals) -> Reals:
        """-ln(F(b) - F(a)), a and b being the ends of the class less the score."""
        return np.asarray(-self._pieces(*self._around(score, y)).log, score.dtype)

    def gradient(self, score: Reals, y: Reals) -> Reals:
        """(f(b) - f(a)) / (F(b) - F(a))."""
        found = self._pieces(*self._around(score, y))
        return np.asarray(found.high - found.low, score.dtype)

    def link(self, score: Reals) -> Reals:
        """The mean of the classes by their probabilities."""
        below = self._below(np.array(self.cuts) - score[..., None].astype(np.float64))
        return np.asarray(self.classes[-1] - below @ np.diff(self.classes), score.dtype)

    def check_y(self, y: Reals) -> None:
        """Refuse y that is none of the classes."""
        wrong = y[~np.isin(y, np.array(self.classes, y.dtype))]
        if wrong.size:
            raise ValueError(f"y: the loss has the classes {self.classes}, got {wrong[0]:g}")

    def learnt(self, score: Reals | None, y: Reals, weight: Reals | None) -> Ordered:
        """Return the loss with the classes of y, if it is new to them, and the cut points that suit scores best."""
        if score is None:
            return self._for(y, weight)
        now = self
        weights = np.ones(len(y)) if weight is None else weight.astype(np.float64)
        for _ in range(NEWTON_STEPS):
            step, size = now._newton(score, y, weights), 1.0
            other = now._moved(size * step)
            while size > SMALLEST_STEP and not now._suits_better(other, score, y, weights):
                size /= 2
                other = now._moved(size * step)
            if size <= SMALLEST_STEP or other is None:
                break
            now = other
            if np.abs(size * step).max() < 1e-10:
                break
        return now

    def _moved(self, step: Array) -> Ordered | None:
        """Return the loss with other cut points, if these are in order."""
        cuts = np.array(self.cuts) + step
        return attrs.evolve(self, cuts=cuts) if (np.diff(cuts) > 0).all() else None

    def _suits_better(self, other: Ordered | None, score: Reals, y: Reals, weight: Array) -> bool:
        if other is None:
            return False
        return other._log_likelihood(score, y, weight) >= self._log_likelihood(score, y, weight)

    def _log_likelihood(self, score: Reals, y: Reals, weight: Array) -> float:
        return float(np.sum(weight * self._pieces(*self._around(score, y)).log))

    def _newton(self, score: Reals, y: Reals, weight: Array) -> Array:
        """Return Newton's step of all cut points: the loss is convex in them together."""
        slope, hessian = self._slopes(score, y, weight)
        return np.asarray(-np.linalg.solve(hessian, slope))

    def _slopes(self, score: Reals, y: Reals, weight: Array) -> tuple[Array, Array]:
        """Return the loss's first and second derivatives by the cut points."""
        count, place = len(self.cuts), self._place(y)
        found = self._pieces(*self._around(score, y))
        slope, curve = np.zeros(count + 2), np.zeros(count + 2)
        np.add.at(slope, place + 1, -weight * found.high)
        np.add.at(slope, place, weight * found.low)
        np.add.at(curve, place + 1, weight * (found.high**2 - found.high_slope))
        np.add.at(curve, place, weight * (found.low**2 + found.low_slope))
        across = np.bincount(place, weights=weight * found.low * found.high, minlength=count + 1)[1:-1]
        hessian = np.diag(curve[1:-1]) - np.diag(across, 1) - np.diag(across, -1)
        return slope[1:-1], hessian + 1e-9 * (1 + np.trace(hessian)) * np.eye(count)

    def drawn(self, score: Reals, y: Reals, rng: np.random.Generator) -> Ordered:
        """Take a step of Metropolis and Hastings: cut points are proposed from a normal distribution around the best
        ones, as wide as the loss says, whatever they are now."""
        ones = np.ones(len(y))
        best = self.learnt(score, y, None)
        root = np.linalg.cholesky(best._slopes(score, y, ones)[1])
        proposed = best._moved(np.linalg.solve(root.T, rng.standard_normal(len(self.cuts))))
        chance = rng.random()
        if proposed is None:
            return self

        def excess(cuts: Ordered) -> float:
            """Return the posterior's logarithm less that of the proposal."""
            off = root.T @ (np.array(cuts.cuts) - np.array(best.cuts))
            return float(cuts._log_likelihood(score, y, ones) + 0.5 * off @ off)

        return proposed if np.log(chance) < excess(proposed) - excess(self) else self

    def _for(self, y: Reals, weight: Reals | None) -> Ordered:
        """Return the loss for classes that it does not know, with cut points as if all scores were 0."""
        found = np.unique(y)
        if np.isin(found, np.array(self.classes, y.dtype)).all() or not 2 <= len(found) <= MOST:
            return self
        weights = np.ones(len(y)) if weight is None else weight.astype(np.float64)
        counts = np.bincount(np.searchsorted(found, y), weights=weights, minlength=len(found)) + 0.5
        share = np.cumsum(counts)[:-1] / counts.sum()
        cuts = np.log(share / (1 - share))
        return attrs.evolve(self, classes=found, cuts=np.maximum.accumulate(cuts + LEAST_GAP * np.arange(len(cuts))))


@attrs.frozen
class Ordinal(Ordered):
    """Ordered classes by cumulative logits: P(y <= class k) = σ(cut_k - s)."""

    beta = 0.5

    def _below(self, x: Array) -> Array:
        return np.asarray(expit(x))

    def _pieces(self, a: Array, b: Array) -> Pieces:
        """ln(σ(b) - σ(a)) = -ln(1 + e^-b) - ln(1 + e^a) + ln(1 - e^(a - b)): two logistic losses, and a constant."""
        low, high = expit(a), expit(b)
        rest = np.expm1(a - b)  # 0 for a class of no width
        log = -np.logaddexp(0, -b) - np.logaddexp(0, a) + np.log(-rest)
        pull = np.exp(a - b) / -rest
        f_low, f_high = low + pull, 1 - high + pull  # f(a) / (F(b) - F(a)), and f(b)
        return Pieces(log, f_low, f_high, f_low * (1 - 2 * low), f_high * (1 - 2 * high))

    def curvature(self, score: Reals, y: Reals) -> Reals:
        """Two logistic losses', each majorised as tightly as can be (Jaakkola and Jordan)."""
        a, b = self._around(score, y)
        return np.asarray(sum(Logistic().curvature(s, y) for s in (a, b)), score.dtype)

    @property
    def native(self) -> NativeLoss:
        """csrc/losses.c."""
        address = int(ffi.cast("uintptr_t", lib.ordinal()))
        ends, empty = self._ends, [0.0] * (MOST - len(self.classes))
        arrays = (self.classes, ends[:-1], ends[1:], -np.log1p(-np.exp(-np.diff(ends))))
        numbers = [number for array in arrays for number in (*array, *empty)]
        params = struct.pack(f"q{4 * MOST}d", len(self.classes), *numbers)
        return NativeLoss(address, beta=self.beta, params=params, owner=lib)


@attrs.frozen
class OrderedProbit(Ordered):
    """Ordered classes by the normal distribution: P(y <= class k) = Phi(cut_k - s). The Gibbs sampler knows it."""

    beta = 1.0
    augments: ClassVar[bool] = True

    def _below(self, x: Array) -> Array:
        return np.asarray(ndtr(x))

    def _pieces(self, a: Array, b: Array) -> Pieces:
        """Computed on the side of 0 where Phi is small, by logarithms; far out by what is left of Phi without its
        exponential, which alone would lose the digits of its exponent."""
        flip = a + b > 0
        low, high = np.where(flip, -b, a), np.where(flip, -a, b)
        top = log_ndtr(high)
        log = top + np.log1p(-np.exp(np.minimum(log_ndtr(low) - top, -1e-300)))
        f_low, f_high = (np.exp(-0.5 * np.square(end) - HALF_LOG_2PI - log) for end in (a, b))
        far = high < -1
        near, away = np.where(far, high, -1), np.where(far, low, -2)
        fall = np.exp((near - away) * (near + away) / 2)  # e^(high²/2 - low²/2)
        rest = erfcx(-near / np.sqrt(2)) - fall * erfcx(-away / np.sqrt(2))
        f_near = np.sqrt(2 / np.pi) / rest
        f_low = np.where(far, np.where(flip, f_near, fall * f_near), f_low)
        f_high = np.where(far, np.where(flip, fall * f_near, f_near), f_high)
        return Pieces(log, f_low, f_high, np.where(f_low > 0, -a * f_low, 0), np.where(f_high > 0, -b * f_high, 0))

    def curvature(self, score: Reals, y: Reals) -> float:
        """1: the second derivative lies between 0 and 1."""
        return 1.0

    def augmented(self, score: Reals, y: Reals, uniform: Reals) -> Reals:
        """Draw from N(score, 1) between the ends of the class."""
        a, b = self._around(score, y)
        flip = a + b > 0
        low, high = np.where(flip, -b, a), np.where(flip, -a, b)
        bottom, top = log_ndtr(low), log_ndtr(high)
        share = np.clip(uniform, 1e-12, 1 - 1e-12)
        log = top + np.log(share + (1 - share) * np.exp(np.minimum(bottom - top, 0)))
        z = np.clip(ndtri_exp(log), low, high)
        return np.asarray(score + np.where(flip, -z, z), score.dtype)


__all__ = ["Ordered", "OrderedProbit", "Ordinal"]
