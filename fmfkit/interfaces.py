"""What a plugin writes: Loss, Regularizer, PartitionScheduler, Solver, and the law that each method promises.

Names follow the paper: ``g`` is the derivative of the loss by the score, ``beta`` its curvature, ``T`` the step of one
parameter, ``S`` a set of features updated together, ``eta`` how much of a lone step the set leaves to a feature.

Everything speaks in arrays: a method gets a batch and returns one of the same shape, never a number per call. Arrays
that a method is given are read-only to it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import attrs
import numpy as np
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    from fmfkit.native import NativeLoss, NativeRegularizer
    from fmfkit.problem import Features, Problem
    from fmfkit.state import RoundReport, State

Reals = NDArray[np.floating[Any]]


class Loss(ABC):
    """A loss of the score s of a pair and its target y, convex in s.

    ``value`` and ``gradient`` work elementwise on arrays of one shape, in float32 or float64, and return that shape.
    """

    calibrated: ClassVar[bool] = False
    """Whether ``link`` takes the score that is best for y back to y: predictions are on the scale of targets."""

    @abstractmethod
    def value(self, score: Reals, y: Reals) -> Reals:
        """Return loss(s, y) for each pair: finite for every finite score and every y that check_targets lets pass."""

    @abstractmethod
    def gradient(self, score: Reals, y: Reals) -> Reals:
        """Return g, the derivative of ``value`` by the score, for each pair."""

    @abstractmethod
    def curvature(self, score: Reals, y: Reals) -> float | Reals:
        """Return beta, one number or one per pair, such that for every t, however large, and each pair

        loss(s + t, y) <= loss(s, y) + g t + beta / 2 t².

        That is what makes the objective of every coordinate descent solver never rise.
        """

    @property
    def native(self) -> NativeLoss | None:
        """The same loss as native functions, which solvers call instead, or None; see ``fmfkit.native``."""
        return None

    def link(self, score: Reals) -> Reals:
        """Return what a model predicts for a score: the score itself, a probability, ..."""
        return score

    def check_targets(self, y: Reals) -> None:  # noqa: B027 - every finite y is welcome unless a loss says otherwise
        """Raise ValueError, saying what is allowed and what was found, if the loss is not defined for some y."""

    def offset(self, y: Reals, weight: Reals | None) -> float:
        """Return the constant that a problem adds to every score unless it is told another."""
        return 0.0


class Regularizer(ABC):
    """A separable penalty: every parameter w of feature s in dimension k pays strength_sk times omega(w).

    Strengths are made by the problem from three attributes, the same for every regularizer:

    - ``scale``: "observations" multiplies by 1 + Σ_i x_is² |O_i|, by how much a feature is observed (|O_i| is the sum
      of the weights of i's pairs); "uniform" gives every feature the strength 1, as in the paper.
    - ``blocks``: a factor per feature block, by the block's name; 1 where a block is not named.
    - ``growth``: latent dimension k = 0, 1, ... has (1 + k)^growth times the strength of the first. Above 0, later
      dimensions are used only for what is worth more: the rank is then a limit rather than a choice.
    """

    scale: Literal["observations", "uniform"] = "observations"
    blocks: Mapping[str, float] = {}
    growth: float = 0.0

    @abstractmethod
    def penalty(self, w: Reals, strength: float | Reals = 1.0) -> Reals:
        """Return strength · omega(w) for each parameter; ``strength`` broadcasts against w and is never negative."""

    @abstractmethod
    def T(self, x: Reals, y: Reals, w: Reals, strength: float | Reals = 1.0) -> Reals:
        """Return the change d of each parameter that minimises x d + y/2 d² + strength · omega(w + d), for y >= 0.

        Where several minimise it, any of them; w + 0 where nothing pulls.
        """

    @property
    def native(self) -> NativeRegularizer | None:
        """The same regularizer as native functions, which solvers call instead, or None; see ``fmfkit.native``."""
        return None


def _whole_numbers(values: ArrayLike, dtype: Any) -> NDArray[Any]:
    """Return ``values`` in another whole-number type, if all of them fit."""
    array = np.asarray(values)
    if array.size and array.dtype.kind not in "iu":
        raise TypeError(f"a partition is made of whole numbers, got dtype {array.dtype}")
    if array.size and (array.min() < 0 or array.max() > np.iinfo(dtype).max):
        raise ValueError(f"a partition is made of numbers from 0 on, got {array.min()} to {array.max()}")
    return np.ascontiguousarray(array, dtype=dtype)


def _int32(values: ArrayLike) -> NDArray[np.int32]:
    return _whole_numbers(values, np.int32)


def _int64(values: ArrayLike) -> NDArray[np.int64]:
    return _whole_numbers(values, np.int64)


@attrs.frozen(eq=False)
class Partition:
    """Disjoint sets that together hold every feature once: set k is ``order[offsets[k]:offsets[k + 1]]``."""

    order: NDArray[np.int32] = attrs.field(converter=_int32)
    offsets: NDArray[np.int64] = attrs.field(converter=_int64)

    @classmethod
    def from_sets(cls, sets: Sequence[Any]) -> Partition:
        """Build a partition from a list of arrays of feature numbers."""
        arrays = [_int32(s).ravel() for s in sets]
        order = np.concatenate(arrays) if arrays else np.zeros(0, np.int32)
        return cls(order, np.concatenate([[0], np.cumsum([len(a) for a in arrays], dtype=np.int64)]))

    @property
    def sets(self) -> list[NDArray[np.int32]]:
        """The sets, as arrays of feature numbers."""
        return np.split(self.order, self.offsets[1:-1]) if len(self) else []

    def __len__(self) -> int:
        """Return the number of sets."""
        return len(self.offsets) - 1


class PartitionScheduler(ABC):
    """Chooses, each round and for each side, which features are updated together."""

    conflict_bound: float | None = None
    """c, if in no set the Σ|x| of a row is more than c times the |x_is| of one of its features: then eta >= 1/c."""

    balanced: ClassVar[bool] = False
    """Whether no set has more non-zeros than the lightest one and the heaviest feature together."""

    @abstractmethod
    def partition(self, features: Features, round: int, rng: np.random.Generator) -> Partition:
        """Return disjoint sets that cover every feature of ``features`` (``features.cols`` of them) exactly once.

        ``rng`` is seeded from the seed of the fit, the round and the side, so that drawing from it alone, and from
        nothing else that changes, makes the same partition for the same seed.
        """


class Solver(ABC):
    """One way to lower the objective, a round at a time.

    All that a solver learns stands in ``state.P`` and ``state.Q`` when a round returns: whatever else it keeps, it can
    make again from them. So any solver starts from the state that any other left.
    """

    monotone: ClassVar[bool] = True
    """Whether the objective never rises from one round to the next, but for rounding."""

    deterministic: ClassVar[bool] = True
    """Whether the result is the same, bit for bit, for any number of threads."""

    def refusals(self, problem: Problem) -> Iterable[str]:
        """Return the reasons, all of them, why this solver cannot work on ``problem``; none by default."""
        return ()

    @abstractmethod
    def prepare(self, problem: Problem, state: State) -> Any:
        """Return the workspace for rounds on ``problem`` that start from ``state``; allocate here what rounds need."""

    @abstractmethod
    def round(self, problem: Problem, state: State, workspace: Any) -> RoundReport:
        """Update ``state.P`` and ``state.Q`` in place by one round, and report on it.

        ``workspace`` is what ``prepare`` returned, and nobody else has changed the state since. ``state.round`` is the
        number of rounds done before this one; randomness comes from ``state.rng(...)`` only.
        """


__all__ = ["Loss", "Partition", "PartitionScheduler", "Regularizer", "Solver"]
