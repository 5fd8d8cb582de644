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
        ({"bytes": np.zeros(3, np.int8)}, "expected bytes"),
        ({"count": np.array([3])}, "2 values, expected 3"),
        ({"ends": np.array([2])}, "do not run from 0"),
        ({"ends": np.array([2, 1, 3])}, "do not run from 0"),
        ({"ends": np.array([1, 3], np.int32)}, "do not run from 0"),
    ],
)
def test_arrays_that_are_no_text_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        unpack(pack(pl.Series(["a", "b"])) | changes)
