"""Algorithm 3, and what the paper says of it."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from laws import assert_close, assert_never_rises, assert_same_bits, panel, pl2m, sizes, well_posed
from problems import Case, cases, few, large

from fmfkit import Problem, fit, schedulers, solvers


@few
@given(case=cases(), size=sizes)
def test_objective_never_rises_with_pl2m_for_any_set_size(case, size):
    assert_never_rises(fit(case.build(), solver=pl2m(size), rounds=4, threads=2), case.dtype)


@few
@given(case=cases(), size=sizes)
def test_pl2m_equals_algorithm_3_of_the_reference(case, size):
    problem, oracle = well_posed(case), solvers.Reference(algorithm=3, scheduler=schedulers.RandomPartition(size))
    assert_close(*(fit(problem, solver=s, rounds=3, threads=2) for s in (pl2m(size), oracle)), case.dtype)


@few
@given(case=cases())
def test_singleton_sets_in_order_make_pl2m_l2m_to_the_last_bit(case):
    problem = case.build()
    singly = solvers.PL2M(scheduler=schedulers.InOrder(1))
    assert_same_bits(*(fit(problem, solver=s, rounds=3, threads=1) for s in (singly, solvers.L2M())))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_singleton_sets_make_pl2m_l2m_where_columns_are_cut(dtype):
    rng = np.random.default_rng(2)
    X = sp.csr_array(np.column_stack([np.ones(40_000), rng.normal(size=(40_000, 2))]))
    i = np.arange(40_000)
    problem = Problem.from_coo(i, i % 7, rng.normal(size=40_000), X=X, rank=2, dtype=dtype)
    singly = solvers.PL2M(scheduler=schedulers.InOrder(1))
    assert_same_bits(
        fit(problem, solver=singly, rounds=2, threads=2), fit(problem, solver=solvers.L2M(), rounds=2, threads=1)
    )


@few
@given(
    case=cases(
        plain=True,
        loss="square",
        dtype="float64",
        weights=False,
        query_bias=False,
        target_bias=False,
        l1=0.0,
        l2=0.1,
        cells="none",
        scale="observations",
    ),
    size=sizes,
)
def test_with_indicators_pl2m_is_plain_coordinate_descent_for_matrix_factorization(case, size):
    problem = case.build()
    model = fit(problem, solver=pl2m(size), rounds=2)
    state = fit(problem, rounds=1, callbacks=[lambda event: event.stop("start")]).state
    U, V = state.P.copy(), state.Q.copy()
    Y, seen = np.zeros((case.queries, case.targets)), np.zeros((case.queries, case.targets), bool)
    pairs = problem.query.pairs
    i = np.repeat(np.arange(pairs.rows), np.diff(pairs.ptr))
    Y[i, pairs.other], seen[i, pairs.other] = pairs.y - problem.offset, True
    for _ in range(2):
        for A, B, S, R in ((U, V, seen, Y), (V, U, seen.T, Y.T)):
            strength = 0.1 * problem_strength(problem, A is U, case)
            for k in range(case.rank):
                residual = np.where(S, R - A @ B.T + np.outer(A[:, k], B[:, k]), 0)
                curvature = 2 * S @ B[:, k] ** 2 + strength * (1 + k) ** case.growth
                A[:, k] = 2 * residual @ B[:, k] / curvature
    np.testing.assert_allclose(model.P, U, atol=1e-9)
    np.testing.assert_allclose(model.Q, V, atol=1e-9)


def problem_strength(problem, query, case):
    counts = np.diff((problem.query if query else problem.target).pairs.ptr)
    return 1.0 + counts if case.scale == "observations" else np.ones(len(counts))


@given(copies=st.integers(1, 6), bias=st.booleans(), by_panels=st.booleans())
def test_duplicated_features_leave_each_a_fair_share_and_disjoint_ones_everything(copies, bias, by_panels):
    rng = np.random.default_rng(0)
    i, j = np.divmod(np.arange(60), 6)
    options = {"rank": 2, "dtype": "float64", "query_bias": bias, "target_bias": bias}
    everything = (panel if by_panels else pl2m)(100)
    same = np.repeat(rng.normal(size=(10, 1)), copies, axis=1)
    problem = Problem.from_coo(i, j, rng.normal(size=60), X=same, **options)
    eta = fit(problem, solver=everything, rounds=1).history[-1].eta
    assert eta.minimum == pytest.approx(1 / copies)  # the queries' features; targets have indicators
    assert eta.maximum == pytest.approx(1)
    disjoint = Problem.from_coo(i, j, rng.normal(size=60), **options)
    eta = fit(disjoint, solver=everything, rounds=1).history[-1].eta
    assert eta.minimum == pytest.approx(1)


def test_larger_sets_leave_less_of_each_step():
    problem = Case(queries=60, targets=20, pairs=500, query_features=30, dtype="float64").build()
    medians = [fit(problem, solver=pl2m(size), rounds=1).history[-1].eta.lower for size in (1, 8, 200)]
    assert medians[0] == pytest.approx(1)
    assert medians[0] > medians[1] > medians[2]


def test_sigma_is_one_on_one_thread_and_tells_imbalance_on_more():
    problem = large()
    assert fit(problem, solver=pl2m(500), rounds=1, threads=1).history[-1].sigma == 1.0
    shared_out = fit(problem, solver=pl2m(20_000, schedulers.SizeBalanced), rounds=1, threads=2).history[-1]
    assert 1.0 <= shared_out.sigma < 1.1
    too_small_to_share = fit(problem, solver=pl2m(500), rounds=1, threads=2).history[-1]
    assert shared_out.sigma < too_small_to_share.sigma <= 2.0


def test_l1_makes_exact_zeros_and_the_record_counts_them():
    model = fit(Case(l1=0.5, pairs=80).build(), solver=pl2m(5), rounds=6)
    share = (np.count_nonzero(model.P) + np.count_nonzero(model.Q)) / (model.P.size + model.Q.size)
    assert model.history[-1].nonzero == share < 0.6
