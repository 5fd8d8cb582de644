"""The built-in schedulers: which features are updated together."""

from __future__ import annotations

from typing import ClassVar

import attrs
import numpy as np

from fmfkit._kernels.balance import balance
from fmfkit.arguments import whole
from fmfkit.errors import PluginContractError
from fmfkit.interfaces import Partition, PartitionScheduler
from fmfkit.plugins.registry import resolve
from fmfkit.problem.features import Features


def _size(given: int) -> int:
    return whole("size", given, least=1)


def _sets(given: int | None) -> int | None:
    return None if given is None else whole("sets", given, least=1)


@attrs.frozen
class RandomPartition(PartitionScheduler):
    """New random sets of ``size`` features each round, as in the paper; one smaller set takes what is left over.

    With ``sets``, features are instead shared out into that many sets, of one size as nearly as can be.
    """

    size: int = attrs.field(default=500, converter=_size)
    sets: int | None = attrs.field(default=None, converter=_sets, kw_only=True)

    def partition(self, features: Features, round: int, rng: np.random.Generator) -> Partition:
        """Shuffle the features and cut the row into sets."""
        order = rng.permutation(features.cols).astype(np.int32)
        if self.sets is None:
            cuts = np.append(np.arange(0, features.cols, self.size), features.cols)
        else:
            cuts = np.arange(self.sets + 1) * features.cols // self.sets
        return Partition(order, cuts)


@attrs.frozen
class SizeBalanced(PartitionScheduler):
    """New random sets of ``size`` features on average, with nearly equal numbers of non-zeros.

    The heaviest features are dealt out first, each to the set with the least to do. Within a set they stay in that
    order, so that the lines between threads, which fall at equal numbers of non-zeros, run between light features.
    """

    balanced: ClassVar[bool] = True
    size: int = attrs.field(default=500, converter=_size)

    def partition(self, features: Features, round: int, rng: np.random.Generator) -> Partition:
        """Deal the features out by size."""
        sizes = features.column_sizes
        sets = max(1, -(-features.cols // self.size))
        shuffled = rng.permutation(features.cols)  # so that features of one size fall to other sets each round
        order = shuffled[np.argsort(-sizes[shuffled], kind="stable")].astype(np.int32)
        set_of = balance(order, sizes, sets)[order]
        offsets = np.concatenate([[0], np.cumsum(np.bincount(set_of, minlength=sets))])
        return Partition(order[np.argsort(set_of, kind="stable")], offsets)


@attrs.frozen
class InOrder(PartitionScheduler):
    """Sets of ``size`` features in the order of their columns, the same every round. Size 1 is Algorithm 2."""

    size: int = attrs.field(default=1, converter=_size)

    def partition(self, features: Features, round: int, rng: np.random.Generator) -> Partition:
        """Cut the columns into sets."""
        return Partition(np.arange(features.cols), np.append(np.arange(0, features.cols, self.size), features.cols))


def by_name(given: PartitionScheduler | str) -> PartitionScheduler:
    """Return a scheduler given as itself or by name."""
    return resolve("scheduler", given)


def checked_partition(
    scheduler: PartitionScheduler, features: Features, round: int, rng: np.random.Generator
) -> Partition:
    """Return the scheduler's partition, without its empty sets; refuse one that is none."""
    who = f"{type(scheduler).__module__}.{type(scheduler).__qualname__}.partition"
    try:
        partition = scheduler.partition(features, round, rng)
    except (TypeError, ValueError) as error:
        raise PluginContractError(f"{who} failed: {error}") from error
    if not isinstance(partition, Partition):
        raise PluginContractError(f"{who} returned {type(partition).__name__}, expected a fmfkit Partition")
    order, offsets = partition.order, partition.offsets
    if order.ndim != 1 or offsets.ndim != 1 or len(offsets) < 1 or offsets[0] != 0 or offsets[-1] != len(order):
        raise PluginContractError(f"{who}: offsets must run from 0 to the number of features, {len(order)}")
    if (np.diff(offsets) < 0).any():
        raise PluginContractError(f"{who}: offsets must not fall")
    if order.size and (order.min() < 0 or order.max() >= features.cols):
        raise PluginContractError(
            f"{who}: features run from {order.min()} to {order.max()}, expected 0 to {features.cols - 1}"
        )
    seen = np.bincount(order, minlength=features.cols)
    for wrong, what in ((np.flatnonzero(seen == 0), "in no set"), (np.flatnonzero(seen > 1), "in more than one place")):
        if wrong.size:
            raise PluginContractError(
                f"{who} did not partition {features.cols} features: {wrong.size} are {what}, such as {wrong[0]}"
            )
    return Partition(order, np.unique(offsets))


__all__ = ["InOrder", "RandomPartition", "SizeBalanced"]
