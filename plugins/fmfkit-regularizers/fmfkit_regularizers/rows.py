"""Penalties of a feature's whole row of parameters."""

from __future__ import annotations

import attrs
import numpy as np
from attrs import validators

from fmfkit import RowRegularizer
from fmfkit.typing import Reals


def _lengths(rows: Reals) -> Reals:
    """Return |row| of each row, safe for rows of very large and very small numbers."""
    largest = np.max(np.abs(rows), axis=1, initial=0)
    scale = np.where(largest > 0, largest, 1)[:, None].astype(rows.dtype)
    return np.asarray(scale[:, 0] * np.sqrt(np.sum(np.square(rows / scale), axis=1)), rows.dtype)


def _per_row(strength: float | Reals, w: Reals) -> Reals:
    return np.broadcast_to(np.asarray(strength, w.dtype), (len(w),))


@attrs.frozen(kw_only=True)
class GroupLasso(RowRegularizer):
    """strength · (l1 |w| + l2/2 |w|²), where |w| is the length of a feature's row: features that do not help vanish."""

    l1: float = attrs.field(default=0.1, converter=float, validator=validators.ge(0))
    l2: float = attrs.field(default=0.0, converter=float, validator=validators.ge(0))

    def penalty(self, w: Reals, strength: float | Reals = 1.0) -> Reals:
        """By the length of each row."""
        length = _lengths(w)
        return np.asarray(_per_row(strength, w) * (self.l1 * length + self.l2 / 2 * length * length), w.dtype)

    def T(self, x: Reals, y: Reals, w: Reals, strength: float | Reals = 1.0) -> Reals:
        """Where the row would go without l1, made shorter; to zero if it is not long enough."""
        threshold, curvature = self.l1 * _per_row(strength, w), y + self.l2 * _per_row(strength, w)
        pull = y[:, None] * w - x
        length = _lengths(pull)
        kept = np.maximum(length - threshold, 0) / np.where(length > 0, length, 1)
        place = (kept / np.where(curvature > 0, curvature, 1))[:, None] * pull
        d = np.where((curvature > 0)[:, None], place - w, np.where((threshold > 0)[:, None], -w, 0))
        return np.asarray(d, w.dtype)


@attrs.frozen(kw_only=True)
class NormBound(RowRegularizer):
    """strength · l2/2 |w|² for rows no longer than ``radius``; longer ones are not allowed."""

    radius: float = attrs.field(default=1.0, converter=float, validator=validators.gt(0))
    l2: float = attrs.field(default=0.0, converter=float, validator=validators.ge(0))

    def penalty(self, w: Reals, strength: float | Reals = 1.0) -> Reals:
        """Infinite beyond the radius."""
        length = _lengths(w)
        allowed = _per_row(strength, w) * (self.l2 / 2 * length * length)
        return np.where(length > w.dtype.type(self.radius), np.inf, allowed).astype(w.dtype)

    def T(self, x: Reals, y: Reals, w: Reals, strength: float | Reals = 1.0) -> Reals:
        """Where the row would go without the bound, held within it."""
        curvature, pull = y + self.l2 * _per_row(strength, w), y[:, None] * w - x
        flat = curvature <= 0  # then as far as the slope points
        free = np.where((flat & ~x.any(axis=1))[:, None], w, pull / np.where(flat, 1, curvature)[:, None])
        length = _lengths(free)
        most = np.maximum(self.radius - 8 * np.finfo(w.dtype).eps * (_lengths(w) + self.radius), 0)  # w + d is rounded
        held = free * (most / np.where(length > 0, length, 1))[:, None]
        inside = (_lengths(w + (free - w)) <= w.dtype.type(self.radius)) & ~(flat & x.any(axis=1))
        return np.asarray(np.where(inside[:, None], free, held) - w, w.dtype)


__all__ = ["GroupLasso", "NormBound"]
