"""Failures show the component, the check, the law, and the simplest numbers."""

import numpy as np
import pytest
from zoo import ZOO

from fmfkit import testing
from fmfkit.testing import verdict


def failures_of(name):
    component, _ = ZOO[name]
    return component, [result for result in testing.check(component).checks if result.status == "failed"]


def test_failures_name_component_check_law_and_page():
    component, failed = failures_of("CurvatureTooSmall")
    for result in failed:
        assert result.message.startswith(f"{component!r} fails {result.name}\n  law: {result.law}\n  but: ")
        assert f"see: python -m fmfkit.testing --explain {result.name}" in result.message


def test_failures_show_the_simplest_numbers():
    _, (failed,) = failures_of("CurvatureTooSmall")
    assert "score = 0, y = 0, t = " in failed.message


def test_of_several_places_the_one_with_the_smallest_whole_inputs_is_shown():
    score, y = np.array([0.5, 1.0, 3.0]), np.array([9.0, 8.0, 7.0])
    verdict.require(np.ones(3, bool), "all is well", score=score)
    with pytest.raises(testing.ConformanceError, match=r"^it differs: score = 1, got = 8$"):
        verdict.require(np.zeros(3, bool), "it differs", score=score, got=y)
    with pytest.raises(testing.ConformanceError, match=r"^it differs: score = 3, got = 7$"):
        verdict.require(np.array([True, True, False]), "it differs", score=score, got=y)
