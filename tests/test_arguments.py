"""Checks of arguments: numbers that callers give, and what plugins return."""

import attrs
import numpy as np
import pytest

from fmfkit import losses
from fmfkit.arguments import check_batch, frozen, not_negative, suggestion, whole
from fmfkit.errors import PluginContractError


@pytest.mark.parametrize("value", [3, np.int8(3), np.uint64(3), True + 2])
def test_whole_numbers_of_every_kind_are_taken(value):
    found = whole("rank", value, least=3, most=3)
    assert found == 3
    assert type(found) is int


@pytest.mark.parametrize(
    ("value", "error", "message"),
    [
        (2, ValueError, "rank: expected at least 3, got 2"),
        (5, ValueError, "rank: expected at most 4, got 5"),
        (3.0, TypeError, "rank: expected a whole number, got 3.0"),
        ("3", TypeError, "rank: expected a whole number, got '3'"),
        (None, TypeError, "rank: expected a whole number, got None"),
    ],
)
def test_other_numbers_are_refused_by_name(value, error, message):
    with pytest.raises(error, match=message):
        whole("rank", value, least=3, most=4)


@attrs.frozen
class Penalised:
    strength: float = attrs.field(default=0.0, validator=not_negative)


@pytest.mark.parametrize("value", [-1e-9, np.inf, np.nan])
def test_negative_and_infinite_attributes_are_refused(value):
    Penalised(1e300)
    with pytest.raises(ValueError, match="strength: expected a finite number of at least 0"):
        Penalised(value)


def test_misspelt_names_are_recognised_and_others_are_not():
    assert suggestion("sqare", ["square", "logistic"]) == "; did you mean 'square'?"
    assert suggestion("huber", ["square", "logistic"]) == ""


def test_a_frozen_view_shares_memory_and_cannot_be_written_to():
    array = np.zeros(3)
    view = frozen(array)
    array[0] = 1
    assert view[0] == 1
    with pytest.raises(ValueError, match="read-only"):
        view[0] = 2


@pytest.mark.parametrize(
    ("method", "result", "message"),
    [
        ("value", np.zeros(2), r"Square.value returned shape \(2,\) for a batch of shape \(3,\)"),
        ("value", 0.0, r"returned shape \(\) for a batch"),
        ("value", [[1], [2, 3]], r"returned shape \(\) for a batch"),
        ("value", np.array(["a", "b", "c"]), "returned <U1, expected real numbers"),
        ("gradient", np.array([1, np.nan, 1]), "returned NaN or infinite values"),
        ("curvature", np.array([1.0, -1, 1]), "returned -1.0, expected no negative curvature"),
    ],
)
def test_answers_that_break_an_interface_are_refused(method, result, message):
    with pytest.raises(PluginContractError, match=message):
        check_batch(losses.Square(), method, result, (3,))


def test_answers_that_keep_an_interface_are_returned_as_they_are():
    for method, result, options in (
        ("value", np.ones(3), {}),
        ("curvature", 2.0, {"scalar": True}),
        ("penalty", np.array([0, np.inf, 1]), {}),  # a penalty may forbid values
    ):
        assert check_batch(losses.Square(), method, result, (3,), **options) is result
