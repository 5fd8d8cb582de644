"""The laws of a scheduler."""

from __future__ import annotations

import functools
import time
from typing import Any

import attrs
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from fmfkit.interfaces import Partition, PartitionScheduler
from fmfkit.problem import Features, Problem
from fmfkit.solvers import PL2M, Panel
from fmfkit.testing import common, fresh, process
from fmfkit.testing.verdict import Skipped, fail
from fmfkit.training.loop import fit

SECONDS = 60.0
"""How long a processor may work on a partition of a million features: no race, but nobody waits for minutes."""


def _features(matrix: sp.csr_array) -> Features:
    """Return a matrix as the features of a problem's queries."""
    rows = max(matrix.shape[0], 1)
    return Problem.from_coo([0], [0], [1.0], shape=(rows, 1), rank=1, X={"features": matrix}).X


@functools.lru_cache(maxsize=4)
def _random(rows: int, cols: int, per_row: int) -> Features:
    """Return features some of which many rows have, and some nobody."""
    rng = np.random.default_rng(common.SEED)
    index = (cols * rng.random((rows, per_row)) ** 3).astype(np.int64)
    pointers = np.arange(0, rows * per_row + 1, per_row)
    matrix = sp.csr_array((np.ones(rows * per_row), index.ravel(), pointers), shape=(rows, cols))
    matrix.sum_duplicates()
    matrix.data[:] = rng.normal(size=matrix.nnz)
    return _features(matrix)


@functools.cache
def _small() -> dict[str, Features]:
    """Return features of many kinds, by name; some are of one shape."""
    rng = np.random.default_rng(common.SEED)
    dense = rng.normal(size=(60, 40)) * (rng.random((60, 40)) < np.linspace(0.02, 0.4, 40))
    return {
        "a single feature": _features(sp.csr_array(np.ones((3, 1)))),
        "a feature that nobody has": _features(sp.csr_array((2, 1))),
        "indicators": _features(sp.csr_array(np.eye(7))),
        "indicators in another order": _features(sp.csr_array(np.eye(7)[[3, 1, 4, 0, 5, 2, 6]] * 2.0)),
        "features that all rows have": _features(sp.csr_array(np.ones((4, 6)))),
        "random features": _random(60, 40, 5),
        "others of the same shape": _features(sp.csr_array(dense)),
        "the same columns turned around": _features(sp.csr_array(dense[:, ::-1])),
        "many features": _random(50, 900, 7),
    }


ROUNDS = (0, 1, 2, 3, 7, 10, 25, 100, 1000)


def _draw(scheduler: PartitionScheduler, features: Features, round: int = 0, seed: int = 0) -> Partition:
    return scheduler.partition(features, round, np.random.default_rng([seed, round]))


def _check_partition(partition: Partition, features: Features, where: str) -> None:
    if not isinstance(partition, Partition):
        fail(f"for {where}, partition returned {type(partition).__name__}, expected a fmfkit.Partition")
    offsets = partition.offsets
    if offsets.size == 0 or offsets[0] != 0 or offsets[-1] != len(partition.order) or (np.diff(offsets) < 0).any():
        fail(f"for {where}, the offsets do not run from 0 to {len(partition.order)}", offsets=offsets[:8].tolist())
    if len(partition.order) and partition.order.max() >= features.cols:
        fail(f"for {where}, it names a feature that is not there", feature=int(partition.order.max()), of=features.cols)
    times = np.bincount(partition.order, minlength=features.cols)
    for wrong, what in ((times == 0, "in no set"), (times > 1, "in more than one place")):
        if wrong.any():
            fail(f"for {where}, a feature is {what}", feature=int(np.argmax(wrong)), of=features.cols)


def check_every_round_is_a_partition(scheduler: PartitionScheduler) -> None:
    """Every round's sets hold every feature exactly once, for features of every kind."""
    for where, features in _small().items():
        for round in ROUNDS:
            _check_partition(_draw(scheduler, features, round), features, f"{where}, round {round}")


def check_no_features_are_no_mistake(scheduler: PartitionScheduler) -> None:
    """A side without features has a partition without features."""
    features = _features(sp.csr_array((2, 0)))
    _check_partition(_draw(scheduler, features), features, "no features")


def _asked(scheduler: PartitionScheduler, *, backwards: bool) -> dict[str, bytes]:
    """Return partitions of many kinds of features, asked for in one order or the other."""
    questions = [
        (where, features, round, seed)
        for where, features in _small().items()
        for round in (0, 3, 40)
        for seed in (0, 7)
    ]
    made = {}
    for where, features, round, seed in questions[::-1] if backwards else questions:
        partition = _draw(scheduler, features, round, seed)
        made[f"{where}, round {round}, seed {seed}"] = partition.order.tobytes() + partition.offsets.tobytes()
    return made


def _compare(first: dict[str, bytes], again: dict[str, bytes], how: str) -> None:
    for where, made in first.items():
        if again[where] != made:
            fail(f"for {where}, the partition is another {how}")


def asked_backwards(scheduler: PartitionScheduler) -> dict[str, bytes]:
    """Return the partitions that a fresh process makes."""
    return _asked(scheduler, backwards=True)


def check_same_seed_same_partition(scheduler: PartitionScheduler) -> None:
    """The same features, round and seed give the same partition, whatever was asked before, in any process, at any
    time, whatever the state of the global generators."""
    first = _asked(scheduler, backwards=False)
    _compare(first, _asked(scheduler, backwards=False), "the second time")
    for number in (1, 2):
        with process.otherwise(number):
            again = _asked(scheduler, backwards=True)
        _compare(first, again, "at another time, with global generators of another seed, asked in another order")
    _check_passing_objects(scheduler)
    again = fresh.ask(asked_backwards, scheduler)
    _compare(first, again, "in a fresh process, with another hash seed, at another time, asked in another order")


def _check_passing_objects(scheduler: PartitionScheduler) -> None:
    """Ask about features that come and go, one in the place of the other."""
    small = _small()
    twins = {where: small[where] for where in ("others of the same shape", "the same columns turned around")}
    wanted = {where: _draw(scheduler, features).order for where, features in twins.items()}
    for _ in range(20):
        for where, features in twins.items():
            if not np.array_equal(_draw(scheduler, attrs.evolve(features)).order, wanted[where]):
                fail(f"for {where}, the partition is another after features that are gone by now")


def check_leaves_features_alone(scheduler: PartitionScheduler) -> None:
    """The features are the same after a partition is made of them."""
    for where, features in _small().items():
        before = [array.copy() for array in _arrays(features)]
        _draw(scheduler, features)
        if not all(np.array_equal(a, b) for a, b in zip(before, _arrays(features), strict=True)):
            fail(f"partition changes the features it is given: {where}")


def check_leaves_the_process_alone(scheduler: PartitionScheduler) -> None:
    """It leaves no trace in the process: generators, error states, environment, folder, warnings, locale."""
    features = _random(60, 40, 5)
    with process.unchanged():
        for round in range(3):
            _draw(scheduler, features, round)


def _arrays(features: Features) -> list[NDArray[Any]]:
    return [features.row_ptr, features.row_index, features.col_ptr, features.col_index, features.values_by_row()]


def conflicts(features: Features, partition: Partition) -> float:
    """Return the largest C_i / |x_is|: how many times over the features of a set share a row, by value."""
    set_of = np.empty(features.cols, np.int64)
    set_of[partition.order] = np.repeat(np.arange(len(partition)), np.diff(partition.offsets))
    row = np.repeat(np.arange(features.rows), np.diff(features.row_ptr))
    size = np.abs(features.values_by_row()).astype(np.float64)
    place = row * max(len(partition), 1) + set_of[features.row_index]
    _, where = np.unique(place, return_inverse=True)
    total = np.bincount(where, weights=size)
    shown = size > 0
    return float((total[where[shown]] / size[shown]).max()) if shown.any() else 1.0


def check_conflict_bound_holds(scheduler: PartitionScheduler) -> None:
    """Where ``conflict_bound`` is c, no set has a row with Σ|x| > c |x_is| for one of its features, so eta >= 1/c."""
    bound = scheduler.conflict_bound
    if bound is None:
        raise Skipped("it declares no conflict_bound")
    for where, features in _small().items():
        for round in range(3):
            found = conflicts(features, _draw(scheduler, features, round))
            if found > bound * (1 + 1e-6):
                fail(f"for {where}, the conflict is above the bound", conflict=found, bound=float(bound), round=round)


def check_balance_holds(scheduler: PartitionScheduler) -> None:
    """Where ``balanced`` is True, no set has more non-zeros than the lightest one and the heaviest feature together."""
    if not scheduler.balanced:
        raise Skipped("it does not declare itself balanced")
    for where, features in _small().items():
        partition = _draw(scheduler, features)
        before = np.append(0, np.cumsum(features.column_sizes[partition.order]))
        loads = np.diff(before[partition.offsets])
        if len(loads) and loads.max() > loads.min() + features.column_sizes.max():
            fail(f"for {where}, a set is too heavy", heaviest=int(loads.max()), lightest=int(loads.min()))


def check_scales_to_a_million_features(scheduler: PartitionScheduler) -> None:
    """A million features, five in each of a million rows, are partitioned while one waits."""
    features = _random(1_000_000, 1_000_000, 5)
    began = time.process_time()
    partition = _draw(scheduler, features)
    seconds = time.process_time() - began
    _check_partition(partition, features, "a million features")
    if seconds > SECONDS:
        fail("it takes too long", seconds=seconds, allowed=SECONDS)


def check_copies_are_equal(scheduler: PartitionScheduler) -> None:
    """Copies, pickled ones too, are equal to it, and its repr tells what it is."""
    common.copies_are_equal(scheduler)


def check_trains(scheduler: PartitionScheduler) -> None:
    """Trained end to end, the objective never rises, and 1 to 4 threads give the same model, bit for bit."""
    common.trains(lambda dtype: common.problem(dtype=dtype), (Panel(scheduler=scheduler), PL2M(scheduler=scheduler)))
    model = fit(common.problem(), solver=PL2M(scheduler=scheduler), rounds=20)
    if not model.history[-1].objective < 0.9 * model.history[0].objective:
        fail(
            "twenty rounds hardly lower the objective",
            before=model.history[0].objective,
            after=model.history[-1].objective,
        )


CHECKS = (
    check_every_round_is_a_partition,
    check_no_features_are_no_mistake,
    check_same_seed_same_partition,
    check_leaves_features_alone,
    check_leaves_the_process_alone,
    check_conflict_bound_holds,
    check_balance_holds,
    check_scales_to_a_million_features,
    check_copies_are_equal,
    check_trains,
)
