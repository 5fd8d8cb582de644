"""A good scheduler, and broken ones."""

from __future__ import annotations

import attrs
import numpy as np

from fmfkit import Partition, PartitionScheduler
from zoo.keeper import animal


@attrs.frozen
class GoodSets(PartitionScheduler):
    size: int = 4

    def partition(self, features, round, rng):
        order = rng.permutation(features.cols)
        return Partition(order, np.append(np.arange(0, features.cols, self.size), features.cols))


@animal("check_every_round_is_a_partition", "check_trains", "check_scales_to_a_million_features")
class DropsAFeature(GoodSets):
    def partition(self, features, round, rng):
        order = rng.permutation(features.cols)[1:]
        return Partition(order, np.array([0, len(order)]))


@animal(
    "check_every_round_is_a_partition",
    "check_trains",
    "check_scales_to_a_million_features",
    "check_no_features_are_no_mistake",
)
class RepeatsAFeature(GoodSets):
    def partition(self, features, round, rng):
        order = np.append(np.arange(features.cols), 0)
        return Partition(order, np.array([0, len(order)]))


@animal("check_same_seed_same_partition", "check_trains")
class DrawsFromElsewhere(GoodSets):
    """Does not care for the seed."""

    def partition(self, features, round, rng):
        return GoodSets.partition(self, features, round, np.random.default_rng())


@animal("check_conflict_bound_holds")
class PromisesTooMuch(GoodSets):
    conflict_bound = 1.0


@animal("check_balance_holds")
class NotBalanced(GoodSets):
    balanced = True


@animal("check_no_features_are_no_mistake")
class NeedsFeatures(GoodSets):
    def partition(self, features, round, rng):
        if not features.cols:
            raise RuntimeError("no features")
        return GoodSets.partition(self, features, round, rng)


@animal("check_copies_are_equal")
class SetsWithoutEquality(GoodSets):
    __eq__ = object.__eq__
    __hash__ = object.__hash__


@animal("check_leaves_features_alone")
class SortsTheFeatures(GoodSets):
    """Turns the rows around, where it may."""

    def partition(self, features, round, rng):
        if features.rows == 60:
            features.row_index[:] = features.row_index[::-1].copy()
        return GoodSets.partition(self, features, round, rng)
