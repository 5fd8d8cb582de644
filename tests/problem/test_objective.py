"""Penalties and objectives: what they take, and the strengths they make."""

import numpy as np
import pytest
import scipy.sparse as sp
from problems import Case

from fmfkit import Objective, Penalties, Penalty, Problem
from fmfkit.regularizers import ElasticNet


def test_strength_by_observations_is_one_plus_the_weighted_squares():
    X = sp.csr_array(np.array([[1.0, 2.0], [0.0, 3.0]]))
    problem = Problem.from_coo([0, 0, 1], [0, 1, 1], [1, 2, 3], X=X, rank=1, weight=[1, 3, 0.5], dtype="float64")
    np.testing.assert_allclose(problem.query.factors.strength, [1 + 4, 1 + 4 * 4 + 0.5 * 9])


def test_strength_uniform_is_one_and_blocks_multiply():
    case = Case()
    uniform = case.build(penalty=Penalty(scale="uniform", strengths={"shared": 5}))
    assert set(uniform.query.factors.strength[uniform.X.blocks["indicator"]]) == {1.0}
    assert set(uniform.query.factors.strength[uniform.X.blocks["shared"]]) == {5.0}
    plain, stronger = case.build(), case.build(penalty=Penalty(strengths={"shared": 5}))
    part = plain.X.blocks["shared"]
    np.testing.assert_allclose(stronger.query.factors.strength[part], 5 * plain.query.factors.strength[part])


def test_each_part_can_have_a_penalty_of_its_own():
    chosen = Penalties(P=ElasticNet(l2=1), Q=ElasticNet(l2=2), query_bias=ElasticNet(l2=3))
    problem = Case().build(penalty=chosen)
    assert [part.regularizer.l2 for side in problem.sides for part in side.parts] == [3, 1, 2, 2]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"strengths": {"a": -2}}, "strengths: expected a finite number of at least 0"),
        ({"scale": "none"}, "'scale' must be in"),
        ({"growth": -1}, "growth: expected a finite number of at least 0"),
    ],
)
def test_a_penalty_refuses_bad_strengths(options, message):
    with pytest.raises(ValueError, match=message):
        Penalty(**options)


def test_penalties_take_names_and_regularizers_and_refuse_anything_else():
    assert Penalties(P="elastic_net", Q=ElasticNet(l2=3)) == Penalties(Q=Penalty(ElasticNet(l2=3)))
    with pytest.raises(TypeError, match=r"regularizer: expected a Regularizer .*write ElasticNet\(\)"):
        Penalties(P=ElasticNet)


def test_an_objective_resolves_names_and_takes_one_penalty_for_all_parts():
    objective = Objective(rank=3, loss="logistic", penalty=ElasticNet(l2=2))
    assert objective.penalty.query_bias == objective.penalty.Q == Penalty(ElasticNet(l2=2))
    with pytest.raises(ValueError, match="rank: expected at least 1"):
        Objective(rank=0)
