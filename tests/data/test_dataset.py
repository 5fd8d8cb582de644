"""A data set: pairs by row numbers, and what the rows stand for."""

import numpy as np
import pytest
from bookshop import BOOKS, PAIRS, build

from fmfkit.data import (
    Tags,
)
from fmfkit.errors import DataError


def test_pairs_have_row_numbers_in_the_order_in_which_ids_come():
    data = build(targets=BOOKS, target_blocks=[Tags("genres")])
    assert data.queries.ids.at([0, 1, 2]) == ["ann", "bob", "eve"]
    np.testing.assert_array_equal(data.query, [0, 1, 0, 2, 1, 2])
    np.testing.assert_array_equal(data.target, [0, 0, 1, 1, 2, 2])
    np.testing.assert_array_equal(data.y, PAIRS["rating"])
    np.testing.assert_array_equal(data.time, PAIRS["timestamp"])
    assert len(data) == 6
    assert repr(data) == "Dataset(6 pairs, 3 queries, 4 targets, blocks ['target.genres'])"


def test_other_pairs_have_the_same_ids_and_unknown_ones_are_refused():
    data = build(targets=BOOKS, target_blocks=[Tags("genres")])
    with pytest.warns(UserWarning, match="pairs: 1 rows repeat a pair: of each pair the last row counts"):
        other = data.with_pairs({"user": ["eve", "ann", "eve"], "book": [9, 3, 9], "rating": [1.0, 2.0, 3.0]})
    assert other.targets is data.targets
    assert other.query.tolist() == [0, 2]  # of a pair that occurs twice the last counts
    assert other.target.tolist() == [1, 3]
    assert other.y.tolist() == [2.0, 3.0]
    with pytest.raises(DataError, match="pairs, queries: 1 ids are not known, such as 'zoe'"):
        data.with_pairs({"user": ["zoe"], "book": [3], "rating": [1.0]})
    with pytest.raises(DataError, match="there is no column 'rating' for the rating"):
        data.with_pairs({"user": ["eve"], "book": [3]})
    assert data.with_pairs({"user": ["eve"], "book": [3]}, ratings=False).y.tolist() == [1.0]


def test_the_order_is_by_query_then_by_target():
    data = build()
    by = list(zip(data.query[data.order], data.target[data.order], strict=True))
    assert by == sorted(by)
    assert sorted(data.order) == list(range(6))
