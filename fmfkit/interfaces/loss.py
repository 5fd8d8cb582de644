"""Loss: what a pair costs, given its score and its y."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from fmfkit.typing import Reals

if TYPE_CHECKING:
    from fmfkit.native import NativeLoss


class Loss(ABC):
    """A loss of the score s of a pair and its given value y, convex in s.

    ``value`` and ``gradient`` work elementwise on arrays of one shape, in float32 or float64, and return that shape.
    """

    beta: float | None = None
    """The largest curvature, if one number holds for every score and every y: the paper's algorithms use it. None
    makes them use ``curvature`` pair by pair."""

    calibrated: ClassVar[bool] = False
    """Whether ``link`` takes the score that is best for y back to y: predictions are on the scale of y."""

    likelihood: ClassVar[bool] = False
    """Whether e^-value is, but for a factor, the probability of y given the score. Where it is not, strengths that are
    learnt take value times a number as such, and learn the number: the noise."""

    metrics: ClassVar[tuple[str, ...]] = ("rmse", "mae")
    """The metrics that suit its predictions, the one that decides first: see ``fmfkit.evaluation``."""

    augments: ClassVar[bool] = False
    """Whether ``augmented`` draws what lies behind y: a sampler then works on it with the square loss."""

    learns: ClassVar[bool] = False
    """Whether ``learnt`` finds parameters of its own."""

    @abstractmethod
    def value(self, score: Reals, y: Reals) -> Reals:
        """Return loss(s, y) for each pair: finite for every finite score and every y that check_y lets pass."""

    @abstractmethod
    def gradient(self, score: Reals, y: Reals) -> Reals:
        """Return g, the derivative of ``value`` by the score, for each pair.

        Args:
            score: the scores.
            y: the y of the same pairs.
        """

    @abstractmethod
    def curvature(self, score: Reals, y: Reals) -> float | Reals:
        """Return h, one number or one per pair, such that for every t, however large, and each pair

        loss(s + t, y) <= loss(s, y) + g t + h / 2 t².

        That is what makes the objective of every coordinate descent solver never rise.

        Args:
            score: the scores.
            y: the y of the same pairs.
        """

    def learnt(self, score: Reals | None, y: Reals, weight: Reals | None) -> Loss:
        """Return the loss with parameters of its own that suit the scores of all pairs no worse: called between rounds
        where ``learns``. Without scores a problem is being built: it may find out what y there are.

        Args:
            score: the scores.
            y: the y of the same pairs.
            weight: their weights, if there are any.
        """
        return self

    def drawn(self, score: Reals, y: Reals, rng: np.random.Generator) -> Loss:
        """Return the loss with parameters of its own drawn from their posterior, given the scores of all pairs, or by a
        step that leaves it as it is: called between the rounds of a sampler where it both ``learns`` and ``augments``.

        Args:
            score: the scores.
            y: the y of the same pairs.
            rng: what to draw from.
        """
        return self.learnt(score, y, None)

    def augmented(self, score: Reals, y: Reals, uniform: Reals) -> Reals:
        """Return, for each pair, a number z that lies behind y: drawn from N(score, 1), given y, by a number that is
        uniform between 0 and 1. Asked for where ``augments``."""
        raise NotImplementedError

    @property
    def native(self) -> NativeLoss | None:
        """The same loss as native functions, which solvers call instead, or None; see ``fmfkit.native``."""
        return None

    def link(self, score: Reals) -> Reals:
        """Return what a model predicts for a score: the score itself, a probability, ..."""
        return score

    def check_y(self, y: Reals) -> None:  # noqa: B027 - every finite y is welcome unless a loss says otherwise
        """Raise ValueError, saying what is allowed and what was found, if the loss is not defined for some y."""

    def offset(self, y: Reals, weight: Reals | None) -> float:
        """Return the constant that a problem adds to every score unless it is given another.

        Args:
            y: the y of all pairs.
            weight: their weights, if there are any.
        """
        return 0.0


__all__ = ["Loss"]
