"""What describes one side: a table in the order of its ids, labels, and blocks that suit it."""

import numpy as np
import pytest
from bookshop import BOOKS, PAIRS, build

from fmfkit.data import (
    Tags,
    Text,
)
from fmfkit.errors import DataError


def test_tables_are_put_in_the_order_of_the_ids_and_instances_without_pairs_come_last():
    data = build(targets=BOOKS, target_blocks=[Tags("genres")])
    assert data.targets.ids.at([0, 1, 2, 3, -1]) == [7, 3, 5, 9, None]
    assert data.shape == (3, 4)  # book 9 is cold
    assert data.targets.labels().to_list() == ["Walden", "Emma", "Ulysses", "Nostromo"]


def test_instances_that_the_table_has_not_are_labelled_by_their_ids():
    data = build(targets={"book": [3, 5], "title": ["Emma", ""]})
    assert data.targets.labels().to_list() == ["7", "Emma", "5"]


BAD = {
    "a table with ids twice": ({"targets": {"book": [3, 3]}}, "has ids twice, such as 3"),
    "a block without its column": (
        {"targets": BOOKS, "target_blocks": [Tags("tags")]},
        "there is no column 'tags' for the block 'tags'",
    ),
    "blocks without a table": ({"target_blocks": [Tags("tags")]}, "there is no table of targets"),
    "two blocks of one name": (
        {"targets": BOOKS, "target_blocks": [Tags("genres"), Text("genres")]},
        "two blocks have one name",
    ),
    "no feature at all": ({"target_indicator": False}, "without blocks and without indicator they have no features"),
    "a label without a table": ({"target_label": "name"}, "there is no table of targets to take the label 'name' from"),
    "a label that is not there": (
        {"targets": BOOKS, "target_label": "name"},
        "there is no column 'name' for the label",
    ),
}


@pytest.mark.parametrize("what", BAD)
def test_sides_that_cannot_be_described_are_refused(what):
    options, message = BAD[what]
    with pytest.raises(DataError, match=message):
        build(**options)


def test_blocks_look_at_the_table_once_for_all_parts_of_a_data_set():
    data = build(targets=BOOKS, target_blocks=[Tags("genres")])
    train, test = data.split_by_time(0.34)
    assert train.targets.learnt is test.targets.learnt
    assert train.targets.matrices is test.targets.matrices


def test_a_table_of_the_other_side_is_refused_though_its_numbers_would_match():
    pairs = {"user": [1, 2, 3], "item": [1, 2, 3], "rating": [1.0, 2.0, 3.0]}
    for users in ({"user": [1, 2, 3], "age": [9, 8, 7]}, {"age": [1, 2, 3], "customer_id": [1, 2, 3]}):
        with pytest.raises(DataError, match=r"no column 'item', but '.*', which holds queries: was it to be given as"):
            build(pairs=pairs, targets=users)
    assert len(build(pairs=pairs, targets={"user": [1, 2, 3]}, target_id="user").targets.ids) == 3


def test_a_table_joined_by_a_column_of_another_name_is_said():
    isbn = {"isbn": [3, 5, 9], "genre": ["a", "b", "c"]}
    with pytest.warns(UserWarning, match="joined by column 'isbn', which is 'book' in the pairs; it has 2 of the 3"):
        data = build(targets=isbn)
    assert data.shape == (3, 4)
    assert build(targets=isbn, target_id="isbn").shape == (3, 4)


def test_a_usual_name_is_joined_by_before_the_first_column():
    with pytest.warns(UserWarning, match="joined by column 'Item_ID', which is 'book'"):
        data = build(pairs=PAIRS, targets={"genre": ["a", "b", "c"], "Item_ID": [3, 5, 7]})
    assert data.targets.table["genre"].to_list() == ["c", "a", "b"]


def test_a_table_of_another_name_none_of_whose_ids_occur_is_refused():
    with pytest.raises(DataError, match="of its first, 'isbn', no value is among the 3 ids of the pairs; id= names"):
        build(targets={"isbn": np.arange(100, 104)})
