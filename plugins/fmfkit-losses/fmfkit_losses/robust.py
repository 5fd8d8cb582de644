"""Losses that outliers do not rule."""

from __future__ import annotations

import struct
from typing import ClassVar

import attrs
import numpy as np
from attrs import validators
from fmfkit_losses import _numba
from fmfkit_losses._native import ffi, lib

from fmfkit import Loss
from fmfkit.native import NativeLoss
from fmfkit.typing import Reals


@attrs.frozen
class Huber(Loss):
    """r²/2 for |r| <= delta, else delta |r| - delta²/2, where r = s - y."""

    calibrated: ClassVar[bool] = True

    delta: float = attrs.field(default=1.0, converter=float, validator=validators.gt(0))

    def value(self, score: Reals, y: Reals) -> Reals:
        """With m = min(|r|, delta): m (|r| - m/2)."""
        size = np.abs(score - y)
        m = np.minimum(size, size.dtype.type(self.delta))
        return np.asarray(m * (size - m / 2))

    def gradient(self, score: Reals, y: Reals) -> Reals:
        """r, held to [-delta, delta]."""
        return np.asarray(np.clip(score - y, -self.delta, self.delta))

    def curvature(self, score: Reals, y: Reals) -> Reals:
        """min(1, delta / |r|): a parabola that touches at r and -r."""
        return np.asarray(self.delta / np.maximum(np.abs(score - y), self.delta))

    @property
    def native(self) -> NativeLoss:
        """csrc/losses.c."""
        address = int(ffi.cast("uintptr_t", lib.huber()))
        return NativeLoss(address, beta=1.0, params=struct.pack("d", self.delta), owner=lib)


@attrs.frozen
class PseudoHuber(Loss):
    """delta² (sqrt(1 + (r/delta)²) - 1), where r = s - y."""

    calibrated: ClassVar[bool] = True

    delta: float = attrs.field(default=1.0, converter=float, validator=validators.gt(0))

    def value(self, score: Reals, y: Reals) -> Reals:
        """Without cancellation near r = 0."""
        r = (score - y) / self.delta
        return np.asarray(self.delta**2 * r * (r / (1 + np.sqrt(1 + r * r))))

    def gradient(self, score: Reals, y: Reals) -> Reals:
        """r / sqrt(1 + (r/delta)²)."""
        r = (score - y) / self.delta
        return np.asarray(self.delta * (r / np.sqrt(1 + r * r)))

    def curvature(self, score: Reals, y: Reals) -> Reals:
        """1 / sqrt(1 + (r/delta)²): a parabola that touches at r and -r."""
        r = (score - y) / self.delta
        return np.asarray(1 / np.sqrt(1 + r * r))

    @property
    def native(self) -> NativeLoss | None:
        """Compiled by numba when first asked for, where it is installed."""
        functions = _numba.pseudo_huber()
        if functions is None:
            return None
        return NativeLoss.of_functions(beta=1.0, params=struct.pack("d", self.delta), **functions)


@attrs.frozen
class SmoothQuantile(Loss):
    """q r + width ln(1 + e^(-r/width)), where r = y - s: the pinball loss, rounded within ``width``."""

    q: float = attrs.field(default=0.5, converter=float, validator=[validators.gt(0), validators.lt(1)])
    width: float = attrs.field(default=0.1, converter=float, validator=validators.gt(0))

    def value(self, score: Reals, y: Reals) -> Reals:
        """Its least value is above zero: the rounding lifts it."""
        r = y - score
        pinball = np.where(r < 0, (self.q - 1) * r, self.q * r)
        return np.asarray(pinball + self.width * np.log1p(np.exp(-np.abs(r) / self.width)))

    def gradient(self, score: Reals, y: Reals) -> Reals:
        """Sigmoid((s - y) / width) - q."""
        z = (score - y) / self.width
        return np.asarray(0.5 * (1 + np.tanh(z / 2)) - self.q)

    def curvature(self, score: Reals, y: Reals) -> float:
        """1 / (4 width), the largest there is."""
        return 0.25 / self.width


__all__ = ["Huber", "PseudoHuber", "SmoothQuantile"]
