"""Columns of pairs are found by name or place; ratings are numbers; pairs occur once."""

import warnings

import numpy as np
import polars as pl
import pytest
from bookshop import PAIRS, build

from fmfkit.data import Dataset
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


@pytest.mark.parametrize(
    ("written", "y"),
    [
        (["2,5", "3", "4,5", "k. A."], [2.5, 3, 4.5]),
        (["3", "4", "5", "2,5", "k. A."], [3, 4, 5, 2.5]),
        (["2.5", "3", "4.5", "k. A."], [2.5, 3, 4.5]),
        (["2.5", "3", "1,000", "4"], [2.5, 3, 4]),  # a comma beside points is for thousands
    ],
)
def test_ratings_written_as_text_may_have_decimal_commas(written, y):
    pairs = {"user": ["a"] * len(written), "item": [*range(len(written))], "stars": written}
    with pytest.warns(UserWarning, match=r"1 of \d values of 'stars', the rating, are missing or no finite numbers"):
        assert build(pairs=pairs, bad_rows="skip").y.tolist() == y
    named = build(pairs={"user": ["a", "b"], "item": [1, 1], "note": ["0,5", "1,5"]}, rating="note")
    assert named.y.tolist() == [0.5, 1.5]


def test_duplicates_are_settled_as_asked():
    twice = {"user": ["a", "a", "b"], "item": [1, 1, 1], "rating": [1.0, 3.0, 5.0]}
    last, mean = build(pairs=twice, duplicates="last"), build(pairs=twice, duplicates="mean")
    assert (last.y.tolist(), mean.y.tolist()) == ([3, 5], [2, 5])
    assert "1 rows repeat a pair: of each pair the last row counts" in str(last.report())
    assert "1 rows repeat a pair: the mean of each pair's ratings counts" in str(mean.report())
    with pytest.warns(UserWarning, match="pairs: 1 rows repeat a pair: of each pair the last row counts"):
        assert len(last.with_pairs(twice)) == 2
    counted = build(pairs=twice, duplicates="count")
    assert counted.y.tolist() == [2, 5]
    assert counted.weight.tolist() == [2, 1]


CLICKS = {"user": ["a", "b", "a", "a"], "item": [1, 1, 1, 2], "time": [1, 2, 3, 4]}
"""User a clicked on item 1 twice."""


@pytest.mark.parametrize("ratings", [{}, {"rating": [0.1] * 4}])  # three times 0.1, over three, is not 0.1
@pytest.mark.parametrize("duplicates", ["auto", "count"])
def test_repeated_positives_become_weights(ratings, duplicates):
    thrice = {name: [*values, values[0]] for name, values in (CLICKS | ratings).items()}
    data = build(pairs=thrice, duplicates=duplicates)
    assert data.weight.tolist() == [3, 1, 1]
    assert data.counted == 2
    assert data.y.tolist() == ratings.get("rating", [1.0] * 3)[:3]
    assert data.time.tolist() == [1, 2, 4]  # of the rows of a pair, that of the last
    assert data.columns["weight"] is None  # further pairs need none
    assert data.only(data.query == 0).counted == 2
    more = data.with_pairs({"user": ["b"], "item": [1]} | {name: [1.0] for name in ratings})
    assert (more.weight, more.counted) == (None, 0)


def test_given_weights_of_repeated_positives_are_added_up():
    data = build(pairs=CLICKS | {"weight": [0.5, 2, 3, 4]})
    assert data.weight.tolist() == [3.5, 2, 4]
    assert data.columns["weight"] == "weight"


def test_positives_that_occur_once_have_no_weights():
    data = build(pairs={name: values[1:] for name, values in CLICKS.items()})
    assert data.weight is None
    assert data.counted == 0


@pytest.mark.parametrize("ratings", [[1.0, 1.0, 1.0, 2.0], [0.0] * 4, [-1.0] * 4])
def test_repeated_ratings_are_an_error_unless_asked_for(ratings):
    with pytest.raises(DataError, match=r"1 rows repeat a pair.*duplicates='last', 'mean' or 'count', or --duplicates"):
        build(pairs=CLICKS | {"rating": ratings})


def test_what_did_not_happen_is_not_counted():
    with pytest.raises(DataError, match="2 values of 'rating', the rating, are 0 or less; leave these rows out"):
        build(pairs=CLICKS | {"rating": [0.0, 1.0, 1.0, -1.0]}, duplicates="count")


BAD = {
    "a missing column": ({"rating": "stars"}, "there is no column 'stars' for the rating; the columns are"),
    "a duplicate pair": (
        {"pairs": {"user": [1, 1], "item": [2, 2]}, "duplicates": "error"},
        "1 rows repeat a pair, such as user 1 with item 2; pass duplicates=",
    ),
    "a rating that is no number": (
        {"pairs": {"user": [1, 2], "item": [1, 2], "rating": ["good", "bad"]}},
        "column 'rating', the rating, holds String, expected numbers",
    ),
    "a NaN rating": (
        {"pairs": {"user": [1, 2], "item": [1, 2], "rating": [1, np.nan]}},
        "1 of 2 values of 'rating', the rating, are missing or no finite numbers: row 1",
    ),
    "one column": ({"pairs": {"user": [1, 2]}}, "no column is left for the target"),
}


@pytest.mark.parametrize("what", BAD)
def test_columns_that_cannot_have_their_role_are_refused(what):
    options, message = BAD[what]
    with pytest.raises(DataError, match=message):
        build(**options)


def test_unknown_ways_to_settle_duplicates_are_refused():
    with pytest.raises(ValueError, match=r"duplicates: expected one of \['auto', .* 'count'\], got 'first'"):
        build(duplicates="first")


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"query": "user", "target": "user"}, "the query and the target"),
        ({"query": "user", "rating": "user"}, "the query and the rating"),
        ({"rating": "rating", "weight": "rating"}, "the rating and the weight"),
    ],
)
def test_a_column_for_two_things_is_refused(given, told):
    with pytest.raises(DataError, match=f"is given for {told}; each needs a column of its own"):
        Dataset.of({"user": [1, 2], "item": [1, 2], "rating": [1.0, 2.0]}, **given)


def test_times_of_more_than_64_bits_are_refused():
    frame = pl.DataFrame({"user": [1], "book": [2], "time": pl.Series([2**70], dtype=pl.Int128)})
    with pytest.raises(DataError, match="column 'time', the time, holds Int128, expected at most 64 bits"):
        Dataset.of(frame)


def test_columns_found_by_place_and_columns_for_nothing_are_said():
    odd = {"who": [1, 2], "what": [3, 4], "how": [5.0, 6.0], "remark": ["good", "bad"]}
    said = str(build(pairs=odd).report())
    assert "columns of the pairs, by place: 'who' the query, 'what' the target, 'how' the rating" in said
    assert "not used: columns 'remark' of the pairs (features describe queries or targets, not pairs)" in said
    said = str(build(pairs=odd, query="who", target="what", rating="how").report())
    assert "by place" not in said


SPOILT = {"user": [1, None, 3, 4, 5], "item": [1, 2, 3, 4, 5], "rating": ["1", "2", "-", "4", "5.5"]}


def test_bad_rows_are_listed_by_their_numbers():
    with pytest.raises(DataError, match="1 of 5 values of 'user', the query, are missing: row 1, counted from 0; mend"):
        build(pairs=SPOILT)
    with pytest.raises(DataError, match=r"1 of 5 values of 'rating', .* finite numbers: row 2 \('-'\), counted from 0"):
        build(pairs=SPOILT | {"user": [1, 2, 3, 4, 5]})


def test_bad_rows_are_left_out_if_asked_for_and_it_is_said():
    with pytest.warns(UserWarning, match="are left out") as told:
        data = build(pairs=SPOILT, bad_rows="skip")
    assert len(told) == 2
    assert data.y.tolist() == [1, 4, 5.5]
    assert data.queries.ids.at([0, 1, 2]) == [1, 4, 5]


def test_a_column_of_text_with_numbers_in_most_rows_is_the_rating_and_not_left_out():
    with pytest.raises(DataError, match="1 of 3 values of 'stars given', the rating"):
        build(pairs={"user": [1, 2, 3], "item": [1, 2, 3], "stars given": ["3", "n/a", "4"]})


def test_data_without_a_good_row_and_unknown_ways_are_refused():
    with pytest.warns(UserWarning, match="left out"), pytest.raises(DataError, match="no row is left"):
        build(pairs={"user": [1], "item": [1], "rating": [np.nan]}, bad_rows="skip")
    with pytest.raises(ValueError, match=r"bad_rows: expected one of \['error', 'skip'\], got 'drop'"):
        build(pairs=SPOILT, bad_rows="drop")


@pytest.mark.parametrize(
    "when", [["01.02.2014 09:35", "03.02.2014 10:00"], np.array(["2014-02-01", "2014-02-03"], "datetime64[D]")]
)
def test_columns_by_place_pass_over_times_and_it_is_said(when):
    data = build(pairs={"Kunde": ["a", "b"], "Zeitpunkt": when, "Artikel": [7, 8]})
    assert (data.columns["query"], data.columns["target"], data.columns["rating"]) == ("Kunde", "Artikel", None)
    assert data.notes[0] == (
        "columns of the pairs, by place: 'Kunde' the query, 'Artikel' the target; passed over 'Zeitpunkt', which holds "
        "times: --time or time= names it"
    )
    with pytest.raises(DataError, match="no column is left for the target but 'Zeitpunkt', which holds times: target="):
        build(pairs={"Kunde": ["a", "b"], "Zeitpunkt": when})


@pytest.mark.parametrize("zeros", ["", "00"])
def test_ids_are_numbers_where_only_rows_left_out_made_them_text(tmp_path, zeros):
    path = tmp_path / "a.csv"
    path.write_text(f"user;item;rating\n{zeros}1;7;3\n{zeros}2;8;4\nGesamt;;7\n")
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        data = Dataset.of(path, bad_rows="skip")
    assert data.queries.ids.at([0, 1]) == [1, 2]
    told = [str(one.message) for one in said]
    assert "1 of 3 values of 'item', the target, are missing: line 4; they are left out" in told[0]
    without = f", without the zeros that they begin with, such as {zeros}1" if zeros else ""
    assert told[1:] == [f"pairs: without the rows left out, ids of 'user' are numbers, and are read as such{without}"]
    frame = pl.DataFrame({"user": ["1", "2", "x"], "item": [7, 8, None]})
    with pytest.warns(UserWarning, match="1 of 3 values of 'item'"):
        assert build(pairs=frame, bad_rows="skip").queries.ids.at([0]) == ["1"]  # text in frames was meant as text


def test_thousands_are_named_by_line_and_value(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("user;item;rating\n1;7;3,5\n2;8;4\n2;7;1.234,5\n")
    with pytest.raises(DataError, match=r"are missing or no finite numbers: line 4 \('1.234,5'\); mend them"):
        Dataset.of(path)
