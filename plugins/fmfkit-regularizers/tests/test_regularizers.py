import numpy as np
import pytest
import scipy.sparse as sp
from fmfkit_regularizers.concave import MCP
from fmfkit_regularizers.convex import Box, NonNegative
from fmfkit_regularizers.rows import GroupLasso, NormBound

from fmfkit import Penalties, Problem, fit
from fmfkit.regularizers import ElasticNet


def problem(regularizer):
    rng = np.random.default_rng(0)
    i, j = np.divmod(rng.choice(40 * 30, 700, replace=False), 30)
    y = rng.random((40, 2))[i, 0] * rng.random((30, 2))[j, 0]
    return Problem.from_coo(i, j, y, rank=4, penalty=regularizer, offset=0.0)


def test_parameters_are_never_negative():
    model = fit(problem(NonNegative(l2=0.01)), rounds=20)
    assert model.P.min() >= 0
    assert model.Q.min() >= 0
    assert model.history[-1].loss < 0.3 * model.history[1].loss


def test_the_concave_penalty_leaves_few_parameters_and_does_not_shrink_them():
    model = fit(problem(MCP(l1=0.02)), rounds=40)
    assert model.history[-1].nonzero < 0.7
    large = np.abs(model.P[model.P != 0])
    assert np.median(large) > 3 * 0.02


def with_useless_blocks(names, regularizer):
    """Train on generated data in which blocks 0 and 1 of 22 make the targets; return the model, and its test error."""
    rng = np.random.default_rng(0)
    users, books, rank = 600, 400, 4
    value = {f"block{b}": rng.integers(0, 10, books) for b in range(22)}
    V = sum(rng.normal(size=(10, rank))[value[f"block{b}"]] for b in range(2))
    i, j = np.divmod(rng.choice(users * books, 40_000, replace=False), books)
    y = np.sum(rng.normal(size=(users, rank))[i] * V[j], axis=1) + 0.5 * rng.normal(size=len(i))
    Z = {"id": sp.eye_array(books, format="csr")}
    Z |= {name: sp.csr_array((np.ones(books), (np.arange(books), value[name])), (books, 10)) for name in names}
    test = rng.random(len(i)) < 0.2
    penalties = Penalties(P=ElasticNet(l2=0.1), Q=regularizer, target_bias=ElasticNet(l2=0.1))
    shape = (users, books)
    problem = Problem.from_coo(i[~test], j[~test], y[~test], shape=shape, rank=8, Z=Z, penalty=penalties)
    model = fit(problem, rounds=40)
    return problem, model, np.sqrt(np.mean((model.predict(i[test], j[test]) - y[test]) ** 2))


def test_useless_feature_blocks_vanish_and_the_test_error_is_as_without_them():
    names = [f"block{b}" for b in range(22)]
    _, _, without = with_useless_blocks(names[:2], GroupLasso(l1=0.1))
    problem, model, error = with_useless_blocks(names, GroupLasso(l1=0.1))
    factors = {name: model.Q[columns, :8] for name, columns in problem.Z.blocks.items()}
    assert [name for name in names if factors[name].any()] == names[:2]
    assert error < 1.01 * without


def test_no_row_is_longer_than_its_bound():
    model = fit(problem(NormBound(radius=0.2)), rounds=20)
    for W in (model.P[:, :4], model.Q[:, :4]):
        assert np.linalg.norm(W, axis=1).max() <= np.float32(0.2)


def test_parameters_stay_within_their_bounds():
    model = fit(problem(Box(low=-0.3, high=0.4, l2=0.01)), rounds=20)
    for W in (model.P, model.Q):
        assert W.min() >= np.float32(-0.3)
        assert W.max() <= np.float32(0.4)
    with pytest.raises(ValueError, match="expected low < high, got 1 and 1"):
        Box(low=1, high=1)
