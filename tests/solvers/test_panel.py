"""The default solver: panels against the oracle, and what is special about them."""

import os
import signal
import time

import attrs
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from laws import assert_close, assert_never_rises, assert_same_bits, panel, pl2m, sizes_or_together
from numpy_plugins import NativeLasso, NonNegative, NumpyLasso, NumpyRidge, NumpySquare
from problems import Case, cases, few, large

from fmfkit import Penalty, Problem, fit, schedulers, solvers
from fmfkit.regularizers import ElasticNet
from fmfkit.solvers import reference


@few
@given(case=cases(), size=sizes_or_together)
def test_objective_never_rises_by_panels_for_any_set_size(case, size):
    assert_never_rises(fit(case.build(), solver=panel(size), rounds=4, threads=2), case.dtype)


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


@few
@given(
    case=cases(dtype="float64", l2=0.1),
    size=sizes_or_together,
    regularizer=st.sampled_from([NumpyRidge(), NonNegative(), NumpyLasso()]),
    large_rank=st.booleans(),
)
def test_panels_equal_the_reference_with_any_regularizer(case, size, regularizer, large_rank):
    case = attrs.evolve(case, rank=11 if large_rank else 3)
    problem = case.build(penalty=case.penalty(regularizer))
    mine = panel(size)
    oracle = solvers.Reference(algorithm=3, scheduler=mine.scheduler, panel=8)
    native, expected = (fit(problem, solver=s, rounds=2, threads=2) for s in (mine, oracle))
    assert_close(native, expected)


@few
@given(case=cases(l2=0.1), size=sizes_or_together, regularizer=st.sampled_from([NumpyLasso(), NativeLasso()]))
def test_objective_never_rises_by_panels_with_other_regularizers(case, size, regularizer):
    problem = attrs.evolve(case, rank=9).build(penalty=case.penalty(regularizer))
    assert_never_rises(fit(problem, solver=panel(size), rounds=4, threads=2), case.dtype)


@few
@given(case=cases(dtype="float64"), size=sizes_or_together)
def test_a_native_regularizer_is_taken_by_panels_as_the_same_in_numpy(case, size):
    native, plain = (
        attrs.evolve(case, rank=9).build(penalty=case.penalty(lasso)) for lasso in (NativeLasso(), NumpyLasso())
    )
    assert_close(*(fit(problem, solver=panel(size), rounds=3, threads=2) for problem in (native, plain)))


@pytest.mark.parametrize("regularizer", [NumpyLasso(), NativeLasso()], ids=["numpy", "native"])
def test_threads_do_not_change_a_bit_with_other_regularizers(regularizer):
    problem = large().replace(penalty=Penalty(regularizer), rank=3)
    models = [fit(problem, rounds=1, threads=threads) for threads in (1, 2, 3)]
    for model in models[1:]:
        np.testing.assert_array_equal(model.P, models[0].P)
        np.testing.assert_array_equal(model.Q, models[0].Q)


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


@pytest.mark.parametrize("room", [0, 8 * 16 * 5, 8 * 16 * 40])
@pytest.mark.parametrize("l1", [0.0, 0.05])
@pytest.mark.parametrize("loss", ["square", "logistic"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_short_rows_get_the_same_bits_together_and_alone(monkeypatch, dtype, loss, l1, room):
    case = Case(
        plain=True, queries=40, pairs=150, rank=11, loss=loss, weights=loss == "square", dtype=dtype, cells="weighed"
    )
    problem = case.build(penalty=Penalty(ElasticNet(l1=l1, l2=0.1)))
    together = fit(problem, rounds=3, threads=2)
    monkeypatch.setattr("fmfkit._kernels.panel.TOGETHER_BYTES", room)
    assert_same_bits(fit(problem, rounds=3, threads=1), together)


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


def test_panels_share_out_smaller_sets():
    i = np.arange(200)
    shared = {"X": np.ones((200, 8)), "Z": np.ones((5, 1))}  # 1600 non-zeros in a set
    problem = Problem.from_coo(i, i % 5, i % 3, **shared, rank=8)
    lone, wide = (fit(problem, solver=s, rounds=1, threads=2).history[-1].sigma for s in (pl2m(8), panel(8)))
    assert lone == 2.0
    assert wide == pytest.approx(1.0, abs=0.01)


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
