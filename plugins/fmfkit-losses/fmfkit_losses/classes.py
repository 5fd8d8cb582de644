"""Losses for two classes, y = 0 and y = 1."""

from __future__ import annotations

import struct
from typing import ClassVar

import attrs
import numpy as np
from attrs import validators
from fmfkit_losses._native import ffi, lib
from scipy.special import erfcx, expit, log_ndtr, ndtr, ndtri_exp

from fmfkit import Loss
from fmfkit.losses import Logistic
from fmfkit.native import NativeLoss
from fmfkit.typing import Reals


def _between_0_and_1(y: Reals, loss: str) -> None:
    if y.size and (y.min() < 0 or y.max() > 1):
        raise ValueError(f"y: the {loss} loss takes y between 0 and 1, got values from {y.min():g} to {y.max():g}")


@attrs.frozen
class Probit(Loss):
    """-y ln Phi(s) - (1 - y) ln Phi(-s), Phi being the normal distribution's."""

    beta = 1.0
    calibrated: ClassVar[bool] = True
    likelihood: ClassVar[bool] = True
    augments: ClassVar[bool] = True
    metrics: ClassVar[tuple[str, ...]] = ("log_loss", "auc")

    def value(self, score: Reals, y: Reals) -> Reals:
        """Computed in double precision: the logarithms are delicate."""
        s = score.astype(np.float64)
        return np.asarray(-y * log_ndtr(s) - (1 - y) * log_ndtr(-s)).astype(score.dtype)

    def gradient(self, score: Reals, y: Reals) -> Reals:
        """phi/Phi by the scaled error function, which neither overflows nor vanishes."""
        s = score.astype(np.float64)
        return np.asarray((1 - y) * _ratio(-s) - y * _ratio(s)).astype(score.dtype)

    def curvature(self, score: Reals, y: Reals) -> float:
        """1: the second derivative of -ln Phi lies between 0 and 1."""
        return 1.0

    def link(self, score: Reals) -> Reals:
        """The probability Phi(s)."""
        return np.asarray(ndtr(score.astype(np.float64))).astype(score.dtype)

    def augmented(self, score: Reals, y: Reals, uniform: Reals) -> Reals:
        """Draw from N(score, 1) on the side of 0 that y says: above for y = 1; a y between is either, by chance."""
        s = score.astype(np.float64)
        first = np.modf(uniform * 4096)
        above, rest = (first[1] + 0.5) / 4096 < y, np.clip(first[0], 1e-12, 1 - 1e-12)
        side = np.where(above, 1.0, -1.0)
        inside = side * s  # z · side > 0, of mean inside
        return np.asarray(side * (inside - ndtri_exp(np.log(rest) + log_ndtr(inside)))).astype(score.dtype)

    def check_y(self, y: Reals) -> None:
        """Refuse y outside [0, 1]."""
        _between_0_and_1(y, "probit")


def _ratio(s: Reals) -> Reals:
    """phi(s) / Phi(s)."""
    with np.errstate(over="ignore"):
        return np.asarray(np.sqrt(2 / np.pi) / erfcx(-s / np.sqrt(2)))


@attrs.frozen
class SquaredHinge(Loss):
    """max(0, 1 - m s)², m = 1 for y = 1 and -1 for y = 0."""

    beta = 2.0
    metrics: ClassVar[tuple[str, ...]] = ("auc",)

    def _short(self, score: Reals, y: Reals) -> tuple[Reals, Reals]:
        side = 2 * y - 1
        return side, np.maximum(1 - side * score, 0)

    def value(self, score: Reals, y: Reals) -> Reals:
        """The square of what is missing to the margin."""
        return np.asarray(self._short(score, y)[1] ** 2)

    def gradient(self, score: Reals, y: Reals) -> Reals:
        """-2 m max(0, 1 - m s)."""
        side, short = self._short(score, y)
        return np.asarray(-2 * side * short)

    def curvature(self, score: Reals, y: Reals) -> float:
        """2, the largest there is."""
        return 2.0

    def check_y(self, y: Reals) -> None:
        """Refuse all but 0 and 1."""
        if y.size and not ((y == 0) | (y == 1)).all():
            raise ValueError(f"y: the squared hinge takes y of 0 and 1, got {y[(y != 0) & (y != 1)][0]:g}")


@attrs.frozen
class WeightedLogistic(Loss):
    """-positive y ln sigma(s) - (1 - y) ln sigma(-s): the logistic loss, positives counting ``positive`` times."""

    metrics: ClassVar[tuple[str, ...]] = ("auc",)
    positive: float = attrs.field(default=2.0, converter=float, validator=validators.gt(0))

    def value(self, score: Reals, y: Reals) -> Reals:
        """By softplus(s) = ln(1 + e^s)."""
        plus, minus = (np.logaddexp(score * 0, turned) for turned in (score, -score))
        return np.asarray(self.positive * y * minus + (1 - y) * plus)

    def gradient(self, score: Reals, y: Reals) -> Reals:
        """(1 - y) sigma(s) - positive y sigma(-s)."""
        return np.asarray((1 - y) * expit(score) - self.positive * y * expit(-score))

    def curvature(self, score: Reals, y: Reals) -> Reals:
        """(positive y + 1 - y) (sigma(s) - 1/2) / s, never above 1/4 of the first (Jaakkola and Jordan)."""
        return np.asarray((self.positive * y + 1 - y) * Logistic().curvature(score, y))

    def link(self, score: Reals) -> Reals:
        """sigma(s); with ``positive`` other than 1 no probability, but in the same order."""
        return np.asarray(expit(score))

    def check_y(self, y: Reals) -> None:
        """Refuse y outside [0, 1]."""
        _between_0_and_1(y, "weighted logistic")

    @property
    def native(self) -> NativeLoss:
        """csrc/losses.c."""
        address = int(ffi.cast("uintptr_t", lib.weighted_logistic()))
        largest = max(self.positive, 1.0) / 4
        return NativeLoss(address, beta=largest, params=struct.pack("d", self.positive), owner=lib)


__all__ = ["Probit", "SquaredHinge", "WeightedLogistic"]
