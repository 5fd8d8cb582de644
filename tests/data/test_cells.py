"""Cells that say that a value is missing, and numbers written as text."""

import polars as pl
import pytest
from bookshop import PAIRS

from fmfkit import FMF, Dataset
from fmfkit.data import read_table

BOOKS = (
    "book;title;price;language\n3;Emma;2,50;en\n5;-;n/a;-\n7;Walden;10,00;en\n9;Nostromo;NA;pl\n11;Ulysses;7,25;en\n"
)


@pytest.fixture
def books(tmp_path):
    path = tmp_path / "books.csv"
    path.write_text(BOOKS)
    return path


def test_numbers_beside_words_for_missing_are_numbers_and_it_is_said_how_many(books):
    with pytest.warns(UserWarning, match=r"books\.csv: 'n/a', 'NA' taken as missing: 2 values of 'price'"):
        assert read_table(books)["price"].to_list() == [2.5, None, 10, None, 7.25]


@pytest.mark.parametrize("word", ["n/a", "NA", "N/A", "null", "-", "?"])
@pytest.mark.parametrize("short", ["", "17;4\n"])
@pytest.mark.filterwarnings("ignore:.*1 of 5 rows do not have 3 fields")
def test_every_usual_word_is_known_however_the_file_is_read(tmp_path, word, short):
    path = tmp_path / "a.csv"
    path.write_text(f"user;item;score\n1;2;3,5\n1;4;{word}\n2;4;4,5\n2;2;4\n{short}")
    with pytest.warns(UserWarning, match="taken as missing: 1 values of 'score'"):
        assert read_table(path, bad_rows="skip")["score"].to_list() == [3.5, None, 4.5, 4]


@pytest.mark.filterwarnings("ignore:.*2 values of 'price'")
def test_words_for_missing_are_no_category_but_stay_in_titles(books):
    with pytest.warns(UserWarning, match="targets: '-' taken as missing: 1 values of 'language'"):
        data = Dataset.of(PAIRS, targets=books)
    assert data.targets.table["language"].to_list()[:3] == ["en", "en", None]  # books 7, 3, 5
    assert data.targets.labels()[2] == "-"


def test_a_column_that_was_meant_to_be_numbers_is_told_with_a_line_and_a_value(tmp_path):
    path = tmp_path / "books.csv"
    path.write_text("book;price\n" + "".join(f"{n};{n},5\n" for n in range(3, 30)) + "30;1.234,50\n")
    with pytest.warns(UserWarning, match="column 'price' is text, .* 1 of its values .*'1.234,50': line 29; mend"):
        data = Dataset.of(PAIRS, targets=path)
    assert data.targets.table["price"].dtype == pl.String
    trained = FMF(rank=1, rounds=1).fit(data)
    with pytest.raises(
        ValueError, match=r"where: 'price' is text, because of values such as '1.234,50', and text is not"
    ):
        trained.recommend(["ann"], where="price<7")


def test_a_missing_number_of_somebody_new_is_missing():
    readers = {"user": ["ann", "bob", "eve"], "age": [30, 40, 50]}
    trained = FMF(rank=1, rounds=1).fit(Dataset.of(PAIRS, queries=readers | {"age": [30.0, 40.0, 40.0]}))
    with pytest.warns(UserWarning, match="queries: 'n/a' taken as missing: 1 values of 'age'"):
        assert trained.recommend_new({"user": ["new"], "age": ["n/a"]}, 1).height == 1
