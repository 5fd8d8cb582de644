"""Regularizer: what one needs to say, and what it need not."""

import pytest
from numpy_plugins import NumpyRidge

from fmfkit import Regularizer


def test_penalty_and_T_must_be_said():
    assert Regularizer.__abstractmethods__ == {"penalty", "T"}
    with pytest.raises(TypeError, match="abstract"):
        Regularizer()


def test_a_native_form_need_not_be_there():
    assert NumpyRidge().native is None
