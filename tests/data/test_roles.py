"""Columns of pairs are found by name or place; ratings are numbers; pairs occur once."""

import numpy as np
import pytest
from bookshop import PAIRS, build

from fmfkit.errors import DataError


def test_columns_are_known_by_usual_names():
    data = build()
    assert data.columns == {"query": "user", "target": "book", "rating": "rating", "weight": None, "time": "timestamp"}


def test_columns_can_be_named_or_stand_in_order():
    odd = {"who": PAIRS["user"], "what": PAIRS["book"], "how": PAIRS["rating"]}
    for data in (build(pairs=odd), build(pairs=odd, query="who", target="what", rating="how")):
        np.testing.assert_array_equal(data.y, PAIRS["rating"])
        assert data.queries.ids.at([0]) == ["ann"]


def test_pairs_without_a_rating_are_positives():
    data = build(pairs={"user": ["a", "b"], "item": ["x", "y"]})
    np.testing.assert_array_equal(data.y, [1, 1])


def test_duplicates_are_settled_as_asked():
    twice = {"user": ["a", "a", "b"], "item": [1, 1, 1], "rating": [1.0, 3.0, 5.0]}
    assert build(pairs=twice, duplicates="last").y.tolist() == [3, 5]
    assert build(pairs=twice, duplicates="mean").y.tolist() == [2, 5]


BAD = {
    "a missing column": ({"rating": "stars"}, "there is no column 'stars' for the rating; the columns are"),
    "a duplicate pair": (
        {"pairs": {"user": [1, 1], "item": [2, 2]}},
        "1 rows repeat a pair, such as user 1 with item 2; pass duplicates=",
    ),
    "a rating that is no number": (
        {"pairs": {"user": [1, 2], "item": [1, 2], "rating": ["good", "bad"]}},
        "column 'rating', the rating, holds String, expected numbers",
    ),
    "a NaN rating": (
        {"pairs": {"user": [1, 2], "item": [1, 2], "rating": [1, np.nan]}},
        "missing or not finite, first in row 1",
    ),
    "one column": ({"pairs": {"user": [1, 2]}}, "no column is left for the target"),
}


@pytest.mark.parametrize("what", BAD)
def test_columns_that_cannot_have_their_role_are_refused(what):
    options, message = BAD[what]
    with pytest.raises(DataError, match=message):
        build(**options)


def test_unknown_ways_to_settle_duplicates_are_refused():
    with pytest.raises(ValueError, match="duplicates: expected 'error', 'last' or 'mean', got 'first'"):
        build(duplicates="first")
