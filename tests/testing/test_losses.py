"""The checks of losses: good ones pass, each broken one fails the checks it should."""

import pytest
from numpy_plugins import NumpySquare, PseudoHuber
from zoo import ZOO, Good, GoodSquare, NativeSquare, Tight, assert_caught, of_kind

from fmfkit import Loss, losses, testing
from fmfkit.testing import running

GOOD = [
    losses.Square(),
    losses.Logistic(),
    Good(),
    Tight(),
    GoodSquare(),
    NativeSquare(),
    PseudoHuber(),
    NumpySquare(per_pair=True),
]


@pytest.mark.parametrize("component", GOOD, ids=repr)
def test_good_losses_pass(component):
    results = testing.check(component)
    assert results.ok, str(results)


@pytest.mark.parametrize("name", of_kind(Loss))
def test_each_broken_loss_fails_the_checks_it_should(name):
    assert_caught(name)


def test_every_check_of_losses_catches_something():
    caught = set().union(*(ZOO[name][1] for name in of_kind(Loss)))
    assert {check.__name__ for check in running.CHECKS[Loss]} - caught == set()
