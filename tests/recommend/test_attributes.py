"""Attributes of targets are kept, saved, and filtered by."""

import datetime

import numpy as np
import polars as pl
import pytest

from fmfkit import FMF, Dataset, Recommender
from fmfkit.data import SideTable, Tags
from fmfkit.errors import DataError
from fmfkit.recommend.attributes import matching

BOOKS = {
    "book": [1, 2, 3, 4],
    "title": ["A", "B", "C", None],
    "genres": ["sea|love", "love", "", None],
    "themes": [["war"], [], None, ["war", "peace"]],
    "year": [1990, 2001, None, 2020],
    "price": [1.5, float("inf"), float("nan"), 8.0],
    "stock": [True, None, False, True],
    "day": [datetime.date(2020, 1, 1), None, None, datetime.date(2021, 5, 1)],
    "moment": [datetime.datetime(2020, 1, 1, 3)] * 4,
    "blurb": ["word " * 40] * 4,
}
PAIRS = {"user": [1, 1, 2, 2], "book": [1, 2, 3, 4], "rating": [1.0, 2.0, 3.0, 4.0]}


@pytest.fixture(scope="module")
def trained():
    books = SideTable(pl.DataFrame(BOOKS), blocks=[Tags("genres")])
    return FMF(rank=1, rounds=1, threads=1).fit(Dataset.of(PAIRS, targets=books))


def test_columns_that_can_be_filtered_by_are_kept_and_come_back_from_a_file(trained, tmp_path):
    kept = trained.attributes
    assert kept.columns == ["title", "genres", "themes", "year", "price", "stock", "day", "moment"]  # no long text
    assert kept["genres"].to_list() == [["sea", "love"], ["love"], None, None]
    assert kept["themes"].to_list() == [["war"], None, None, ["war", "peace"]]
    assert kept["price"].to_list() == [1.5, None, None, 8.0]
    trained.save(tmp_path / "model")
    again = Recommender.load(tmp_path / "model").attributes
    assert again.schema == kept.schema
    assert again.equals(kept)


@pytest.mark.parametrize(
    ("where", "books"),
    [
        ({"genres": "love"}, [1, 2]),
        ({"genres": ["sea", "nothing"]}, [1]),
        ({"year": [1990, 2020]}, [1, 4]),
        ({"stock": True, "year": 2020}, [4]),
        ({"title": "B"}, [2]),
        ({"day": datetime.date(2020, 1, 1)}, [1]),
        ({"year": []}, []),
        ("year >= 2001", [2, 4]),
        ("year<2001", [1]),
        (["price <= 1.5", "stock = true"], [1]),
        ("genres != love", [3, 4]),
        ("themes=peace", [4]),
        ("title=B", [2]),
        ("title != B", [1, 3, 4]),
        ("day > 2020-06-01", [4]),
        ("moment = 2020-01-01", [1, 2, 3, 4]),
        (["year > 0", "themes = war"], [1, 4]),
    ],
)
def test_targets_are_chosen_by_attributes(trained, where, books):
    assert (np.flatnonzero(matching(trained.attributes, where)) + 1).tolist() == books
    best = trained.recommend([1], where=where, seen=True)
    assert sorted(best["target"]) == books


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ({"gender": "x"}, "no attribute 'gender' of targets; there are .*did you mean 'genres'"),
        ({"year": "old"}, "'year' has values of Int64, such as 1990, got"),
        ("year > old", "'year' has values of Int64, such as 1990, got 'old'"),
        ("stock = maybe", "'stock' has values of Boolean, such as True, got 'maybe'"),
        ("themes < war", "holds lists, which have no order; use = or !="),
        ("sea", "expected a condition such as 'genre=poetry'"),
    ],
)
def test_conditions_that_say_nothing_are_refused(trained, where, message):
    with pytest.raises(ValueError, match=message):
        trained.recommend([1], where=where)


def test_a_model_without_attributes_says_so():
    trained = FMF(rank=1, rounds=1).fit(Dataset.of(PAIRS))
    with pytest.raises(DataError, match=r"there are \[\]; train with a table of targets"):
        trained.recommend([1], where="year>3")


def test_what_a_start_knows_of_targets_stays_where_new_data_says_nothing(trained):
    more = {"book": [2, 5], "year": [2002, 1700], "genres": ["sea", None]}
    books = SideTable(more, blocks=[Tags("genres")])
    data = Dataset.of({"user": [1, 2], "book": [5, 2], "rating": [1.0, 2.0]}, targets=books)
    after = FMF(rounds=1).fit(data, start=trained)
    assert after.attributes["year"].to_list() == [1990, 2002, None, 2020, 1700]
    assert after.attributes["genres"].to_list() == [["sea", "love"], ["sea"], None, None, None]
    assert after.attributes["title"].to_list() == ["A", "B", "C", None, None]
