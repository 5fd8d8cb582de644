"""The checks of solvers: good ones pass, each broken one fails the checks it should."""

import pytest
from zoo import ZOO, assert_caught, of_kind

from fmfkit import Solver, solvers, testing
from fmfkit.testing import running

GOOD = [
    solvers.Panel(),
    solvers.PL2M(),
    solvers.L2M(),
    solvers.Naive(),
    solvers.SGD(learning_rate=0.02),
    solvers.Gibbs(),
]


@pytest.mark.parametrize("component", GOOD, ids=repr)
def test_good_solvers_pass(component):
    results = testing.check(component)
    assert results.ok, str(results)


@pytest.mark.parametrize("name", of_kind(Solver))
def test_each_broken_solver_fails_the_checks_it_should(name):
    assert_caught(name)


def test_every_check_of_solvers_catches_something():
    caught = set().union(*(ZOO[name][1] for name in of_kind(Solver)))
    assert {check.__name__ for check in running.CHECKS[Solver]} - caught == set()
