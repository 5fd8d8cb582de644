"""Native functions are called amid canaries."""

import numpy as np
import pytest
from zoo import NativeSquare

from fmfkit.testing import tables


@pytest.mark.parametrize("length", [0, 1, 7, 1000])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_good_functions_hurt_no_canary(length, dtype):
    rng = np.random.default_rng(0)
    score, y = rng.normal(size=(2, length)).astype(dtype)
    calls = tables.Calls(NativeSquare().native)
    (value,) = calls("value", score, y, shift=1)
    np.testing.assert_allclose(value, (score - y) ** 2, rtol=1e-6)
    assert calls.troubles == []


def test_writing_elsewhere_is_told_with_its_place():
    given = np.zeros(6), np.ones(6)
    for fault, trouble in ((3, "output 1, past its end"), (4, "output 1, before its beginning"), (5, "input 1, at 3")):
        calls = tables.Calls(NativeSquare(fault=fault).native)
        calls("value", *given)
        assert calls.troubles == [f"value_f64 writes to its {trouble}, for n = 6"]


def test_a_function_that_writes_past_an_empty_array_is_seen():
    calls = tables.Calls(NativeSquare(fault=3).native)
    calls("value", np.zeros(0, np.float32), np.zeros(0, np.float32))
    assert calls.troubles == ["value_f32 writes to its output 1, past its end, for n = 0"]
