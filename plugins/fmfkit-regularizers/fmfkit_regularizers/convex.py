"""Convex penalties."""

from __future__ import annotations

import struct

import attrs
import numpy as np
from attrs import validators
from fmfkit_regularizers._native import ffi, lib

from fmfkit import Regularizer
from fmfkit.native import NativeRegularizer
from fmfkit.typing import Reals


@attrs.frozen(kw_only=True)
class Box(Regularizer):
    """strength · l2/2 w² for w between ``low`` and ``high``; others are not allowed."""

    low: float = attrs.field(default=-1.0, converter=float)
    high: float = attrs.field(default=1.0, converter=float)
    l2: float = attrs.field(default=0.1, converter=float, validator=validators.ge(0))

    def __attrs_post_init__(self) -> None:
        """Refuse bounds with nothing between them."""
        if not self.low < self.high:
            raise ValueError(f"low, high: expected low < high, got {self.low:g} and {self.high:g}")

    def penalty(self, w: Reals, strength: float | Reals = 1.0) -> Reals:
        """Infinite beyond the bounds."""
        outside = (w < self.low) | (w > self.high)
        return np.where(outside, w.dtype.type(np.inf), strength * (self.l2 / 2 * w * w))

    def T(self, x: Reals, y: Reals, w: Reals, strength: float | Reals = 1.0) -> Reals:
        """The minimum of a parabola, held within the bounds."""
        return _within(x + strength * self.l2 * w, y + strength * self.l2, w, self.low, self.high)

    @property
    def native(self) -> NativeRegularizer:
        """csrc/regularizers.c."""
        return _bounded(self.low, self.high, 0.0, self.l2)


@attrs.frozen(kw_only=True)
class NonNegative(Regularizer):
    """strength · (l1 w + l2/2 w²) for w >= 0; parameters below zero are not allowed."""

    l1: float = attrs.field(default=0.0, converter=float, validator=validators.ge(0))
    l2: float = attrs.field(default=0.1, converter=float, validator=validators.ge(0))

    def penalty(self, w: Reals, strength: float | Reals = 1.0) -> Reals:
        """Infinite below zero."""
        return np.where(w < 0, w.dtype.type(np.inf), strength * (self.l1 * w + self.l2 / 2 * w * w))

    def T(self, x: Reals, y: Reals, w: Reals, strength: float | Reals = 1.0) -> Reals:
        """The minimum of a parabola, held at zero."""
        return _within(x + strength * (self.l1 + self.l2 * w), y + strength * self.l2, w, 0.0, np.inf)

    @property
    def native(self) -> NativeRegularizer:
        """csrc/regularizers.c."""
        return _bounded(0.0, np.inf, self.l1, self.l2)


def _within(slope: Reals, curvature: Reals, w: Reals, low: float, high: float) -> Reals:
    """Return the change of w to the minimum of a parabola, held within bounds."""
    down, up = w.dtype.type(low) - w, w.dtype.type(high) - w
    end = np.where(slope > 0, down, np.where(slope < 0, up, 0))  # without curvature: as far as the slope points
    free = -slope / np.where(curvature > 0, curvature, 1)
    d = np.clip(np.where(curvature > 0, free, np.where(np.isfinite(end), end, 0)), down, up)
    d = np.where(w + d < low, np.nextafter(d, np.inf, dtype=w.dtype), d)  # w + d is rounded
    return np.asarray(np.where(w + d > high, np.nextafter(d, -np.inf, dtype=w.dtype), d), w.dtype)


def _bounded(low: float, high: float, l1: float, l2: float) -> NativeRegularizer:
    address = int(ffi.cast("uintptr_t", lib.bounded()))
    return NativeRegularizer(address, params=struct.pack("4d", low, high, l1, l2), owner=lib)


__all__ = ["Box", "NonNegative"]
