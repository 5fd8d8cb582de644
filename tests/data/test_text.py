"""Text becomes arrays and comes back, whatever it holds."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fmfkit.data.text import SEPARATORS, pack, unpack


@given(st.lists(st.text(st.characters(codec="utf-8"))))
def test_any_text_comes_back(values):
    column = pl.Series(values, dtype=pl.String)
    assert unpack(pack(column)).to_list() == values


@pytest.mark.parametrize("used", range(len(SEPARATORS) + 1))
def test_text_that_holds_separators_itself_comes_back(used):
    values = ["".join(SEPARATORS[:used]), "", "é" * 3, *SEPARATORS[:used]]
    assert unpack(pack(pl.Series(values, dtype=pl.String))).to_list() == values


def test_where_all_separators_are_used_ends_are_counted_in_bytes():
    packed = pack(pl.Series(["é", "", SEPARATORS]))
    assert packed["ends"].tolist() == [2, 2, 2 + len(SEPARATORS)]
    assert "separator" not in packed


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"bytes": np.zeros(3, np.int8)}, "bytes: expected uint8"),
        ({"count": np.array([3])}, "2 values, expected 3"),
        ({"ends": np.array([2])}, "do not run from 0"),
        ({"ends": np.array([2, 1, 3])}, "do not run from 0"),
        ({"ends": np.array([1, 3], np.int32)}, "ends: expected int64"),
        ({"ends": np.zeros(0, np.int64)}, "do not run from 0"),
        ({"separator": np.array([255], np.uint8)}, "stands between values, expected one of"),
        ({"separator": np.zeros(0, np.uint8)}, "separator: expected uint8"),
        ({"count": np.zeros(0, np.int64)}, "count: expected int64"),
        ({"count": np.array([0])}, "2 values, expected 0"),
        ({"bytes": np.array([0xFF, 10, 65], np.uint8)}, "utf-8"),
    ],
)
def test_arrays_that_are_no_text_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        unpack(pack(pl.Series(["a", "b"])) | changes)
