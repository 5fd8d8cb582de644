"""The laws that every coordinate descent solver keeps."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from laws import (
    BY_DIMENSION,
    DESCENT,
    STOCHASTIC,
    assert_close,
    assert_never_rises,
    assert_same_bits,
    panel,
    pl2m,
    sizes,
)
from numpy_plugins import BatchBound, NonNegative, NumpyLogistic, NumpyRidge, NumpySquare, PseudoHuber
from problems import Case, cases, few, large

from fmfkit import Problem, fit, schedulers, solvers
from fmfkit.solvers import reference


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


@few
@given(case=cases(), solver=st.sampled_from(DESCENT), threads=st.integers(2, 8))
def test_threads_do_not_change_a_bit_of_small_problems(case, solver, threads):
    problem = case.build()
    one, several = (fit(problem, solver=solver, rounds=2, threads=count) for count in (1, threads))
    assert_same_bits(one, several)


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


@pytest.mark.parametrize("solver", ["pl2m", "l2m"])
def test_a_curvature_per_batch_holds_for_all_pairs(solver):
    i, j = np.divmod(np.arange(400 * 400), 400)
    problem = Problem.from_coo(i, j, np.where(i < 320, 3.0, 0.3), rank=1, loss=BatchBound(), dtype="float64")
    assert_never_rises(fit(problem, solver=solver, rounds=2), "float64")


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
