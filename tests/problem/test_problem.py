"""A problem: offset, biases, and losses that keep their interface."""

import numpy as np
import pytest
from numpy_plugins import NumpySquare
from small_problem import build

from fmfkit.errors import PluginContractError


def test_offset_is_the_loss_s_unless_given():
    assert build().offset == 2.0
    assert build(y=[0, 1, 1], loss="logistic").offset == 0.0
    assert build(offset=0.5).offset == 0.5


def test_biases_are_on_unless_refused():
    assert (build().query_bias, build().target_bias) == (True, True)
    problem = build(query_bias=False)
    assert (problem.query_bias, problem.target_bias) == (False, True)


def test_repr_tells_sizes_not_arrays():
    assert repr(build()) == "<Problem 2 queries x 3 targets, 3 pairs, 2 + 3 features, rank 2, Square(), float32>"


class WrongShape(NumpySquare):
    def gradient(self, score, y):
        return np.zeros((len(y), 2))


class NotNumbers(NumpySquare):
    def value(self, score, y):
        return np.array(["x"] * len(y))


class Nan(NumpySquare):
    def gradient(self, score, y):
        return np.full_like(y, np.nan)


class Concave(NumpySquare):
    def curvature(self, score, y):
        return -2.0


class InPlace(NumpySquare):
    def gradient(self, score, y):
        score -= y
        return 2 * score


class Ragged(NumpySquare):
    def gradient(self, score, y):
        return [[1.0], [2.0, 3.0], []]


class OneNumber(NumpySquare):
    def gradient(self, score, y):
        return 0.0


@pytest.mark.parametrize(
    ("loss", "message"),
    [
        (WrongShape(), r"WrongShape.gradient returned shape \(3, 2\) for a batch of shape \(3,\)"),
        (OneNumber(), r"OneNumber.gradient returned shape \(\) for a batch of shape \(3,\)"),
        (NotNumbers(), "NotNumbers.value returned <U1, expected real numbers"),
        (Ragged(), r"Ragged.gradient returned shape \(\) for a batch"),
        (Nan(), "Nan.gradient returned NaN or infinite values"),
        (Concave(), "Concave.curvature returned -2.0, expected no negative curvature"),
    ],
)
def test_a_loss_that_breaks_its_interface_is_refused_before_any_work(loss, message):
    with pytest.raises(PluginContractError, match=message):
        build(loss=loss)


def test_a_loss_cannot_write_to_what_it_is_given():
    with pytest.raises(ValueError, match="read-only"):
        build(loss=InPlace())


def test_a_loss_is_asked_whether_it_takes_y():
    with pytest.raises(ValueError, match="logistic loss takes y between 0 and 1, got values from 1 to 3"):
        build(loss="logistic")
