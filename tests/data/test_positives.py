"""Positives only are recognised by their values, unless the user decides."""

import numpy as np
import pytest
from bookshop import PAIRS, build

from fmfkit.data.positives import all_positive, as_positives, recognise
from fmfkit.errors import DataError

CLICKS = {"user": ["ann", "bob", "ann"], "book": [7, 7, 3]}


def rated(*values):
    return build(pairs=CLICKS | {"rating": values})


@pytest.mark.parametrize(
    ("y", "expected"),
    [
        ([1.0, 1.0], True),
        ([5.0, 5.0, 5.0], True),
        ([0.0, 1.0], False),  # two classes
        ([1.0, 2.0], False),
        ([0.0, 0.0], False),
        ([-1.0, -1.0], False),
        ([], False),
    ],
)
def test_values_that_are_one_number_above_0_are_positives(y, expected):
    assert all_positive(np.array(y)) is expected


def test_the_data_decides_and_says_why():
    without, equal = recognise(build(pairs=CLICKS)), recognise(rated(3.0, 3.0, 3.0))
    assert without.positives
    assert without.note.startswith("the 3 pairs have no ratings: taken as positives only (--rating or rating=")
    assert equal.positives
    assert equal.note == (
        "all 3 values are 3: taken as positives only (--ratings or data='ratings' to treat them as ratings)"
    )
    assert without.warning is equal.warning is None
    for ratings in ((0.0, 1.0, 1.0), (3.0, 3.0, 4.0), (0.0, 0.0, 0.0)):
        found = recognise(rated(*ratings))
        assert (found.positives, found.note, found.warning) == (False, None, None)


def test_the_user_decides_and_is_warned_of_a_likely_mistake():
    assert recognise(rated(1.0, 1.0, 1.0), "positives").warning is None
    assert recognise(rated(1.0, 2.0, 2.0), "ratings").warning is None
    values = recognise(rated(1.0, 5.0, 2.0), "positives")
    assert values.positives
    assert values.warning.startswith("3 distinct values, 1 to 5, are all counted as positives; use --ratings or data=")
    clicks = recognise(build(pairs=CLICKS), "ratings")
    assert not clicks.positives
    assert "all 3 values are 1: as ratings, nothing but this number can be learnt; use --positives" in clicks.warning


def test_pairs_that_did_not_happen_are_no_positives():
    with pytest.raises(DataError, match=r"2 of 3 pairs have y of 0 or less; leave these out.*--ratings or data="):
        recognise(rated(0.0, 5.0, -1.0), "positives")


def test_positives_have_y_1_whatever_their_values():
    assert as_positives(rated(0.0, 5.0, 0.5)).y.tolist() == [0, 1, 1]


def test_the_report_says_what_the_data_is_taken_as():
    clicks = build(pairs=CLICKS)
    told = clicks.report()
    assert told.positives
    assert "2 targets (0 without); positives only" in str(told)
    assert told.notes == (recognise(clicks).note,)
    assert told.notes[0] in str(told).splitlines()
    rated_books = build()
    assert "ratings 1 to 5, mean 2.917" in str(rated_books.report())
    assert not rated_books.report().notes
    asked = rated_books.report(recognised=recognise(rated_books, "positives"))
    assert asked.positives
    assert "warning: 6 distinct values, 1 to 5, are all counted as positives" in str(asked)


def test_the_report_says_how_many_rows_became_weights():
    repeated = {name: PAIRS[name] * 300 for name in ("user", "book")}
    data = build(pairs=repeated)
    assert "1,794 rows that repeat a pair became weights" in str(data.report()).splitlines()
    train, test = data.split_random(0.4)
    assert "1,794 rows" in str(train.report(test))
