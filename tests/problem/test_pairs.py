"""Pairs are grouped by query and by target, each once, with their weights."""

import numpy as np
import pytest
import scipy.sparse as sp
from problems import Case
from small_problem import Y, build

from fmfkit import Penalty, Problem


def test_from_scipy_and_from_coo_give_the_same_pairs_in_both_orders():
    for problem in (Problem.from_scipy(Y, rank=2), build(queries=[1, 0, 0], targets=[1, 2, 0], y=[3, 2, 1])):
        by_query, by_target = problem.query.pairs, problem.target.pairs
        np.testing.assert_array_equal(by_query.ptr, [0, 2, 3])
        np.testing.assert_array_equal(by_query.other, [0, 2, 1])
        np.testing.assert_array_equal(by_query.y, [1, 2, 3])
        np.testing.assert_array_equal(by_target.ptr, [0, 1, 2, 3])
        np.testing.assert_array_equal(by_target.other, [0, 1, 0])
        np.testing.assert_array_equal(by_target.y, [1, 3, 2])
        assert by_query.ptr.dtype == by_target.ptr.dtype == np.int64
        assert by_query.other.dtype == by_target.other.dtype == np.int32


def test_explicit_zeros_are_observations():
    stored = sp.csr_array(([0.0, 5.0], ([0, 1], [1, 0])), shape=(2, 2))
    assert Problem.from_scipy(stored, rank=1).pairs == 2


def test_duplicates_are_refused_or_summed_with_their_weights():
    repeated = {"queries": [0, 1, 0], "targets": [1, 1, 1], "y": [2.0, 5.0, 3.0], "weight": [1.0, 1.0, 0.5]}
    with pytest.raises(
        ValueError, match=r"1 observations repeat a pair, such as query 0 with target 1.*duplicates='sum'"
    ):
        Problem.from_coo(**repeated, rank=1)
    problem = Problem.from_coo(**repeated, rank=1, duplicates="sum")
    np.testing.assert_array_equal(problem.query.pairs.y, [5, 5])
    np.testing.assert_array_equal(problem.query.pairs.weight, [1.5, 1])


def test_duplicates_whose_sum_overflows_are_refused():
    twice = {"queries": [0, 0], "targets": [0, 0], "rank": 1, "duplicates": "sum"}
    with pytest.raises(ValueError, match="y: 1 of 1 values"):
        Problem.from_coo(**twice, y=[3e38, 3e38])
    with pytest.raises(ValueError, match="weight: 1 of 1 values"):
        Problem.from_coo(**twice, y=[1, 1], weight=[3e38, 3e38])
    X = sp.csr_array((np.array([3e38, 3e38, 1]), np.array([0, 0, 1]), np.array([0, 2, 3])), shape=(2, 2))
    with pytest.raises(ValueError, match="X: 1 of 2 values"):
        build(X=X, penalty=Penalty(scale="uniform"))


def test_observed_weights_are_kept_in_both_orders():
    problem = Problem.from_scipy(
        Y, rank=1, weight=sp.csr_array((np.array([1.0, 2, 3]), Y.indices, Y.indptr), shape=Y.shape)
    )
    np.testing.assert_array_equal(problem.query.pairs.weight, [1, 2, 3])
    np.testing.assert_array_equal(problem.target.pairs.weight, [1, 3, 2])
    np.testing.assert_array_equal(problem.query.pairs.totals, [3, 3])


def test_chunks_cover_all_rows_in_order():
    for case in (Case(), Case(queries=1, targets=1, pairs=1), Case(queries=300, targets=300, pairs=60_000)):
        for side in case.build().sides:
            assert side.pairs.chunk[0] == 0
            assert side.pairs.chunk[-1] == side.pairs.rows
            assert (np.diff(side.pairs.chunk) > 0).all()


def test_the_row_of_each_pair_and_the_totals_of_each_row_are_told():
    pairs = build(shape=(4, 3), weight=[0.5, 2.0, 3.0]).query.pairs
    assert pairs.row.tolist() == [0, 0, 1]
    assert pairs.totals.tolist() == [2.5, 3, 0, 0]  # rows without pairs too
    assert len(pairs) == 3
