"""The checks of schedulers: good ones pass, each broken one fails the checks it should."""

import pytest
from zoo import ZOO, GoodSets, assert_caught, of_kind

from fmfkit import PartitionScheduler, schedulers, testing
from fmfkit.testing import running

GOOD = [
    schedulers.RandomPartition(50),
    schedulers.SizeBalanced(8),
    schedulers.InOrder(3),
    GoodSets(),
]


@pytest.mark.parametrize("component", GOOD, ids=repr)
def test_good_schedulers_pass(component):
    results = testing.check(component)
    assert results.ok, str(results)


@pytest.mark.parametrize("name", of_kind(PartitionScheduler))
def test_each_broken_scheduler_fails_the_checks_it_should(name):
    assert_caught(name)


def test_every_check_of_schedulers_catches_something():
    caught = set().union(*(ZOO[name][1] for name in of_kind(PartitionScheduler)))
    assert {check.__name__ for check in running.CHECKS[PartitionScheduler]} - caught == set()
