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
    ],
)
def test_matrices_that_make_no_block_are_refused(block, message):
    data = build(target_blocks=[block])
    with pytest.raises(DataError, match=message):
        Encoder.learn(data).features(data)
