"""The problems that solvers are tried on have what they are named for."""

import numpy as np
import pytest

from fmfkit import fit, solvers
from fmfkit.testing import families


@pytest.mark.parametrize("name", families.convexes())
def test_the_least_objective_is_where_a_good_solver_ends(name):
    made = families.convexes()[name]
    reached = fit(made.problem, solver=solvers.L2M(), rounds=200, threads=1).history[-1].objective
    assert reached == pytest.approx(made.least, rel=1e-6)


def test_each_problem_has_what_it_is_named_for():
    made = {name: make() for name, make in families.SMALL.items()}
    weight = made["spread weights"].query.pairs.weight
    assert (weight == 0).any()
    assert weight.max() > 10 * weight[weight > 0].min()
    assert made["a large offset"].offset == 300
    assert np.ptp(made["growth"].query.factors.growth) > 10
    assert made["all cells"].cells.value != made["all cells"].offset
    assert np.ptp(made["strengths of feature blocks"].query.factors.strength) > 10
    assert {problem.rank for problem in made.values()} >= {1, 3, 8, 13, 33}
    assert families.large().pairs > 100_000
