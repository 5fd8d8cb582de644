"""The checks of regularizers: good ones pass, each broken one fails the checks it should."""

import pytest
from numpy_plugins import NonNegative, NumpyRidge
from zoo import ZOO, GoodRidge, NativeRidge, assert_caught, of_kind

from fmfkit import Regularizer, regularizers, testing
from fmfkit.testing import running

GOOD = [
    regularizers.ElasticNet(l1=0.1),
    NumpyRidge(),
    NonNegative(),
    GoodRidge(),
    NativeRidge(),
]


@pytest.mark.parametrize("component", GOOD, ids=repr)
def test_good_regularizers_pass(component):
    results = testing.check(component)
    assert results.ok, str(results)


@pytest.mark.parametrize("name", of_kind(Regularizer))
def test_each_broken_regularizer_fails_the_checks_it_should(name):
    assert_caught(name)


def test_every_check_of_regularizers_catches_something():
    caught = set().union(*(ZOO[name][1] for name in of_kind(Regularizer)))
    assert {check.__name__ for check in running.CHECKS[Regularizer]} - caught == set()
