"""Pairs that are no table: sparse matrices, lists of tuples, arrays."""

import numpy as np
import pytest
import scipy.sparse as sp
from bookshop import BOOKS

from fmfkit import Dataset
from fmfkit.data import Precomputed, SideTable
from fmfkit.errors import DataError


@pytest.mark.parametrize("form", [sp.csr_array, sp.csc_array, sp.coo_array, sp.csr_matrix])
def test_a_sparse_matrix_is_its_entries_by_row_and_column(form):
    matrix = np.array([[0, 5, 3], [0, 0, 0], [1, 0, 0]])
    data = Dataset.of(form(matrix))
    assert data.shape == (3, 3)  # a row without an entry is a cold query
    queries, targets = data.queries.ids.at(data.query), data.targets.ids.at(data.target)
    assert sorted(zip(queries, targets, data.y.tolist(), strict=True)) == [(0, 1, 5), (0, 2, 3), (2, 0, 1)]


def test_rows_of_a_matrix_of_features_are_those_of_the_matrix_of_pairs():
    vectors = np.arange(6.0).reshape(3, 2)
    data = Dataset.of(sp.csr_array([[0, 5, 3], [1, 0, 0]]), targets=SideTable(blocks=[Precomputed(vectors)]))
    made = data.targets.matrices["precomputed"].toarray()
    np.testing.assert_array_equal(made, vectors[data.targets.ids.at(range(3))])


def test_a_table_describes_the_rows_of_a_matrix():
    data = Dataset.of(sp.csr_array([[0] * 7 + [1, 0, 2]]), targets=SideTable(BOOKS, id="book"))
    assert data.targets.labels().to_list() == ["Walden", "Nostromo", "Emma", "Ulysses"]


@pytest.mark.parametrize("kind", [list, tuple])
def test_tuples_are_queries_targets_ratings_and_times(kind):
    data = Dataset.of(kind([("ann", 3, 4.0, 17), ("bob", 3, 5.0, 11)]))
    assert data.queries.ids.at(data.query) == ["ann", "bob"]
    assert (data.y.tolist(), data.time.tolist()) == ([4, 5], [17, 11])
    happened = Dataset.of(kind([["ann", 3], ["bob", 3], ["bob", 3]]))
    assert (happened.y.tolist(), happened.weight.tolist()) == ([1, 1], [1, 2])


def test_an_array_has_a_row_for_each_pair():
    data = Dataset.of(np.array([[7, 3, 4.5], [8, 3, 2]]))
    assert (data.queries.ids.at([0, 1]), data.y.tolist()) == ([7, 8], [4.5, 2])


BAD = {
    "tuples of several lengths": ([(1, 2), (1, 2, 3)], "expected a list of tuples of one length"),
    "no tuples": (["ab", "cd"], "expected a list of tuples .*, got 'ab'"),
    "long tuples": ([(1,) * 5], "with a rating and a time too"),
    "no pairs": ([], "the table has no rows|expected a list of tuples"),
    "a dense matrix": (np.ones((9, 9)), r"got shape \(9, 9\); give a matrix of queries and targets as scipy"),
    "an empty matrix": (sp.csr_array((3, 4)), r"the matrix of shape \(3, 4\) has no entries"),
    "a complex matrix": (sp.csr_array(np.eye(2) * 1j), "expected a matrix of real numbers, got complex128"),
    "a matrix of NaN": (sp.csr_array(np.full((2, 2), np.nan)), "4 of 4 values of 'rating', .* no finite numbers"),
}


@pytest.mark.parametrize("what", BAD)
def test_others_are_refused(what):
    given, message = BAD[what]
    with pytest.raises(DataError, match=message):
        Dataset.of(given)
