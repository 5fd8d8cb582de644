"""Penalties that are not convex: T still finds the best change of each parameter, so that the objective never rises."""

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
class MCP(Regularizer):
    """The minimax concave penalty: l1 |w| - w²/(2 gamma) up to |w| = gamma l1, and the same for all larger ones.

    Small parameters become zero, large ones are not shrunk at all. It is not convex: a fit may end in another minimum
    from another start.
    """

    l1: float = attrs.field(default=0.1, converter=float, validator=validators.gt(0))
    gamma: float = attrs.field(default=3.0, converter=float, validator=validators.gt(0))

    def penalty(self, w: Reals, strength: float | Reals = 1.0) -> Reals:
        """Flat from gamma l1 on."""
        size = np.minimum(np.abs(w), w.dtype.type(self.gamma * self.l1))
        return np.asarray(strength * (self.l1 * size - size * size / (2 * self.gamma)))

    def T(self, x: Reals, y: Reals, w: Reals, strength: float | Reals = 1.0) -> Reals:
        """Zero, the place where the slope vanishes, or where the parameter would be without the penalty."""
        lone = w - x / np.where(y > 0, y, 1)
        far, end, bent = np.abs(lone), self.gamma * self.l1, y - strength / self.gamma
        within = np.maximum(y * far - strength * self.l1, 0) / np.where(bent > 0, bent, 1)
        worth = (far >= end) & (y * far * far > strength * (self.gamma * self.l1 * self.l1))
        size = np.where(bent > 0, np.where(far < end, within, far), np.where(worth, far, 0))
        return np.asarray(np.where((y > 0) | (strength > 0), np.copysign(size, lone) - w, 0), w.dtype)

    @property
    def native(self) -> NativeRegularizer:
        """csrc/regularizers.c."""
        address = int(ffi.cast("uintptr_t", lib.mcp()))
        return NativeRegularizer(address, params=struct.pack("2d", self.l1, self.gamma), owner=lib)


__all__ = ["MCP"]
