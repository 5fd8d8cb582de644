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


class RowRegularizer(Regularizer):
    """A penalty of a feature's whole row of parameters: w_s, all its dimensions, pays strength_s times omega(w_s).

    So a feature can vanish altogether. Solvers that take parameters one by one refuse it; the default solver does not.
    A bias is a row of one parameter.
    """

    @abstractmethod
    def penalty(self, w: Reals, strength: float | Reals = 1.0) -> Reals:
        """Return strength · omega(w_s) for each row of w, (features, dimensions); a number, or one for each row."""

    @abstractmethod
    def T(self, x: Reals, y: Reals, w: Reals, strength: float | Reals = 1.0) -> Reals:
        """Return the change d_s of each row that minimises x_s · d_s + y_s/2 |d_s|² + strength_s · omega(w_s + d_s).

        x and w are (features, dimensions), y >= 0 has a number for each row. Where several minimise it, any of them; 0
        where nothing pulls.
        """


__all__ = ["Regularizer", "RowRegularizer"]
