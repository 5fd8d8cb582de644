import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from problems import Case
from scipy.optimize import minimize_scalar

from fmfkit import Problem
from fmfkit.regularizers import ElasticNet, Regularization

numbers = st.floats(-5, 5)
strengths = st.sampled_from([0.0, 0.2, 3.0])


@given(
    x=numbers, y=st.floats(0.01, 5), w=numbers, l1=strengths, l2=strengths, strength=st.sampled_from([0.0, 1.0, 2.5])
)
def test_T_minimises_against_brute_force(x, y, w, l1, l2, strength):
    net = ElasticNet(l1=l1, l2=l2)

    def total(d):
        return x * d + y / 2 * d * d + float(net.penalty(np.array([w + d]), strength)[0])

    d = float(net.T(np.array([x]), np.array([y]), np.array([w]), strength)[0])
    reach = 2 * (abs(x) + abs(w) + 1) / y + 10
    best = minimize_scalar(total, bounds=(-reach, reach), method="bounded", options={"xatol": 1e-10}).fun
    assert total(d) <= min(best, total(-w), total(0)) + 1e-8


@given(w=numbers, x=numbers)
def test_T_without_any_curvature_moves_only_for_the_l1_term(w, x):
    zero = np.zeros(1)
    assert ElasticNet(l1=1, l2=0).T(zero, zero, np.array([w]))[0] == -w
    assert ElasticNet(l1=0, l2=0).T(zero, zero, np.array([w]))[0] == 0


def test_T_is_the_paper_s_two_branch_formula():
    a, lam = 0.3, 0.7
    x, y, w = np.array([1.0, -1.0, 0.1]), np.array([2.0, 2.0, 2.0]), np.array([0.5, 0.5, -0.01])
    expected = [
        max(-(xi + lam * wi + a) / (yi + lam), -wi)
        if wi - (xi + lam * wi) / (yi + lam) >= 0
        else min(-(xi + lam * wi - a) / (yi + lam), -wi)
        for xi, yi, wi in zip(x, y, w, strict=True)
    ]
    np.testing.assert_allclose(ElasticNet(l1=a, l2=lam).T(x, y, w), expected)


def test_strength_by_observations_is_one_plus_the_weighted_squares():
    X = sp.csr_array(np.array([[1.0, 2.0], [0.0, 3.0]]))
    problem = Problem.from_coo([0, 0, 1], [0, 1, 1], [1, 2, 3], X=X, rank=1, weight=[1, 3, 0.5], dtype="float64")
    np.testing.assert_allclose(problem.query.factors.strength, [1 + 4, 1 + 4 * 4 + 0.5 * 9])


def test_strength_uniform_is_one_and_blocks_multiply():
    case = Case()
    uniform = case.build(regularizer=ElasticNet(scale="uniform", blocks={"shared": 5}))
    assert set(uniform.query.factors.strength[uniform.X.blocks["indicator"]]) == {1.0}
    assert set(uniform.query.factors.strength[uniform.X.blocks["shared"]]) == {5.0}
    plain, stronger = case.build(), case.build(regularizer=ElasticNet(blocks={"shared": 5}))
    part = plain.X.blocks["shared"]
    np.testing.assert_allclose(stronger.query.factors.strength[part], 5 * plain.query.factors.strength[part])


def test_each_part_can_have_a_regularizer_of_its_own():
    chosen = Regularization(P=ElasticNet(l2=1), Q=ElasticNet(l2=2), query_bias=ElasticNet(l2=3))
    problem = Case().build(regularizer=chosen)
    assert [part.regularizer.l2 for side in problem.sides for part in side.parts] == [3, 1, 2, 2]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"l1": -1}, "l1: expected a finite number of at least 0, got -1.0"),
        ({"l2": float("nan")}, "l2: expected a finite number"),
        ({"blocks": {"a": -2}}, "blocks: expected a finite number of at least 0"),
        ({"scale": "none"}, "'scale' must be in"),
    ],
)
def test_elastic_net_refuses_bad_strengths(options, message):
    with pytest.raises(ValueError, match=message):
        ElasticNet(**options)


def test_regularization_takes_names_and_refuses_anything_else():
    assert Regularization(P="elastic_net", Q=ElasticNet(l2=3)) == Regularization(Q=ElasticNet(l2=3))
    with pytest.raises(TypeError, match=r"regularizer: expected a Regularizer .*write ElasticNet\(\)"):
        Regularization(P=ElasticNet)
