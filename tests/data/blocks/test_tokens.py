"""Blocks of words: categories, tags, text, taxonomies."""

import uuid

import numpy as np
import polars as pl
import pytest
from bookshop import BOOKS, dense, instances

from fmfkit.data import (
    Categorical,
    Dataset,
    Numeric,
    SideTable,
    Tags,
    Taxonomy,
    Text,
    read_table,
)
from fmfkit.errors import DataError


def test_tags_become_a_feature_each_and_missing_ones_none():
    learnt, matrix = dense(Tags("genres"), BOOKS)
    assert learnt.features == ("classic", "novel", "sea")
    np.testing.assert_array_equal(matrix, [[1, 1, 0], [0, 1, 0], [0, 0, 0], [0, 1, 1]])
    new = learnt.matrix(instances({"genres": ["sea|unheard-of", ""]})).toarray()
    np.testing.assert_array_equal(new, [[0, 0, 1], [0, 0, 0]])


def test_a_taxonomy_gives_all_ancestors():
    learnt, matrix = dense(Taxonomy(["author", "country"]), BOOKS)
    assert "country=uk" in learnt.features
    assert matrix[:, learnt.features.index("country=uk")].tolist() == [1, 0, 0, 1]
    assert (matrix.sum(axis=1) == 2).all()


def test_missing_numbers_are_no_category_and_whole_ones_have_no_fraction():
    pd = pytest.importorskip("pandas")
    years = pd.DataFrame({"book": [3, 5, 7], "year": [1990, np.nan, 1991]})
    learnt, matrix = dense(Categorical("year"), read_table(years))
    assert learnt.features == ("1990", "1991")
    np.testing.assert_array_equal(matrix, [[1, 0], [0, 0], [0, 1]])
    np.testing.assert_array_equal(learnt.matrix(instances({"year": [1991]})).toarray(), [[0, 1]])
    assert learnt.matrix(instances(pl.DataFrame({"year": [float("nan")]}))).nnz == 0


def test_rare_words_are_left_out():
    assert dense(Tags("genres", at_least=2), BOOKS)[0].features == ("novel",)


def test_text_counts_words_in_lower_case():
    learnt, matrix = dense(Text("title"), {"title": ["The sea, the SEA", None]})
    assert learnt.features == ("sea", "the")
    np.testing.assert_array_equal(matrix, [[2, 2], [0, 0]])


def test_new_words_come_after_those_that_were_known():
    learnt, _ = dense(Tags("genres"), BOOKS)
    more = learnt.block.learn_more(learnt, instances({"genres": ["war|novel", "art"]}))
    assert more.features == ("classic", "novel", "sea", "art", "war")


LISTED = {
    "lists": [["b", "a"], ["a"], [], ["b", None]],
    "tuples": [("b", "a"), ("a",), (), ("b",)],
    "sets": [{"b", "a"}, {"a"}, set(), {"b"}],
    "text": ["b|a", "a", None, "b"],
}


@pytest.mark.parametrize("kind", LISTED)
def test_tags_may_be_lists_tuples_or_sets(kind):
    data = Dataset.of(
        {"user": [1, 2, 3, 4], "item": [1, 2, 3, 4], "rating": [1.0, 2.0, 3.0, 4.0]},
        targets=SideTable({"item": [1, 2, 3, 4], "genres": LISTED[kind]}, blocks=[Tags("genres")]),
    )
    (learnt,) = data.targets.learnt
    assert learnt.features == ("a", "b")
    assert learnt.matrix(data.targets.instances).toarray().tolist() == [[1, 1], [1, 0], [0, 0], [0, 1]]


def test_numbers_in_lists_are_tags_too():
    frame = pl.DataFrame({"book": [1, 2], "shelves": [[1, 2], [2]]})
    learnt = Tags("shelves").learn(instances(frame))
    assert learnt.features == ("1", "2")


@pytest.mark.parametrize("block", [Tags, Categorical, Text, lambda column: Taxonomy([column])])
def test_objects_are_categories_by_their_text(block):
    values = [uuid.UUID(int=1), uuid.UUID(int=2), None, uuid.UUID(int=1)]
    table = {"item": [1, 2, 3, 4], "maker": values}
    data = Dataset.of(
        {"user": [1, 2, 3, 4], "item": [1, 2, 3, 4], "rating": [1.0, 2.0, 3.0, 4.0]},
        targets=SideTable(table, blocks=[block("maker")], label="maker"),
    )
    assert len(data.targets.learnt[0].features) >= 2
    assert data.targets.labels().to_list() == [str(values[0]), str(values[1]), "3", str(values[3])]


@pytest.mark.parametrize(
    ("block", "values", "told"),
    [
        (Tags("x"), [[["a"]], [["b"]]], r"holds List\(List\(String\)\), expected lists of text or numbers"),
        (Categorical("x"), [b"\xff", b"\xfe"], "holds Binary, which cannot be text"),
        (Numeric("x"), [["a"], ["b"]], r"holds List\(String\), expected numbers"),
        (Numeric("x"), [{"a": 1}, {"a": 2}], "expected numbers"),
        (Numeric("x"), [b"a", b"b"], "holds Binary, expected numbers"),
    ],
)
def test_columns_that_a_block_cannot_take_are_told(block, values, told):
    with pytest.raises(DataError, match=told):
        block.learn(instances(pl.DataFrame({"id": [1, 2], "x": values})))
