"""Blocks of words: categories, tags, text, taxonomies."""

import numpy as np
import polars as pl
import pytest
from bookshop import BOOKS, dense, instances

from fmfkit.data import (
    Categorical,
    Tags,
    Taxonomy,
    Text,
    read_table,
)


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
