"""Each feature's strengths are made from a penalty, the features and the pairs."""

import numpy as np
import pytest
import scipy.sparse as sp
from problems import Case
from small_problem import build

from fmfkit import Penalties, Penalty, Problem
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


def test_a_number_as_scale_is_an_exponent_of_the_frequency():
    X = sp.csr_array(np.array([[1.0, 2.0], [0.0, 3.0], [1.0, 0.0]]))  # the last query has no pair

    def strength(scale):
        penalty = Penalty(scale=scale)
        problem = Problem.from_coo([0, 0, 1], [0, 1, 1], [1, 2, 3], X=X, rank=1, dtype="float64", penalty=penalty)
        return problem.query.factors.strength

    often, mean = np.array([1 + 2.0, 1 + 2 * 4 + 9.0]), 1 + 1.5
    np.testing.assert_allclose(strength(0.5), mean * np.sqrt(often / mean))
    np.testing.assert_allclose(strength(0), [mean, mean])
    np.testing.assert_allclose(strength(1), strength("observations"))


def test_small_weights_beside_huge_ones_keep_their_rows_totals():
    problem = Problem.from_coo([0, 1, 2], [0, 1, 2], [1, 2, 3], rank=1, weight=[1e20, 1, 1])
    np.testing.assert_array_equal(problem.query.factors.strength, np.array([1e20, 2, 2], np.float32))


def test_a_block_is_known_by_its_own_side_unless_both_share_the_regularizer():
    features = {"X": {"a": np.eye(2)}, "Z": {"b": np.eye(3)}}
    build(**features, penalty=Penalty(strengths={"a": 2, "b": 3}))
    with pytest.raises(ValueError, match=r"P has no feature block 'b'; there are \['a'\]"):
        build(**features, penalty=Penalties(P=Penalty(strengths={"b": 2})))


def test_growth_multiplies_the_strengths_of_later_dimensions_of_factors_alone():
    problem = build(rank=4, penalty=Penalty(growth=0.5))
    for side in problem.sides:
        np.testing.assert_allclose(side.factors.growth, [[1, 2**0.5, 3**0.5, 2]], rtol=1e-6)
        np.testing.assert_allclose(side.factors.strength_in(3), 2 * side.factors.strength)
        np.testing.assert_array_equal(side.bias.growth, [[1]])
    np.testing.assert_array_equal(build(rank=4).query.factors.growth, np.ones((1, 4)))


def test_growth_too_large_for_the_precision_is_refused():
    with pytest.raises(ValueError, match=r"too large for float32: .* lower l1, l2 and growth"):
        build(rank=64, penalty=Penalty(growth=30))


BAD = [
    ({"penalty": Penalty(strengths={"indicatr": 2})}, ValueError, "no feature block 'indicatr'.*'indicator'"),
    ({"penalty": ElasticNet(l2=1e39)}, ValueError, "the strength of feature 0 is too large for float32"),
    ({"X": np.full((2, 1), 1e25)}, ValueError, r"X: values such as 1e\+25 are too large for float32"),
]


@pytest.mark.parametrize(("changes", "error", "message"), BAD)
def test_strengths_that_cannot_be_made_are_refused(changes, error, message):
    with pytest.raises(error, match=message):
        build(**changes)
