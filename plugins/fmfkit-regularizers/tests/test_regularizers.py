import numpy as np
import pytest
from fmfkit_regularizers.concave import MCP
from fmfkit_regularizers.convex import Box, NonNegative

from fmfkit import Problem, fit


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


def test_parameters_stay_within_their_bounds():
    model = fit(problem(Box(low=-0.3, high=0.4, l2=0.01)), rounds=20)
    for W in (model.P, model.Q):
        assert W.min() >= np.float32(-0.3)
        assert W.max() <= np.float32(0.4)
    with pytest.raises(ValueError, match="expected low < high, got 1 and 1"):
        Box(low=1, high=1)
