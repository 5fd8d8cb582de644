"""What the stochastic solvers promise."""

import signal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from laws import STOCHASTIC, assert_close, assert_same_bits
from numpy_plugins import NumpyLogistic, NumpyRidge, NumpySquare
from problems import Case, cases, few

from fmfkit import Problem, fit, solvers
from fmfkit.errors import DivergedError, IncompatibleError


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("loss", ["square", "logistic"])
@pytest.mark.parametrize("solver", STOCHASTIC)
def test_stochastic_solvers_lower_the_objective(solver, loss, dtype):
    problem = Case(queries=60, targets=30, pairs=900, loss=loss, dtype=dtype, l2=0.02, weights=True).build()
    objectives = [record.objective for record in fit(problem, solver=solver, rounds=10, threads=2).history]
    assert objectives[-1] < 0.95 * objectives[0]


@few
@given(case=cases(dtype="float64", l2=0.1, growth=0.0, cells="none"), solver=st.sampled_from(STOCHASTIC))
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


class Interrupting(NumpySquare):
    def gradient(self, score, y):
        if len(y) == 1:
            signal.raise_signal(signal.SIGINT)
        return super().gradient(score, y)


@pytest.mark.parametrize("solver", STOCHASTIC)
def test_an_interrupt_during_a_numpy_loss_is_not_swallowed(solver):
    with pytest.raises(KeyboardInterrupt):
        fit(Case().build(loss=Interrupting()), solver=solver, rounds=1)


class Failing(NumpySquare):
    def gradient(self, score, y):
        if len(y) == 1:
            raise RuntimeError("the plugin failed")
        return super().gradient(score, y)


@pytest.mark.parametrize("solver", STOCHASTIC)
def test_an_error_in_a_numpy_loss_reaches_the_caller_of_a_stochastic_solver(solver):
    with pytest.raises(RuntimeError, match="the plugin failed"):
        fit(Case().build(loss=Failing()), solver=solver, rounds=1)
