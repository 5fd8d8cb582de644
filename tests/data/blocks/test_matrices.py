"""Matrices that are there already are matched by id."""

import numpy as np
import pytest
import scipy.sparse as sp
from bookshop import build

from fmfkit.data import (
    Precomputed,
)
from fmfkit.data.encoder import Encoder
from fmfkit.errors import DataError


def test_precomputed_blocks_are_matched_by_id():
    matrix = sp.csr_array(np.array([[1.0, 0, 2], [0, 3, 0]]))
    data = build(target_blocks=[Precomputed(matrix, ids=[5, 7], name="words", features=["a", "b", "c"])])
    Z = Encoder.learn(data).features(data)[1]["words"].toarray()
    np.testing.assert_array_equal(Z, [[0, 3, 0], [0, 0, 0], [1, 0, 2]])  # books 7, 3, 5
    assert Encoder.learn(data).targets.names()["words"] == ("a", "b", "c")
    by_number = build(target_blocks=[Precomputed(np.arange(16).reshape(8, 2), normalise="rows")])
    Z = Encoder.learn(by_number).features(by_number)[1]["precomputed"].toarray()
    np.testing.assert_allclose(Z[0], np.array([14, 15]) / np.hypot(14, 15), rtol=1e-6)


def test_precomputed_blocks_come_from_files(tmp_path):
    sp.save_npz(tmp_path / "words.npz", sp.eye_array(9, format="csr"))
    data = build(target_blocks=[Precomputed(tmp_path / "words.npz")])
    assert Encoder.learn(data).features(data)[1]["precomputed"].nnz == 3


@pytest.mark.parametrize(
    ("block", "message"),
    [
        (Precomputed(np.ones((2, 2)), ids=[1]), "expected 2 different ids, one for each row of the matrix, got 1"),
        (Precomputed(np.ones((2, 2)), ids=[1, 1]), "1 of them different"),
        (Precomputed(np.ones(2)), "needs a matrix of numbers"),
        (Precomputed(np.full((2, 2), np.nan)), "NaN or infinite"),
        (Precomputed(np.ones((9, 2)), features=["a"]), "1 features are named, the matrix has 2 columns"),
        (
            Precomputed(np.ones((7, 2))),
            r"the 7 rows of the matrix stand for the ids 0 to 6, but 1 .* such as 7",
        ),
    ],
)
def test_matrices_that_make_no_block_are_refused(block, message):
    data = build(target_blocks=[block])
    with pytest.raises(DataError, match=message):
        Encoder.learn(data).features(data)


def test_a_matrix_with_rows_after_the_last_of_a_table_is_refused():
    books = {"book": [3, 5, 7, 9], "year": [1, 2, 3, 4]}
    fitting = build(targets=books, target_blocks=[Precomputed(np.ones((10, 2)))])
    assert Encoder.learn(fitting).features(fitting)[1]["precomputed"].shape == (4, 2)
    data = build(targets=books, target_blocks=[Precomputed(np.ones((12, 2)))])
    with pytest.raises(DataError, match="has 12 rows, for the ids 0 to 11, but the last of the 4 instances is 9"):
        Encoder.learn(data)
    named = build(targets=books, target_blocks=[Precomputed(np.ones((12, 2)), ids=range(12))])
    assert Encoder.learn(named).features(named)[1]["precomputed"].shape == (4, 2)
