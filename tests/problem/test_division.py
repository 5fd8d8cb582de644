"""What observations in shards say of the whole."""

import numpy as np
import pytest
import scipy.sparse as sp
from shards import divided, even

from fmfkit import AllCells, LearntPenalty, Observations, Problem
from fmfkit.problem.division import MOST_VALUES


@pytest.fixture
def whole():
    """A problem with features of all kinds on the queries' side."""
    rng = np.random.default_rng(0)
    query, target = np.divmod(rng.choice(50 * 20, 300, replace=False), 20)
    tags = sp.random_array((50, 9), density=0.2, rng=rng, format="csr")
    X = {"indicator": sp.eye_array(50, format="csr"), "tags": tags}
    y, weight = rng.integers(1, 6, 300), rng.random(300)
    return Problem.from_coo(
        query, target, y, rank=3, X=X, shape=(50, 20), weight=weight, dtype="float64", cells=AllCells(0.1)
    )


@pytest.mark.parametrize("shards", [1, 4, 50])
def test_strengths_offset_and_cells_are_those_of_the_whole(whole, shards):
    parts = divided(whole, even(50, shards))
    assert parts.offset == pytest.approx(whole.offset, rel=1e-12)
    for mine, theirs in zip(parts.sides, whole.sides, strict=True):
        assert (mine.cells == theirs.cells).all()
        for one, other in zip(mine.parts, theirs.parts, strict=True):
            np.testing.assert_allclose(one.strength, other.strength, rtol=1e-12)


def test_weights_can_be_replaced(whole):
    parts = divided(whole, even(50, 4))
    weight = np.random.default_rng(1).random(300)
    mine, theirs = (problem.replace(weight=weight) for problem in (parts, whole))
    assert mine.offset == pytest.approx(theirs.offset, rel=1e-12)
    np.testing.assert_allclose(mine.target.factors.strength, theirs.target.factors.strength, rtol=1e-12)


def test_strengths_to_learn_begin_with_those_of_the_whole(whole):
    learnt = whole.replace(cells=None, penalty=LearntPenalty())
    mine, theirs = divided(learnt, even(50, 4)).strengths, learnt.strengths
    for name in ("noise", "curvature", "unit", "start"):
        assert getattr(mine, name) == pytest.approx(getattr(theirs, name), rel=1e-12)


def test_own_features_are_those_of_the_blocks_that_are_named():
    rare = sp.csr_array(np.eye(6)[:, :3])  # each of these features has one query, here
    given = {"X": {"rare": rare, "indicator": sp.eye_array(6, format="csr")}, "shape": (6, 2)}
    pairs = np.arange(6), np.zeros(6, int), np.arange(6.0)
    alone = Observations.from_coo(*pairs, **given)
    assert alone.X.own.tolist() == [0, 1, 2, 6, 7, 8]
    parts = Observations.from_coo(*pairs, **given, division=even(6, 2))
    assert parts.X.own.tolist() == [3, 4, 5, 6, 7, 8]
    assert parts.X.shared.tolist() == [True] * 3 + [False] * 6


def test_some_rows_of_features_know_what_others_own(whole):
    X = whole.X
    some = X.some_rows(slice(10, 30))
    assert (some.shared == X.shared).all()
    assert (some.block("tags") != X.block("tags")[10:30]).nnz == 0
    by_column = sp.csc_array((some.values_by_column(), some.col_index, some.col_ptr), shape=(20, X.cols))
    assert (by_column != sp.csr_array(sp.hstack([X.block(name)[10:30] for name in X.blocks]))).nnz == 0


def test_very_many_values_are_looked_at_by_neighbours():
    count = 3 * MOST_VALUES
    y = np.random.default_rng(0).normal(3, 1, count)
    query, target = np.divmod(np.arange(count), 500)
    shape = (int(query[-1]) + 1, 500)
    data = Observations.from_coo(query, target, y, shape=shape, dtype="float64", division=even(shape[0], 2))
    values, weight = data.values
    assert len(values) <= 2 * MOST_VALUES
    assert weight.sum() == pytest.approx(count)
    assert values @ weight / weight.sum() == pytest.approx(y.mean(), rel=1e-12)
