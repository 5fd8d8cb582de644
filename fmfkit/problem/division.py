"""Queries divided into shards, of which a process may have only some, and sums over all of them.

A shard is some queries with their pairs and their own features. What all shards share, the targets and all other
features of the queries, every process has. Sums over shards are made in one order, whichever process has a shard: the
bits of a result do not depend on the number of processes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fmfkit.problem.pairs import Pairs, chunks

Fill = Callable[[int, NDArray[Any]], None]
"""Writes what a shard has, by its number among those that are here, into an array."""
MOST_VALUES = 2**16
"""Different y of a shard that are told apart where all y are looked at: beyond that neighbours share their mean."""


class Sums(ABC):
    """Adds up what shards have; all processes call the same methods in the same order."""

    first: int = 0
    """The number of the first shard that is here: those that are here follow one another."""

    @abstractmethod
    def add(self, out: NDArray[Any], fill: Fill) -> None:
        """Write into ``out`` the sum of what ``fill`` writes for each shard, in an order that is always the same."""

    @abstractmethod
    def gather(self, parts: Sequence[NDArray[Any]]) -> list[NDArray[Any]]:
        """Return one array of each shard, of all, in order, given those of the shards that are here."""


@attrs.frozen(eq=False)
class Division:
    """How the queries that are here are divided into shards, and how sums over all shards are made."""

    cuts: NDArray[np.int64]
    """(shards here + 1) the rows at which they begin."""
    sums: Sums
    own: tuple[str, ...] = ("indicator",)
    """The feature blocks that have nothing but queries' own features, one for each query that is here."""

    def __len__(self) -> int:
        """Return the number of shards that are here."""
        return len(self.cuts) - 1

    def rows(self, shard: int) -> slice:
        """Return the rows of a shard."""
        return slice(int(self.cuts[shard]), int(self.cuts[shard + 1]))

    def pairs(self, pairs: Pairs, shard: int) -> Pairs:
        """Return the pairs of a shard; memory is shared."""
        rows = self.rows(shard)
        ptr = pairs.ptr[rows.start : rows.stop + 1]
        some = slice(int(ptr[0]), int(ptr[-1]))
        weight = None if pairs.weight is None else pairs.weight[some]
        ptr = ptr - ptr[0]
        return Pairs(rows.stop - rows.start, ptr, pairs.other[some], pairs.y[some], weight, chunks(ptr))

    def total(self, of: Callable[[int], Any]) -> float:
        """Return a number summed over all shards; ``of`` says what a shard has."""
        return float(self.sum((1,), of)[0])

    def sum(self, shape: tuple[int, ...], of: Callable[[int], Any]) -> NDArray[np.float64]:
        """Return numbers summed over all shards."""
        out = np.empty(shape)

        def fill(shard: int, into: NDArray[Any]) -> None:
            into[...] = of(shard)

        self.sums.add(out, fill)
        return out

    def values(self, pairs: Pairs) -> tuple[NDArray[Any], NDArray[np.float64]]:
        """Return the different y of all pairs, and how much the pairs with each weigh together."""
        tables = self.sums.gather([_values(self.pairs(pairs, shard)) for shard in range(len(self))])
        table = np.concatenate(tables)
        y, place = np.unique(table[:, 0], return_inverse=True)
        weight = np.bincount(place.reshape(-1), weights=table[:, 1], minlength=len(y))
        return y.astype(pairs.y.dtype), weight.astype(np.float64)


def _values(pairs: Pairs) -> NDArray[np.float64]:
    """Return the different y of pairs, and the weights of each, added up: (values, 2)."""
    y, place = np.unique(pairs.y, return_inverse=True)
    place = place.reshape(-1)
    weight = np.bincount(place, weights=pairs.weight, minlength=len(y)).astype(np.float64)
    if len(y) > MOST_VALUES:
        group = np.arange(len(y)) * MOST_VALUES // len(y)
        total = np.bincount(group, weights=weight)
        weighed = np.bincount(group, weights=y * weight) / np.where(total > 0, total, 1)
        y = np.where(total > 0, weighed, np.bincount(group, weights=y) / np.bincount(group))
        weight = total.astype(np.float64)
    return np.stack([y.astype(np.float64), weight], axis=1)


__all__ = ["Division", "Fill", "Sums"]
