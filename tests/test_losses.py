"""The built-in losses: derivatives, majorisers, offsets."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fmfkit import losses

LOSSES = [losses.Square(), losses.Logistic()]
scores = st.floats(-30, 30)
steps = st.floats(-100, 100)


def targets(loss):
    return np.array([-3.0, 0.0, 4.5]) if isinstance(loss, losses.Square) else np.array([0.0, 0.3, 1.0])


@pytest.mark.parametrize("loss", LOSSES)
@given(score=scores)
def test_gradient_is_the_derivative_of_value(loss, score):
    y = targets(loss)
    s, h = np.full(3, score), 1e-6
    slope = (loss.value(s + h, y) - loss.value(s - h, y)) / (2 * h)
    np.testing.assert_allclose(loss.gradient(s, y), slope, atol=1e-6, rtol=1e-6)


@pytest.mark.parametrize("loss", LOSSES)
@given(score=scores, step=steps)
def test_curvature_majorises_for_every_step(loss, score, step):
    y = targets(loss)
    s = np.full(3, score)
    bound = loss.value(s, y) + loss.gradient(s, y) * step + loss.curvature(s, y) / 2 * step**2
    assert (loss.value(s + step, y) <= bound + 1e-9 * (1 + np.abs(bound))).all()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("loss", LOSSES)
def test_losses_keep_the_precision_and_stay_finite_at_extremes(loss, dtype):
    s = np.array([-1e4, -90, 0, 90, 1e4], dtype)
    y = np.array([0, 1, 0.5, 0, 1], dtype)
    for result in (loss.value(s, y), loss.gradient(s, y), loss.link(s)):
        assert result.dtype == dtype
        assert np.isfinite(result).all()


def test_logistic_is_the_paper_s_formula_with_its_slip_mended():
    s, y = np.array([0.7, -2.0]), np.array([0.2, 1.0])
    expected = y * np.log(1 + np.exp(-s)) + (1 - y) * np.log(1 + np.exp(s))
    np.testing.assert_allclose(losses.Logistic().value(s, y), expected)


def test_square_offset_is_the_weighted_mean_and_logistic_s_is_zero():
    y, w = np.array([1.0, 2.0, 6.0]), np.array([1.0, 1.0, 0.0])
    assert losses.Square().offset(y, None) == 3.0
    assert losses.Square().offset(y, w) == 1.5
    assert losses.Square().offset(y, 0 * w) == 0.0
    assert losses.Logistic().offset(y, None) == 0.0


def test_logistic_refuses_targets_outside_0_and_1():
    with pytest.raises(ValueError, match=r"between 0 and 1, got values from -1 to 1"):
        losses.Logistic().check_y(np.array([-1.0, 1.0]))


def test_losses_of_the_same_kind_are_equal_and_have_short_reprs():
    assert losses.Square() == losses.Square()
    assert repr(losses.Logistic()) == "Logistic()"
