"""Schedulers whose partition follows from something else than the features, the round and the generator they get."""

from __future__ import annotations

import os
import random
import time
from datetime import datetime
from time import time as now

import numpy as np

from fmfkit import Partition
from zoo.keeper import animal
from zoo.schedulers import GoodSets


def rolled(scheduler, features, number):
    """Return the sets of features in their order, turned by a number."""
    order = np.roll(np.arange(features.cols), int(number) % max(features.cols, 1))
    return Partition(order, np.append(np.arange(0, features.cols, scheduler.size), features.cols))


@animal("check_same_seed_same_partition")
class ByTheSecond(GoodSets):
    def partition(self, features, round, rng):
        return rolled(self, features, time.time() + round)


@animal("check_same_seed_same_partition")
class ByTheHour(GoodSets):
    """Imported by name: patching the module time does not reach it."""

    def partition(self, features, round, rng):
        return rolled(self, features, now() // 3600 + round)


@animal("check_same_seed_same_partition")
class ByTheDay(GoodSets):
    def partition(self, features, round, rng):
        return rolled(self, features, datetime.now().toordinal() + round)


@animal("check_same_seed_same_partition")
class StopsWhenTimeIsUp(GoodSets):
    """Shuffles for as long as its budget lasts: nearly always to the end."""

    def partition(self, features, round, rng):
        ends = time.monotonic() + 5.0
        order = np.arange(features.cols)
        for _ in range(3):
            order = rng.permutation(order)
            if time.monotonic() > ends:
                break
        return Partition(order, np.append(np.arange(0, features.cols, self.size), features.cols))


@animal("check_same_seed_same_partition", "check_leaves_the_process_alone", "check_trains")
class ByTheGlobalGenerator(GoodSets):
    def partition(self, features, round, rng):
        return rolled(self, features, np.random.randint(1 << 30))  # noqa: NPY002


@animal("check_same_seed_same_partition", "check_leaves_the_process_alone", "check_trains")
class ByPythonsGenerator(GoodSets):
    def partition(self, features, round, rng):
        return rolled(self, features, random.getrandbits(30))


@animal("check_leaves_the_process_alone")
class SeedsTheGlobalGenerator(GoodSets):
    """The same every time, and so is everything that others draw afterwards."""

    def partition(self, features, round, rng):
        np.random.seed(round)  # noqa: NPY002
        return rolled(self, features, np.random.randint(1 << 30))  # noqa: NPY002


@animal("check_same_seed_same_partition")
class ByTheHashOfNames(GoodSets):
    def partition(self, features, round, rng):
        order = sorted(range(features.cols), key=lambda column: hash(f"feature {column}"))
        return Partition(np.array(order, np.int64), np.append(np.arange(0, features.cols, self.size), features.cols))


@animal("check_same_seed_same_partition")
class ByTheOrderOfASet(GoodSets):
    """Walks through a set of names."""

    def partition(self, features, round, rng):
        order = [int(name) for name in {str(column) for column in range(features.cols)}]
        return Partition(np.array(order, np.int64), np.append(np.arange(0, features.cols, self.size), features.cols))


@animal("check_same_seed_same_partition")
class ByTheProcess(GoodSets):
    def partition(self, features, round, rng):
        return rolled(self, features, os.getpid())


@animal("check_same_seed_same_partition")
class ByTheFolder(GoodSets):
    def partition(self, features, round, rng):
        return rolled(self, features, sum(map(ord, os.getcwd())))


CACHE = {}


@animal("check_same_seed_same_partition")
class CachesPartitionsByShape(GoodSets):
    """Sorts the features by size, once for each shape of a matrix."""

    def partition(self, features, round, rng):
        key = features.rows, features.cols
        if key not in CACHE:
            CACHE[key] = np.argsort(-features.column_sizes, kind="stable")
        return Partition(CACHE[key], np.append(np.arange(0, features.cols, self.size), features.cols))


BY_ID = {}


@animal("check_same_seed_same_partition")
class CachesPartitionsByIdentity(GoodSets):
    """Sorts once for each object, known by an address that another one may have later."""

    def partition(self, features, round, rng):
        if id(features) not in BY_ID:
            BY_ID[id(features)] = np.argsort(-features.column_sizes, kind="stable")
        order = BY_ID[id(features)]
        if len(order) != features.cols:
            order = np.arange(features.cols)
        return Partition(order, np.append(np.arange(0, features.cols, self.size), features.cols))


ROUNDS = {}


@animal("check_same_seed_same_partition")
class CachesByRound(GoodSets):
    """Draws once for each round and number of features, from the generator that comes first."""

    def partition(self, features, round, rng):
        key = round, features.cols
        if key not in ROUNDS:
            ROUNDS[key] = rng.permutation(features.cols)
        return Partition(ROUNDS[key], np.append(np.arange(0, features.cols, self.size), features.cols))
