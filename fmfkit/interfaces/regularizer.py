"""Regularizer: what a parameter costs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from fmfkit.typing import Reals

if TYPE_CHECKING:
    from fmfkit.native import NativeRegularizer


class Regularizer(ABC):
    """A separable penalty: every parameter w of feature s in dimension k pays strength_sk times omega(w).

    A regularizer says omega and T, and nothing else. Strengths are the problem's: ``fmfkit.Penalty`` says how they
    depend on the feature block, on how often a feature is observed, and on the latent dimension.
    """

    @abstractmethod
    def penalty(self, w: Reals, strength: float | Reals = 1.0) -> Reals:
        """Return strength · omega(w) for each parameter; ``strength`` broadcasts against w and is never negative."""

    @abstractmethod
    def T(self, x: Reals, y: Reals, w: Reals, strength: float | Reals = 1.0) -> Reals:
        """Return the change d of each parameter that minimises x d + y/2 d² + strength · omega(w + d), for y >= 0.

        Where several minimise it, any of them; 0 where nothing pulls.
        """

    @property
    def native(self) -> NativeRegularizer | None:
        """The same regularizer as native functions, which solvers call instead, or None; see ``fmfkit.native``."""
        return None


__all__ = ["Regularizer"]
