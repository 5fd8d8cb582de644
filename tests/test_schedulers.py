"""The built-in schedulers, and the check that every scheduler's answer passes."""

import numpy as np
import pytest
from components import Fixed
from hypothesis import given
from hypothesis import strategies as st
from problems import Case, cases

from fmfkit import Partition, PartitionScheduler, schedulers, solvers
from fmfkit.errors import PluginContractError
from fmfkit.schedulers import checked_partition

SCHEDULERS = [schedulers.RandomPartition, schedulers.SizeBalanced, schedulers.InOrder]


@pytest.mark.parametrize("scheduler", SCHEDULERS)
@given(case=cases(), size=st.integers(1, 40), seed=st.integers(0, 99))
def test_every_round_is_a_partition_and_the_seed_decides_it(scheduler, case, size, seed):
    features = case.build().X
    first, again = (checked_partition(scheduler(size), features, 0, np.random.default_rng(seed)) for _ in range(2))
    assert sorted(np.concatenate(first.sets)) == list(range(features.cols))
    np.testing.assert_array_equal(first.order, again.order)


@given(size=st.integers(1, 40))
def test_random_sets_have_the_size_asked_for_and_change_every_round(size):
    features = Case(query_features=30).build().X
    rng = np.random.default_rng(0)
    first, second = (schedulers.RandomPartition(size).partition(features, r, rng) for r in range(2))
    assert all(len(S) == size for S in first.sets[:-1])
    assert len(first.sets[-1]) <= size
    assert (first.order != second.order).any()


@given(sets=st.integers(1, 40))
def test_random_sets_can_be_given_by_their_number(sets):
    features = Case(query_features=18).build().X
    partition = schedulers.RandomPartition(sets=sets).partition(features, 0, np.random.default_rng(0))
    sizes = np.diff(partition.offsets)
    assert len(sizes) == sets
    assert sizes.max() - sizes.min() <= 1


def test_size_balanced_sets_differ_by_less_than_the_largest_column():
    rng = np.random.default_rng(1)
    X = (rng.random((400, 60)) < rng.pareto(1.0, 60) / 10).astype(float)
    features = Case(queries=400, pairs=100).build(X=X).X
    partition = schedulers.SizeBalanced(10).partition(features, 0, rng)
    loads = [features.column_sizes[S].sum() for S in partition.sets]
    assert len(loads) == 6
    assert max(loads) - min(loads) <= features.column_sizes.max()
    random = schedulers.RandomPartition(10).partition(features, 0, rng)
    assert max(loads) < max(features.column_sizes[S].sum() for S in random.sets)


def test_in_order_keeps_the_columns_in_order():
    partition = schedulers.InOrder(5).partition(Case().build().X, 3, np.random.default_rng(0))
    np.testing.assert_array_equal(partition.order, np.arange(19))
    assert [len(S) for S in partition.sets] == [5, 5, 5, 4]


@pytest.mark.parametrize("size", [0, -3, 2.5])
def test_sizes_below_one_are_refused(size):
    with pytest.raises((ValueError, TypeError), match="size"):
        schedulers.RandomPartition(size)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (None, "returned NoneType, expected a fmfkit Partition"),
        ([[0, 1, 2]], "returned list"),
        (Partition.from_sets([[0, 1]]), "17 are in no set, such as 2"),
        (Partition.from_sets([np.arange(19), [3]]), "1 are in more than one place, such as 3"),
        (Partition.from_sets([np.arange(20)]), "features run from 0 to 19, expected 0 to 18"),
        (Partition(np.arange(19), [0, 7]), "offsets must run from 0 to the number of features, 19"),
        (Partition(np.arange(19), [0, 9, 4, 19]), "offsets must not fall"),
    ],
)
def test_a_scheduler_that_does_not_partition_is_refused_by_name(answer, message):
    problem = Case().build()
    with pytest.raises(PluginContractError, match=message) as caught:
        checked_partition(Fixed(answer), problem.X, 0, np.random.default_rng(0))
    assert "Fixed.partition" in str(caught.value)


class Floating(PartitionScheduler):
    def partition(self, features, round, rng):
        return Partition(np.arange(features.cols) + 0.5, [0, features.cols])


def test_a_scheduler_that_makes_no_partition_is_named():
    with pytest.raises(PluginContractError, match=r"Floating\.partition failed: a partition is made of whole numbers"):
        checked_partition(Floating(), Case().build().X, 0, np.random.default_rng(0))


def test_sizes_may_be_numpy_s_numbers():
    assert schedulers.RandomPartition(np.int64(5)) == schedulers.RandomPartition(5)


def test_a_scheduler_can_be_given_by_name_and_nothing_else():
    assert solvers.PL2M(scheduler="size_balanced").scheduler == schedulers.SizeBalanced()
    with pytest.raises(TypeError, match="scheduler: expected a PartitionScheduler or the name of one, got 500"):
        solvers.PL2M(scheduler=500)


def test_empty_sets_are_dropped():
    answer = Partition.from_sets([[], np.arange(19), []])
    checked = checked_partition(Fixed(answer), Case().build().X, 0, np.random.default_rng(0))
    assert len(checked) == 1
