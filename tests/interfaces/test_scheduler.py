"""Partitions: disjoint sets of features."""

import numpy as np
import pytest

from fmfkit import Partition, PartitionScheduler


@pytest.mark.parametrize(
    ("order", "error", "message"),
    [
        (np.arange(5) + 0.9, TypeError, "whole numbers, got dtype float64"),
        (np.arange(5) + 2**32, ValueError, "numbers from 0 on, got 4294967296 to 4294967300"),
        ([-1, 0], ValueError, "got -1 to 0"),
    ],
)
def test_a_partition_takes_feature_numbers_only(order, error, message):
    with pytest.raises(error, match=message):
        Partition(order, [0, len(order)])
    with pytest.raises(error, match=message):
        Partition.from_sets([order])


def test_sets_come_back_as_they_were_given():
    partition = Partition.from_sets([[3, 1], [], [0, 2]])
    assert [members.tolist() for members in partition.sets] == [[3, 1], [], [0, 2]]
    assert len(partition) == 3
    assert partition.order.dtype == np.int32
    assert partition.offsets.tolist() == [0, 2, 2, 4]
    assert Partition.from_sets([]).sets == []


def test_a_scheduler_promises_nothing_unless_it_says_so():
    assert PartitionScheduler.conflict_bound is None
    assert PartitionScheduler.balanced is False
    with pytest.raises(TypeError, match="partition"):
        PartitionScheduler()
