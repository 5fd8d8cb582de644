"""The checks of regularizers of whole rows: good ones pass, each broken one fails the checks it should."""

import pytest
from zoo import ZOO, GoodRows, assert_caught, of_kind

from fmfkit import RowRegularizer, testing
from fmfkit.testing import running


def test_a_good_one_passes():
    results = testing.check(GoodRows())
    assert results.ok, str(results)


@pytest.mark.parametrize("name", of_kind(RowRegularizer))
def test_each_broken_one_fails_the_checks_it_should(name):
    assert_caught(name)


def test_every_check_catches_something():
    caught = set().union(*(ZOO[name][1] for name in of_kind(RowRegularizer)))
    assert {check.__name__ for check in running.CHECKS[RowRegularizer]} - caught == set()
