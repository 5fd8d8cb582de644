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


def test_ends_are_counted_in_bytes():
    packed = pack(pl.Series(["é", "", "ab"]))
    assert packed["ends"].tolist() == [2, 2, 4]
    assert packed["bytes"].tobytes().decode() == "éab"


@pytest.mark.parametrize(
    ("content", "ends", "message"),
    [
        (np.zeros(3, np.uint8), np.array([2]), "do not run from 0"),
        (np.zeros(3, np.uint8), np.array([2, 1, 3]), "do not run from 0"),
        (np.zeros(3, np.uint8), np.zeros(0, np.int64), "do not run from 0"),
        (np.zeros(3, np.int8), np.array([3]), "expected bytes and int64 ends"),
        (np.zeros(3, np.uint8), np.array([3], np.int32), "expected bytes and int64 ends"),
    ],
)
def test_arrays_that_are_no_text_are_refused(content, ends, message):
    with pytest.raises(ValueError, match=message):
        unpack({"bytes": content, "ends": ends})
