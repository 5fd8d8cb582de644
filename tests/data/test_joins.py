"""Tables are joined to the pairs by the column that is called like their side, and not by that of the other side."""

import polars as pl
import pytest
from bookshop import PAIRS, build

from fmfkit import Dataset
from fmfkit.data.joins import key_of
from fmfkit.errors import DataError

GERMAN = {"query": "Kundennr", "target": "Artikelnr"}


def table(*columns):
    return pl.DataFrame({column: [1] for column in columns})


@pytest.mark.parametrize(
    ("columns", "key"),
    [
        (["Titel", "Artikelnr"], "Artikelnr"),
        (["Titel", "ItemID"], "ItemID"),
        (["Titel", "id"], "id"),
        (["ArtikelID", "Titel"], "ArtikelID"),
        (["ISBN", "Titel"], "ISBN"),
    ],
)
def test_a_table_is_joined_by_the_column_that_is_called_so_else_by_its_first(columns, key):
    assert key_of("target", table(*columns), GERMAN) == key


@pytest.mark.parametrize(
    "columns", [["KundenID", "Land"], ["kunde", "Land"], ["Land", "Kundennr"], ["Land", "user_id"]]
)
def test_a_table_whose_column_is_called_like_the_other_side_is_refused(columns):
    with pytest.raises(DataError, match=r"targets: the table has no column 'Artikelnr', but .*, which holds queries"):
        key_of("target", table(*columns), GERMAN)


def rated(users, items):
    return {"user": [n % users for n in range(items)], "item": [*range(items)], "rating": [n % 5 for n in range(items)]}


@pytest.mark.parametrize("key", ["id", "account"])
@pytest.mark.filterwarnings("ignore:targets. joined by column 'account', .* it has [0-9]+ of the [0-9]+ ids there$")
def test_a_table_that_has_rather_the_other_side_s_numbers_is_asked_about(key):
    with pytest.warns(
        UserWarning, match="it has 12 of the 16 ids there, but 12 of the 12 of the queries: was the table"
    ):
        Dataset.of(rated(12, 16), targets={key: [*range(12)], "age": [30, 40] * 6})
    assert Dataset.of(rated(12, 16), targets={key: [*range(16)], "pages": [30, 40] * 8}).shape == (12, 16)
    few = Dataset.of(rated(2, 4), targets={key: [0, 1], "pages": [30, 40]})  # an update, by chance
    assert few.shape == (2, 4)


def test_a_table_whose_column_is_called_like_its_side_is_not_asked_about():
    with pytest.warns(UserWarning, match=r"'items', which is 'item' in the pairs; it has 12 of the 16 ids there$"):
        Dataset.of(rated(12, 16), targets={"items": [*range(12)], "age": [30, 40] * 6})


def test_of_a_repeated_id_the_first_row_counts_where_bad_rows_are_left_out():
    books = {"book": [3, 5, 3], "title": ["Emma", "Ulysses", "Another"]}
    with pytest.warns(UserWarning, match=r"column 'book' has ids twice, such as 3; 1 rows repeat an id: row 2 \(3\)"):
        data = build(pairs=PAIRS, targets=books, bad_rows="skip")
    assert data.targets.labels().to_list() == ["7", "Emma", "Ulysses"]


def test_totals_of_a_table_are_left_out_with_bad_rows(tmp_path):
    path = tmp_path / "books.csv"
    path.write_text("book;title\n3;Emma\n5;Ulysses\nGesamt;2\n;x\n")
    told = r"2 of 4 ids in .book. are missing or no numbers, as those .* are: lines 4 \('Gesamt'\), 5; they"
    with pytest.warns(UserWarning, match=told):
        data = build(pairs=PAIRS, targets=path, bad_rows="skip")
    assert data.targets.ids.at(range(3)) == [7, 3, 5]
