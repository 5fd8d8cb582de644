"""PartitionScheduler: which features are updated together."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import attrs
import numpy as np
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    from fmfkit.problem.features import Features


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
        """Build a partition from a list of arrays of feature numbers.

        Args:
            sets: arrays of features, each feature in one of them.
        """
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


__all__ = ["Partition", "PartitionScheduler"]
