"""Penalties and objectives: what they take, and what they refuse."""

import numpy as np
import pytest
from problems import Case
from small_problem import build

from fmfkit import Objective, Penalties, Penalty, losses
from fmfkit.errors import UnknownNameError
from fmfkit.regularizers import ElasticNet


def test_each_part_can_have_a_penalty_of_its_own():
    chosen = Penalties(P=ElasticNet(l2=1), Q=ElasticNet(l2=2), query_bias=ElasticNet(l2=3))
    problem = Case().build(penalty=chosen)
    assert [part.regularizer.l2 for side in problem.sides for part in side.parts] == [3, 1, 2, 2]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"strengths": {"a": -2}}, "strengths: expected a finite number of at least 0"),
        ({"scale": "none"}, "scale: expected 'observations', 'uniform', or an exponent"),
        ({"scale": -0.5}, "scale: expected 'observations', 'uniform', or an exponent"),
        ({"scale": True}, "scale: expected 'observations', 'uniform', or an exponent"),
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


@pytest.mark.parametrize("growth", [-0.5, np.inf, np.nan])
def test_senseless_growth_is_refused(growth):
    with pytest.raises(ValueError, match="growth: expected a finite number of at least 0"):
        Penalty(growth=growth)


BAD = [
    ({"rank": 0}, ValueError, "rank: expected at least 1, got 0"),
    ({"rank": 2.5}, TypeError, "rank: expected a whole number, got 2.5"),
    ({"offset": float("nan")}, ValueError, "offset: expected a number"),
    ({"loss": "sqare"}, UnknownNameError, "no loss is called 'sqare'; did you mean 'square'"),
    ({"loss": losses.Square}, TypeError, r"loss: expected a Loss .* write Square\(\)"),
    ({"penalty": "elasticnet"}, UnknownNameError, "did you mean 'elastic_net'"),
    ({"rank": 2**70}, ValueError, "rank: expected at most 65536"),
    ({"offset": 1j}, ValueError, "offset: expected a number that float32 can hold"),
    ({"offset": "a"}, ValueError, "offset: expected a number that float32 can hold, got 'a'"),
    ({"offset": 1e300}, ValueError, "offset: expected a number that float32 can hold, got 1e[+]300"),
]


@pytest.mark.parametrize(("changes", "error", "message"), BAD)
def test_senseless_objectives_are_refused_with_the_argument_s_name(changes, error, message):
    with pytest.raises(error, match=message):
        build(**changes)
