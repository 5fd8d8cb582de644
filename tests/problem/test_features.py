"""Features are laid out by row and by column; what can be left out of memory is."""

import numpy as np
import pytest
import scipy.sparse as sp
from small_problem import build

from fmfkit.problem.features import lay_out, rows_of
from fmfkit.solvers import reference


def test_absent_features_are_indicators():
    problem = build()
    np.testing.assert_array_equal(reference.dense(problem.X), np.eye(2))
    np.testing.assert_array_equal(reference.dense(problem.Z), np.eye(3))


def test_feature_blocks_stand_side_by_side_under_their_names():
    problem = build(X={"id": sp.eye_array(2), "tags": np.array([[0.0, 2, 0], [1, 0, 0]])})
    assert dict(problem.X.blocks) == {"id": slice(0, 2), "tags": slice(2, 5)}
    np.testing.assert_array_equal(reference.dense(problem.X), [[1, 0, 0, 2, 0], [0, 1, 1, 0, 0]])


def test_the_caller_s_matrices_are_left_as_they_are():
    X = sp.coo_array(([1.0, 2.0, 4.0], ([0, 0, 1], [1, 1, 0])), shape=(2, 2)).tocsr(copy=True)
    unsorted = sp.csr_array((np.array([2.0, 1.0, 1.0]), np.array([1, 1, 0]), np.array([0, 2, 3])), shape=(2, 2))
    before = (unsorted.data.copy(), unsorted.indices.copy())
    assert build(X=unsorted).X.nonzeros == 2
    np.testing.assert_array_equal(unsorted.data, before[0])
    np.testing.assert_array_equal(unsorted.indices, before[1])
    assert build(X=X).X.nonzeros == 2


def test_the_problem_shares_no_memory_with_the_caller_s_features():
    X = sp.csr_array(np.eye(2, dtype=np.float32))
    problem = build(X=X)
    X.data[:] = 7
    np.testing.assert_array_equal(reference.dense(problem.X), np.eye(2))


def test_values_that_are_one_per_row_are_left_out_and_come_back():
    tags = np.array([[0, 2.0, 2, 0], [3, 3, 0, 3], [0, 0, 0, 0.5]])
    problem = build(X={"id": 7 * np.eye(3), "tags": tags}, queries=[0, 1, 2], targets=[0, 1, 2], y=[1, 2, 3])
    X = problem.X
    assert X.row_value is None
    assert X.col_value is None
    np.testing.assert_array_equal(X.row_scale, [2, 3, 0.5])
    np.testing.assert_array_equal(X.own, [0, 1, 2])
    np.testing.assert_array_equal(X.own_value, [7, 7, 7])
    whole = sp.csr_array((X.values_by_row(), X.row_index, X.row_ptr), shape=(3, 7)).toarray()
    np.testing.assert_array_equal(whole, np.hstack([7 * np.eye(3), tags]))
    by_column = sp.csc_array((X.values_by_column(), X.col_index, X.col_ptr), shape=(3, 7)).toarray()
    np.testing.assert_array_equal(by_column, whole)


def test_values_that_differ_within_a_row_are_kept():
    X = build(X=np.array([[1.0, 2, 0], [1, 1, 1]]), queries=[0, 1], targets=[0, 1], y=[1, 2]).X
    assert X.row_scale is None
    np.testing.assert_array_equal(X.values_by_row(), [1, 2, 1, 1, 1])


def test_a_block_comes_back_as_a_matrix_and_columns_know_their_block():
    tags = np.array([[0.0, 2, 0], [1, 0, 3]])
    X = build(X={"id": np.eye(2), "tags": tags}).X
    np.testing.assert_array_equal(X.block("tags").toarray(), tags)
    assert X.block_of(1) == ("id", 1)
    assert X.block_of(4) == ("tags", 2)


def test_rows_alone_hold_what_both_layouts_hold_by_row():
    matrix = sp.csr_array(np.array([[1.0, 2, 0], [0, 1, 1]]))
    alone = rows_of("X", matrix)
    both = lay_out("X", {"features": matrix}, 2, matrix.dtype)
    assert type(both.by_row) is type(alone)
    assert not hasattr(alone, "col_ptr")
    for name in ("row_ptr", "row_index", "own", "own_value"):
        np.testing.assert_array_equal(getattr(alone, name), getattr(both, name))
    assert alone.nbytes < both.nbytes


def test_features_of_other_instances_need_the_same_columns():
    X = build(X={"id": np.eye(2), "tags": np.ones((2, 3))}).X
    by_block = X.matrix_of({"tags": np.full((1, 3), 2.0)}, "X").toarray()
    np.testing.assert_array_equal(by_block, [[0, 0, 2, 2, 2]])
    for given, message in (
        (np.ones((1, 4)), "X: 4 columns, expected 5"),
        ({"tag": np.ones((1, 3))}, "there is no feature block 'tag'"),
        ({"tags": np.ones((1, 2))}, r"X\['tags'\]: 2 columns, expected 3"),
    ):
        with pytest.raises(ValueError, match=message):
            X.matrix_of(given, "X")
