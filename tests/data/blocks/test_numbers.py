"""Blocks of numbers: standardised, or in bins."""

import numpy as np
import polars as pl
import pytest
from bookshop import BOOKS, dense, instances

from fmfkit.data import (
    Numeric,
)
from fmfkit.errors import DataError


def test_numbers_are_standardised_or_binned():
    learnt, matrix = dense(Numeric("year"), BOOKS)
    known = np.array([1815, 1922, 1854])
    np.testing.assert_allclose(matrix[:3, 0], (known - known.mean()) / known.std(), rtol=1e-5)
    assert matrix[3, 0] == 0  # missing: as the mean
    learnt, matrix = dense(Numeric("year", bins=2), BOOKS)
    assert len(learnt.features) == 2
    np.testing.assert_array_equal(matrix, [[1, 0], [0, 1], [0, 1], [0, 0]])


def test_what_numbers_meant_in_training_they_go_on_meaning():
    learnt, _ = dense(Numeric("year"), BOOKS)
    assert learnt.block.learn_more(learnt, instances({"year": [3000]})) is learnt


@pytest.mark.parametrize(
    ("column", "message"),
    [("title", "holds text, where it wants numbers; is it Categorical"), ("empty", "has no numbers at all")],
)
def test_columns_without_numbers_are_refused(column, message):
    table = pl.DataFrame(BOOKS | {"empty": [None] * 4}, schema_overrides={"empty": pl.Float64})
    with pytest.raises(DataError, match=message):
        Numeric(column).learn(instances(table))
