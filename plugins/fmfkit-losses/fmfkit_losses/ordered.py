"""A loss for ordered classes, such as one to five stars."""

from __future__ import annotations

import itertools
import struct
from collections.abc import Iterable
from typing import Any, ClassVar

import attrs
import numpy as np
from attrs import validators
from fmfkit_losses._native import ffi, lib
from numpy.typing import NDArray
from scipy.special import expit

from fmfkit import Loss
from fmfkit.native import NativeLoss
from fmfkit.typing import Reals

MOST = 64
"""Classes that there may be; csrc/losses.c has room for as many."""
FAR = 1e30
"""Where the first class begins and the last one ends."""
NEWTON_STEPS = 30
LEAST_GAP = 1e-3
"""Between cut points at the start: classes that hardly occur."""


def _floats(given: Iterable[float]) -> tuple[float, ...]:
    return tuple(float(number) for number in given)


def _rising(instance: Ordinal, attribute: attrs.Attribute[tuple[float, ...]], value: tuple[float, ...]) -> None:
    if not all(a < b for a, b in itertools.pairwise(value)) or not np.isfinite(value).all():
        raise ValueError(f"{attribute.name}: expected finite numbers, each above the one before, got {value}")


@attrs.frozen
class Ordinal(Loss):
    """Ordered classes by cumulative logits: P(y <= class k) = σ(cut_k - s).

    Which classes there are is found from y, and the cut points between them are learnt between rounds, so that stars
    need not be equally far apart. The prediction is the mean of the classes, by their probabilities.
    """

    classes: tuple[float, ...] = attrs.field(
        default=(1, 2, 3, 4, 5), converter=_floats, validator=[_rising, validators.min_len(2), validators.max_len(MOST)]
    )
    """The values of y, ascending."""
    cuts: tuple[float, ...] = attrs.field(default=(-2, -0.7, 0.7, 2), converter=_floats, validator=_rising)
    """Where one class ends and the next begins: one fewer than there are classes."""
    beta = 0.5
    likelihood: ClassVar[bool] = True
    learns: ClassVar[bool] = True

    def __attrs_post_init__(self) -> None:
        """Refuse cut points that do not belong to the classes."""
        if len(self.cuts) != len(self.classes) - 1:
            raise ValueError(f"cuts: expected {len(self.classes) - 1} for {len(self.classes)} classes, got {self.cuts}")

    def _ends(self) -> NDArray[np.float64]:
        return np.array([-FAR, *self.cuts, FAR])

    def _around(self, score: Reals, y: Reals) -> tuple[Reals, Reals, NDArray[np.int64]]:
        """Return how far the score is from either end of its class, and the class."""
        place = np.searchsorted(np.array(self.classes), y)
        ends = self._ends().astype(score.dtype)
        return ends[place] - score, ends[place + 1] - score, place

    def value(self, score: Reals, y: Reals) -> Reals:
        """-ln(σ(b) - σ(a)) = ln(1 + e^-b) + ln(1 + e^a) - ln(1 - e^(a - b)), a and b being the ends less the score."""
        a, b, place = self._around(score, y)
        zero = score.dtype.type(0)
        return np.logaddexp(zero, -b) + np.logaddexp(zero, a) + self._constants().astype(score.dtype)[place]

    def _constants(self) -> NDArray[np.float64]:
        """Return -ln(1 - e^-width) of each class."""
        return -np.log1p(-np.exp(-np.diff(self._ends())))

    def gradient(self, score: Reals, y: Reals) -> Reals:
        """1 - σ(a) - σ(b)."""
        a, b, _ = self._around(score, y)
        return np.asarray(1 - expit(a) - expit(b), score.dtype)

    def curvature(self, score: Reals, y: Reals) -> Reals:
        """Two logistic losses', each majorised as tightly as can be (Jaakkola and Jordan)."""
        a, b, _ = self._around(score, y)
        return np.asarray(_bound(a) + _bound(b), score.dtype)

    def link(self, score: Reals) -> Reals:
        """The mean of the classes by their probabilities."""
        below = expit(np.array(self.cuts) - score[..., None].astype(np.float64))
        steps = np.diff(self.classes)
        return np.asarray(self.classes[-1] - below @ steps, score.dtype)

    def check_y(self, y: Reals) -> None:
        """Refuse y that is none of the classes."""
        known = np.array(self.classes, y.dtype)
        wrong = y[~np.isin(y, known)]
        if wrong.size:
            raise ValueError(f"y: the ordinal loss has the classes {self.classes}, got {wrong[0]:g}")

    def learnt(self, score: Reals | None, y: Reals, weight: Reals | None) -> Ordinal:
        """Return the loss with the classes of y, if it is new to them, and the cut points that suit scores best."""
        if score is None:
            return self._for(y, weight)
        weights = np.ones(len(y)) if weight is None else weight.astype(np.float64)
        place, s = np.searchsorted(np.array(self.classes), y), score.astype(np.float64)
        cuts = np.array(self.cuts)
        for _ in range(NEWTON_STEPS):
            step = _newton(cuts, place, s, weights)
            size = 1.0
            while size > 1e-6 and not _lower(cuts, cuts + size * step, place, s, weights):
                size /= 2
            if size <= 1e-6:
                break
            cuts = cuts + size * step
            if np.abs(size * step).max() < 1e-10:
                break
        return attrs.evolve(self, cuts=cuts)

    def _for(self, y: Reals, weight: Reals | None) -> Ordinal:
        """Return the loss for classes that it does not know, with cut points as if all scores were 0."""
        found = np.unique(y)
        if np.isin(found, np.array(self.classes, y.dtype)).all() or not 2 <= len(found) <= MOST:
            return self
        weights = np.ones(len(y)) if weight is None else weight.astype(np.float64)
        counts = np.bincount(np.searchsorted(found, y), weights=weights, minlength=len(found)) + 0.5
        share = np.cumsum(counts)[:-1] / counts.sum()
        cuts = np.log(share / (1 - share))
        return Ordinal(found, np.maximum.accumulate(cuts + LEAST_GAP * np.arange(len(cuts))))

    @property
    def native(self) -> NativeLoss:
        """csrc/losses.c."""
        address = int(ffi.cast("uintptr_t", lib.ordinal()))
        ends, empty = self._ends(), [0.0] * (MOST - len(self.classes))
        arrays = (self.classes, ends[:-1], ends[1:], self._constants())
        numbers = [number for array in arrays for number in (*array, *empty)]
        params = struct.pack(f"q{4 * MOST}d", len(self.classes), *numbers)
        return NativeLoss(address, beta=self.beta, params=params, owner=lib)


def _bound(s: Reals) -> Reals:
    """(σ(s) - 1/2) / s, never above 1/4."""
    near = np.abs(s) < 0.01
    safe = np.where(near, s.dtype.type(1), s)
    close = 0.25 - np.square(np.where(near, s, 0)) / 48
    return np.asarray(np.where(near, close, np.tanh(safe / 2) / (2 * safe)), s.dtype)


def _total(cuts: NDArray[np.float64], place: NDArray[np.int64], s: Reals, weight: Reals) -> float:
    ends = np.array([-FAR, *cuts, FAR])
    a, b = ends[place] - s, ends[place + 1] - s
    constant = -np.log1p(-np.exp(-np.diff(ends)))
    return float(np.sum(weight * (np.logaddexp(0, -b) + np.logaddexp(0, a) + constant[place])))


def _lower(before: NDArray[np.float64], after: NDArray[np.float64], *given: Any) -> bool:
    """Return whether other cut points are in order, and suit no worse."""
    return bool((np.diff(after) > 0).all()) and _total(after, *given) <= _total(before, *given)


def _newton(cuts: NDArray[np.float64], place: NDArray[np.int64], s: Reals, weight: Reals) -> NDArray[np.float64]:
    """Return Newton's step of all cut points: the loss is convex in them together."""
    count = len(cuts)
    ends = np.array([-FAR, *cuts, FAR])
    below, above = expit(ends[place] - s), expit(ends[place + 1] - s)
    gap = np.exp(-np.diff(ends))[place]
    pull = gap / -np.expm1(-np.diff(ends))[place]  # e^-width / (1 - e^-width)
    slope, curve = np.zeros(count + 2), np.zeros(count + 2)
    # d/db: σ(b) - 1 - pull;  d/da: σ(a) + pull
    np.add.at(slope, place + 1, weight * (above - 1 - pull))
    np.add.at(slope, place, weight * (below + pull))
    both = weight * pull * (1 + pull)
    np.add.at(curve, place + 1, weight * above * (1 - above) + both)
    np.add.at(curve, place, weight * below * (1 - below) + both)
    across = np.bincount(place, weights=both, minlength=count + 1)
    hessian = np.diag(curve[1:-1]) - np.diag(across[1:-1], 1) - np.diag(across[1:-1], -1)
    return np.asarray(-np.linalg.solve(hessian + 1e-9 * np.eye(count) * (1 + np.trace(hessian)), slope[1:-1]))


__all__ = ["Ordinal"]
