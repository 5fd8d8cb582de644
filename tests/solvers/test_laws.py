"""The laws that every coordinate descent solver keeps, and what each stochastic one promises."""

import itertools
import os
import signal
import time
import tracemalloc

import attrs
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy_plugins import NonNegative, NumpyLogistic, NumpyRidge, NumpySquare, PseudoHuber
from problems import Case, cases, few, large

from fmfkit import Penalty, Problem, fit, schedulers, solvers
from fmfkit.errors import DivergedError, IncompatibleError
from fmfkit.regularizers import ElasticNet
from fmfkit.solvers import reference

DESCENT = [
    solvers.Naive(),
    solvers.L2M(),
    solvers.PL2M(scheduler=schedulers.RandomPartition(4)),
    solvers.Panel(scheduler=schedulers.RandomPartition(9)),
    solvers.Panel(),
]
BY_DIMENSION = DESCENT[:3]
sizes_or_together = st.one_of(st.none(), st.integers(1, 40))
STOCHASTIC = [solvers.SGD(learning_rate=0.01), solvers.Hogwild(learning_rate=0.01)]
sizes = st.integers(1, 40)


def pl2m(size, kind=schedulers.RandomPartition):
    return solvers.PL2M(scheduler=kind(size))


def panel(size, kind=schedulers.RandomPartition, directions=2):
    return solvers.Panel(scheduler=size and kind(size), directions=directions)


def assert_never_rises(model, dtype):
    objectives = [record.objective for record in model.history]
    slack = (1e-6 if dtype == "float32" else 1e-12) * max(objectives)
    for before, after in itertools.pairwise(objectives):
        assert after <= before + slack, objectives


def assert_same_bits(a, b):
    assert a.P.tobytes() == b.P.tobytes()
    assert a.Q.tobytes() == b.Q.tobytes()


def well_posed(case):
    """Build the problem; in single precision with a penalty, without which nearly equal steps may lead far apart."""
    return (case if case.dtype == "float64" else attrs.evolve(case, l2=max(case.l2, 0.1))).build()


def assert_close(a, b, dtype="float64"):
    tolerance = {"float64": 1e-9, "float32": 1e-4}[str(dtype)]
    scale = max(1.0, np.abs(b.P).max(), np.abs(b.Q).max())
    np.testing.assert_allclose(a.P / scale, b.P / scale, rtol=0, atol=tolerance)
    np.testing.assert_allclose(a.Q / scale, b.Q / scale, rtol=0, atol=tolerance)


# Law 1: the objective never rises.


@few
@given(case=cases(), size=sizes)
def test_objective_never_rises_with_pl2m_for_any_set_size(case, size):
    assert_never_rises(fit(case.build(), solver=pl2m(size), rounds=4, threads=2), case.dtype)


@few
@given(case=cases(), size=sizes_or_together)
def test_objective_never_rises_by_panels_for_any_set_size(case, size):
    assert_never_rises(fit(case.build(), solver=panel(size), rounds=4, threads=2), case.dtype)


@few
@given(case=cases(), solver=st.sampled_from(DESCENT[:2]))
def test_objective_never_rises_with_the_sequential_solvers(case, solver):
    assert_never_rises(fit(case.build(), solver=solver, rounds=4, threads=1), case.dtype)


@few
@given(case=cases(loss="square"), size=sizes)
def test_objective_never_rises_with_losses_and_regularizers_in_numpy(case, size):
    problem = case.build(loss=PseudoHuber(), penalty=NumpyRidge(0.2))
    assert_never_rises(fit(problem, solver=pl2m(size), rounds=4, threads=2), case.dtype)


@pytest.mark.parametrize("solver", [pl2m(20), panel(20), solvers.Panel(), solvers.Panel(directions=6)], ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("loss", ["square", "logistic"])
def test_objective_never_rises_on_a_larger_problem(loss, dtype, solver):
    assert_never_rises(fit(large(dtype, loss), solver=solver, rounds=4, threads=2), dtype)


def test_reported_objective_is_the_reference_s():
    plain = [Case(plain=True), Case(plain=True, loss="logistic", weights=True)]
    rich = [Case(weights=True, l1=0.01), Case(loss="logistic", seed=3), Case(loss="logistic", weights=True)]
    for case in [*plain, *rich, Case(growth=0.6, rank=10)]:
        problem = case.build()
        for solver in (pl2m(5), solvers.Panel()):
            model = fit(problem, solver=solver, rounds=3)
            assert model.history[-1].objective == pytest.approx(reference.objective(problem, model), rel=1e-12)


# Law 2: bitwise the same for any number of threads.


@few
@given(case=cases(), solver=st.sampled_from(DESCENT))
def test_threads_do_not_change_a_bit_of_small_problems(case, solver):
    problem = case.build()
    models = [fit(problem, solver=solver, rounds=2, threads=threads) for threads in (1, 2, 3, 4)]
    for model in models[1:]:
        assert_same_bits(model, models[0])


@pytest.mark.parametrize("kind", [schedulers.RandomPartition, schedulers.SizeBalanced])
@pytest.mark.parametrize("loss", ["square", "logistic", NumpyLogistic()])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_threads_do_not_change_a_bit_where_sets_and_columns_are_shared_out(dtype, loss, kind):
    problem = large(dtype, loss)
    chosen = [pl2m(20_000, kind), panel(20_000, kind)]
    for solver in [*chosen, solvers.L2M(), solvers.Panel()] if kind is schedulers.RandomPartition else chosen:
        models = [fit(problem, solver=solver, rounds=1, threads=threads) for threads in (1, 2, 3, 4)]
        for model in models[1:]:
            assert_same_bits(model, models[0])
            assert model.history[-1].objective == models[0].history[-1].objective


# Law 3: native equals reference.


@few
@given(case=cases(), size=sizes)
def test_pl2m_equals_algorithm_3_of_the_reference(case, size):
    problem, oracle = well_posed(case), solvers.Reference(algorithm=3, scheduler=schedulers.RandomPartition(size))
    assert_close(*(fit(problem, solver=s, rounds=3, threads=2) for s in (pl2m(size), oracle)), case.dtype)


@few
@given(case=cases(), size=sizes_or_together, large_rank=st.booleans(), directions=st.integers(1, 3))
def test_panels_equal_the_reference_by_panels(case, size, large_rank, directions):
    # a row's own feature solves an 8 x 8 system, as exactly as its condition lets single precision
    l2 = 0.1 if case.dtype == "float64" else 2.0
    problem = attrs.evolve(case, rank=11 if large_rank else 3, l2=l2).build()
    mine = panel(size, directions=directions)
    oracle = solvers.Reference(algorithm=3, scheduler=mine.scheduler, panel=8, directions=directions)
    native, expected = (fit(problem, solver=s, rounds=2, threads=2) for s in (mine, oracle))
    assert_close(native, expected, case.dtype)


@pytest.mark.parametrize("scheduler", [schedulers.RandomPartition(5), None])
def test_panels_equal_the_reference_where_columns_are_cut(scheduler):
    rng = np.random.default_rng(3)
    i = np.repeat(np.arange(5000), 2)
    X = {"dense": rng.normal(size=(5000, 6)), "some": sp.random_array((5000, 3), density=0.3, rng=rng)}
    problem = Problem.from_coo(
        i, (7 * i + np.arange(10_000) % 2) % 23, rng.normal(size=10_000), X=X, rank=9, dtype="float64"
    )
    pair = solvers.Panel(scheduler=scheduler), solvers.Reference(algorithm=3, scheduler=scheduler, panel=8)
    assert_close(*(fit(problem, solver=s, rounds=1, threads=2) for s in pair))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("l2", [0.0, 1e-8])
@pytest.mark.parametrize("loss", ["square", "logistic"])
def test_objective_never_rises_where_the_shared_values_of_a_row_sum_to_nothing(loss, l2, dtype):
    rng = np.random.default_rng(0)
    X = np.zeros((60, 25))
    for row in X:
        values = rng.normal(size=6)
        row[rng.choice(25, 6, replace=False)] = values - values.mean()
    i, j = np.divmod(rng.choice(60 * 12, 400, replace=False), 12)
    y = rng.normal(size=400) if loss == "square" else rng.integers(0, 2, 400).astype(float)
    net = Penalty(ElasticNet(l2=l2), scale="uniform")
    problem = Problem.from_coo(i, j, y, X=X, shape=(60, 12), rank=8, penalty=net, loss=loss, dtype=dtype)
    model = fit(problem, rounds=6, threads=2)
    assert_never_rises(model, dtype)
    assert model.history[-1].objective == pytest.approx(reference.objective(problem, model), rel=1e-3)


@pytest.mark.parametrize("loss", ["square", "logistic"])
@pytest.mark.parametrize("room", [1, 8 * 16 * 5, 8 * 16 * 40])
def test_rows_too_long_for_a_thread_s_copy_of_their_partners_are_taken_in_pieces(monkeypatch, room, loss):
    problem = Case(plain=True, pairs=100, rank=11, loss=loss, weights=True).build()
    monkeypatch.setattr("fmfkit._kernels.panel.LINES_BYTES", room)
    oracle = solvers.Reference(algorithm=3, panel=8, scheduler=None)
    assert_close(*(fit(problem, solver=s, rounds=2, threads=2) for s in (solvers.Panel(), oracle)))


def test_panels_need_no_score_per_pair_where_rows_have_only_their_own_features():
    problem, state = Case(plain=True).build(), fit(Case(plain=True).build(), rounds=1).state
    assert solvers.Panel().prepare(problem, state).score.size == 0


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("l2", [0.0, 1e-6, 1e-3])
@pytest.mark.parametrize("loss", ["square", "logistic"])
def test_objective_never_rises_where_rows_have_fewer_pairs_than_dimensions(loss, l2, dtype):
    rng = np.random.default_rng(0)
    i, j = np.divmod(rng.choice(1000 * 300, 3000, replace=False), 300)
    y = 3 + rng.normal(size=3000) if loss == "square" else rng.integers(0, 2, 3000).astype(float)
    net = Penalty(ElasticNet(l2=l2), scale="uniform")
    problem = Problem.from_coo(i, j, y, shape=(1000, 300), rank=16, penalty=net, loss=loss, dtype=dtype)
    assert_never_rises(fit(problem, solver=panel(100), rounds=6, threads=1), dtype)


@few
@given(case=cases())
def test_l2m_equals_algorithm_2_of_the_reference(case):
    problem = well_posed(case)
    native, oracle = (fit(problem, solver=s, rounds=3) for s in (solvers.L2M(), solvers.Reference(algorithm=2)))
    assert_close(native, oracle, case.dtype)


@few
@given(case=cases())
def test_naive_equals_algorithm_1_of_the_reference(case):
    problem = well_posed(case)
    native, oracle = (fit(problem, solver=s, rounds=2) for s in (solvers.Naive(), solvers.Reference(algorithm=1)))
    assert_close(native, oracle, case.dtype)


@few
@given(case=cases(loss="square", dtype="float64"), solver=st.sampled_from(BY_DIMENSION), per_pair=st.booleans())
def test_a_loss_in_numpy_equals_the_native_one(case, solver, per_pair):
    native, plugin = (case.build(loss=loss, offset=0.5) for loss in ("square", NumpySquare(per_pair)))
    assert_close(fit(plugin, solver=solver, rounds=2), fit(native, solver=solver, rounds=2))


@few
@given(case=cases(loss="logistic", dtype="float64"), solver=st.sampled_from(BY_DIMENSION))
def test_the_logistic_loss_in_numpy_equals_the_native_one(case, solver):
    plugin = case.build(loss=NumpyLogistic())
    assert_close(fit(plugin, solver=solver, rounds=2), fit(case.build(), solver=solver, rounds=2))


@few
@given(case=cases(dtype="float64", l1=0.0, l2=0.1), solver=st.sampled_from(BY_DIMENSION))
def test_a_regularizer_in_numpy_equals_the_native_one(case, solver):
    plugin = case.build(penalty=case.penalty(NumpyRidge(0.1)))
    trained = fit(plugin, solver=solver, rounds=2)
    assert_close(trained, fit(case.build(), solver=solver, rounds=2))
    assert trained.history[-1].objective == pytest.approx(reference.objective(plugin, trained), rel=1e-9)


@pytest.mark.parametrize("solver", [*DESCENT, *STOCHASTIC])
def test_a_constraint_in_numpy_is_respected(solver):
    model = fit(Case().build(penalty=NonNegative()), solver=solver, rounds=3)
    assert model.P.min() >= 0
    assert model.Q.min() >= 0
    assert np.isfinite(model.history[-1].objective)


# Law 4: linear cost. (Time is the benchmark's business; memory can be counted.)


def peak_bytes(**changes):
    problem = Case(
        **{"queries": 400, "targets": 300, "pairs": 20_000, "query_features": 60, "rank": 16, **changes}
    ).build()
    fit(problem, solver=pl2m(50), rounds=1)  # whatever is loaded at first use
    tracemalloc.start()
    fit(problem, solver=pl2m(50), rounds=2)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


@pytest.mark.parametrize("grown", [{"pairs": 40_000}, {"query_features": 120}, {"rank": 32}])
def test_memory_of_training_grows_at_most_linearly_in_pairs_features_and_rank(grown):
    assert peak_bytes(**grown) < 2.05 * peak_bytes()


# What the paper says of the algorithms.


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
@given(case=cases(loss="square", dtype="float64", l2=0.1))
def test_algorithms_1_and_2_agree_on_the_square_loss(case):
    problem = case.build()
    assert_close(fit(problem, solver="naive", rounds=3), fit(problem, solver="l2m", rounds=3))


@few
@given(
    case=cases(
        plain=True, loss="square", dtype="float64", weights=False, query_bias=False, target_bias=False, l1=0.0, l2=0.1
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


def test_panels_share_out_smaller_sets():
    i = np.arange(200)
    shared = {"X": np.ones((200, 8)), "Z": np.ones((5, 1))}  # 1600 non-zeros in a set
    problem = Problem.from_coo(i, i % 5, i % 3, **shared, rank=8)
    lone, wide = (fit(problem, solver=s, rounds=1, threads=2).history[-1].sigma for s in (pl2m(8), panel(8)))
    assert lone == 2.0
    assert wide == pytest.approx(1.0, abs=0.01)


def test_l1_makes_exact_zeros_and_the_record_counts_them():
    model = fit(Case(l1=0.5, pairs=80).build(), solver=pl2m(5), rounds=6)
    share = (np.count_nonzero(model.P) + np.count_nonzero(model.Q)) / (model.P.size + model.Q.size)
    assert model.history[-1].nonzero == share < 0.6


# Stochastic solvers.


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("loss", ["square", "logistic"])
@pytest.mark.parametrize("solver", STOCHASTIC)
def test_stochastic_solvers_lower_the_objective(solver, loss, dtype):
    problem = Case(queries=60, targets=30, pairs=900, loss=loss, dtype=dtype, l2=0.02, weights=True).build()
    objectives = [record.objective for record in fit(problem, solver=solver, rounds=10, threads=2).history]
    assert objectives[-1] < 0.95 * objectives[0]


@few
@given(case=cases(dtype="float64", l2=0.1, growth=0.0), solver=st.sampled_from(STOCHASTIC))
def test_stochastic_solvers_repeat_on_one_thread_and_take_numpy_losses_and_regularizers(case, solver):
    native = case.build(offset=0.0)
    first, again = (fit(native, solver=solver, rounds=2, threads=1) for _ in range(2))
    assert_same_bits(first, again)
    loss = NumpySquare() if case.loss == "square" else NumpyLogistic()
    assert_close(fit(case.build(loss=loss, offset=0.0), solver=solver, rounds=2), first)
    if case.l1 == 0:
        assert_close(fit(case.build(penalty=case.penalty(NumpyRidge(0.1)), offset=0.0), solver=solver, rounds=2), first)


def test_grouped_sgd_equals_per_pair_sgd_where_a_query_has_one_pair():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1, 4))
    problem = Problem.from_coo([0], [0], [2.0], X=X, rank=3, offset=0.0, dtype="float64")
    grouped, single = (fit(problem, solver=s, rounds=3, threads=1) for s in (solvers.SGD(), solvers.Hogwild()))
    assert_close(grouped, single)


@pytest.mark.parametrize("solver", STOCHASTIC)
def test_stochastic_solvers_refuse_a_penalty_that_grows_with_the_dimension(solver):
    with pytest.raises(IncompatibleError, match="a penalty's growth must be 0"):
        fit(Case(growth=0.5).build(), solver=solver)


def test_learning_rate_decays_by_round():
    solver = solvers.SGD(learning_rate=0.1, decay=0.5)
    state = fit(Case().build(), solver=solver, rounds=3).state
    assert solver.rate(state) == pytest.approx(0.1 * 0.5**3)


@pytest.mark.parametrize(
    "options", [{"learning_rate": 0}, {"learning_rate": float("nan")}, {"decay": 1.5}, {"decay": 0}]
)
def test_senseless_learning_rates_are_refused(options):
    with pytest.raises(ValueError, match=next(iter(options))):
        solvers.SGD(**options)


@pytest.mark.parametrize("kind", [solvers.SGD, solvers.Hogwild])
def test_divergence_is_an_error_that_says_what_to_do(kind):
    problem = Case(pairs=100, l2=0.0).build()
    with pytest.raises(DivergedError, match="lower learning_rate, which is 50"):
        fit(problem, solver=kind(learning_rate=50), rounds=50)


class BatchBound(NumpySquare):
    """A curvature that holds for the pairs it was asked about, and no others."""

    def value(self, score, y):
        return y**2 * (score - 1) ** 2

    def gradient(self, score, y):
        return 2 * y**2 * (score - 1)

    def curvature(self, score, y):
        return float(2 * np.max(y**2))


@pytest.mark.parametrize("solver", ["pl2m", "l2m"])
def test_a_curvature_per_batch_holds_for_all_pairs(solver):
    i, j = np.divmod(np.arange(400 * 400), 400)
    problem = Problem.from_coo(i, j, np.where(i < 320, 3.0, 0.3), rank=1, loss=BatchBound(), dtype="float64")
    assert_never_rises(fit(problem, solver=solver, rounds=2), "float64")


def test_rows_without_pairs_are_not_shown_to_a_loss():
    problem = Case(seed=4, pairs=6).build(loss=BatchBound())
    assert_never_rises(fit(problem, solver="naive", rounds=2), "float64")


class Interrupting(NumpySquare):
    def gradient(self, score, y):
        if len(y) == 1:
            signal.raise_signal(signal.SIGINT)
        return super().gradient(score, y)


@pytest.mark.parametrize("solver", STOCHASTIC)
def test_an_interrupt_during_a_numpy_loss_is_not_swallowed(solver):
    with pytest.raises(KeyboardInterrupt):
        fit(Case().build(loss=Interrupting()), solver=solver, rounds=1)


class Greedy(NumpyRidge):
    """Tries to write to what it is given."""

    def T(self, x, y, w, strength=1.0):
        step = super().T(x, y, w, strength)
        w += step
        return step


@pytest.mark.parametrize("solver", ["naive", "sgd"])
def test_a_regularizer_cannot_write_to_the_parameters(solver):
    with pytest.raises(ValueError, match="read-only"):
        fit(Case().build(penalty=Greedy()), solver=solver, rounds=1)


class Failing(NumpySquare):
    def gradient(self, score, y):
        if len(y) == 1:
            raise RuntimeError("the plugin failed")
        return super().gradient(score, y)


@pytest.mark.parametrize("solver", STOCHASTIC)
def test_an_error_in_a_numpy_loss_reaches_the_caller_of_a_stochastic_solver(solver):
    with pytest.raises(RuntimeError, match="the plugin failed"):
        fit(Case().build(loss=Failing()), solver=solver, rounds=1)


def test_the_reference_refuses_panels_with_other_penalties():
    with pytest.raises(IncompatibleError, match="penalties must be ElasticNets"):
        fit(Case().build(penalty=NumpyRidge()), solver=solvers.Reference(panel=8))


@pytest.mark.parametrize("algorithm", [0, 4])
def test_the_reference_knows_three_algorithms(algorithm):
    with pytest.raises(ValueError, match="algorithm"):
        solvers.Reference(algorithm=algorithm)


@few
@given(case=cases(loss="square", dtype="float64", l2=0.1), per_pair=st.booleans(), threads=st.integers(1, 3))
def test_losses_in_numpy_are_taken_by_panels_as_the_built_in_ones_are(case, per_pair, threads):
    built_in, called = (
        fit(case.build(loss=loss, offset=0.0), rounds=2, threads=threads) for loss in ("square", NumpySquare(per_pair))
    )
    np.testing.assert_allclose(called.P, built_in.P, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(called.Q, built_in.Q, rtol=1e-7, atol=1e-9)


def test_an_error_in_a_loss_that_is_called_from_c_is_raised():
    class Fails(NumpySquare):
        def gradient(self, score, y):
            if score.size > 3:
                raise KeyError("from the loss")
            return super().gradient(score, y)

    with pytest.raises(KeyError, match="from the loss"):
        fit(Case().build(loss=Fails()), rounds=1, threads=2)


def test_an_interrupt_during_a_call_from_c_ends_the_fit():
    import signal
    import threading

    class Slow(NumpySquare):
        def gradient(self, score, y):
            if score.size > 3:
                time.sleep(0.002)
            return super().gradient(score, y)

    problem = large(dtype="float32", loss=Slow())
    timer = threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        fit(problem, rounds=1000, threads=2)
    timer.join()
