"""The loop over rounds: checks before, records and callbacks between, a model at the end."""

import itertools

import attrs
import numpy as np
import pytest
from components import Fixed, Picky
from problems import Case

from fmfkit import Partition, Penalty, Problem, RoundReport, Solver, State, fit, schedulers, solvers
from fmfkit.errors import DivergedError, IncompatibleError, PluginContractError
from fmfkit.regularizers import ElasticNet
from fmfkit.solvers import reference

PROBLEM = Case().build()


SOLVERS = ["naive", "l2m", "pl2m", "panel", "sgd", "hogwild", "reference"]


@pytest.mark.parametrize("solver", SOLVERS)
def test_history_starts_with_round_0_and_has_a_record_per_round(solver):
    model = fit(PROBLEM, solver=solver, rounds=3)
    assert [record.round for record in model.history] == [0, 1, 2, 3]
    assert [record.seconds > 0 for record in model.history] == [False, True, True, True]


def test_records_tell_the_share_of_parameters_that_are_not_zero():
    model = fit(Case(l1=0.3).build(), rounds=3)
    counted = np.count_nonzero(model.P) + np.count_nonzero(model.Q)
    assert model.history[-1].nonzero == counted / (model.P.size + model.Q.size) < 1


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_objective_of_each_record_is_that_of_the_reference(solver):
    seen = []
    fit(
        PROBLEM,
        solver=solver,
        rounds=2,
        callbacks=lambda e: seen.append((e.record.objective, e.state.P.copy(), e.state.Q.copy())),
    )
    for told, P, Q in seen:
        state = State(P=P, Q=Q, seed=0)
        assert told == pytest.approx(reference.objective(PROBLEM, state), rel=1e-9)


@pytest.mark.parametrize("solver", SOLVERS)
def test_going_on_equals_not_having_stopped(solver):
    straight = fit(PROBLEM, solver=solver, rounds=5, seed=3, threads=1)
    halfway = fit(PROBLEM, solver=solver, rounds=2, seed=3, threads=1)
    resumed = fit(PROBLEM, solver=solver, rounds=3, init=halfway, threads=1)
    assert resumed.P.tobytes() == straight.P.tobytes()
    assert resumed.Q.tobytes() == straight.Q.tobytes()
    assert [record.objective for record in resumed.history] == [record.objective for record in straight.history[2:]]
    assert resumed.history[0].round == 2


def test_going_on_leaves_the_first_model_as_it_was():
    first = fit(PROBLEM, rounds=1)
    before = first.P.copy()
    fit(PROBLEM, rounds=2, init=first)
    np.testing.assert_array_equal(first.P, before)
    assert first.state.round == 1


def test_any_solver_starts_from_any_other_s_model_in_either_precision():
    start = fit(Case(dtype="float32").build(), solver="sgd", rounds=1)
    model = fit(PROBLEM, solver="pl2m", rounds=2, init=start)
    assert model.P.dtype == np.float64
    assert model.history[-1].objective < model.history[0].objective


def test_the_seed_decides():
    a, again, b = (fit(PROBLEM, rounds=2, seed=seed) for seed in (1, 1, 2))
    assert a.P.tobytes() == again.P.tobytes()
    assert a.P.tobytes() != b.P.tobytes()


def test_callbacks_see_every_round_and_can_stop():
    seen = []

    def watch(event):
        seen.append((event.record.round, event.last, event.model().score(0, 0).shape))
        if event.record.round == 2:
            event.stop("that will do")

    model = fit(PROBLEM, rounds=10, callbacks=[watch])
    assert seen == [(0, 10, ()), (1, 10, ()), (2, 10, ())]
    assert model.stopped == "that will do"
    assert len(model.history) == 3


def test_a_callback_s_error_reaches_the_caller():
    def fail(event):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        fit(PROBLEM, callbacks=[fail])


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"rounds": 0}, ValueError, "rounds: expected at least 1, got 0"),
        ({"rounds": "3"}, TypeError, "rounds: expected a whole number, got '3'"),
        ({"seed": -1}, ValueError, "seed: expected at least 0, got -1"),
        ({"threads": 0}, ValueError, "threads: expected a whole number from 1 to 1024, or None, got 0"),
        ({"threads": True}, ValueError, "threads"),
        ({"threads": 2**31}, ValueError, "threads: expected a whole number from 1 to 1024"),
        (
            {"callbacks": [3]},
            TypeError,
            "callbacks: expected callables that take a RoundEvent, or names of them, got 3",
        ),
        ({"solver": solvers.PL2M}, TypeError, r"solver: expected a Solver or the name of one.*write PL2M\(\)"),
        ({"init": 0.0}, ValueError, "init: expected a scale above 0"),
        ({"init": float("nan")}, ValueError, "init: expected a scale above 0"),
    ],
)
def test_bad_arguments_are_refused_by_name(options, error, message):
    with pytest.raises(error, match=message):
        fit(PROBLEM, **options)


def test_only_problems_are_fitted():
    with pytest.raises(TypeError, match=r"problem: expected a fmfkit.Problem, got ndarray"):
        fit(np.eye(2))


def test_all_refusals_of_a_solver_are_told_at_once():
    with pytest.raises(IncompatibleError, match="it is too small; it is too dull"):
        fit(PROBLEM, solver=Picky())


class Halving(Solver):
    """A solver as a plugin author would write it: halves all parameters."""

    def prepare(self, problem: Problem, state: State):
        return {"rounds": 0}

    def round(self, problem, state, workspace):
        workspace["rounds"] += 1
        state.P *= 0.5
        state.Q *= 0.5
        return RoundReport() if workspace["rounds"] < 5 else None


def test_a_solver_in_numpy_is_recorded_like_any_other():
    model = fit(PROBLEM, solver=Halving(), rounds=3)
    penalties = [record.penalty for record in model.history]
    for before, after in itertools.pairwise(penalties):
        assert after == pytest.approx(before / 4)


def test_a_solver_that_reports_nothing_is_refused():
    with pytest.raises(PluginContractError, match="returned None, expected a fmfkit RoundReport"):
        fit(PROBLEM, solver=Halving(), rounds=5)


def test_a_scheduler_that_breaks_its_promise_is_refused_in_training():
    with pytest.raises(PluginContractError, match=r"Fixed\.partition did not partition 19 features"):
        fit(PROBLEM, solver=solvers.PL2M(scheduler=Fixed(Partition.from_sets([[0]]))))


def test_known_optimum_is_reached():
    """Rank 1, one feature on each side, one pair: (o + p q - y)² + l/2 (p² + q²) with p = q at the minimum."""
    problem = Problem.from_coo(
        [0],
        [0],
        [3.0],
        rank=1,
        offset=0.0,
        query_bias=False,
        target_bias=False,
        dtype="float64",
        penalty=Penalty(ElasticNet(l2=0.5), scale="uniform"),
    )
    model = fit(problem, solver=solvers.PL2M(scheduler=schedulers.InOrder()), rounds=400)
    # d/dp: 2 (p² - 3) p + p / 2 = 0
    assert abs(model.P[0, 0]) == pytest.approx(np.sqrt(3 - 0.25), rel=1e-6)
    assert model.P[0, 0] == pytest.approx(model.Q[0, 0], rel=1e-6)


def test_a_fit_that_leaves_the_finite_numbers_says_what_to_change():
    with (
        pytest.raises(DivergedError, match="after round 1: lower learning_rate, which is 1000000"),
        np.errstate(all="ignore"),
    ):
        fit(PROBLEM, solver=solvers.SGD(learning_rate=1e6), rounds=9)


@attrs.frozen(kw_only=True)
class SaysNothingOfCells(solvers.Panel):
    def round(self, problem, state, workspace):
        return attrs.evolve(solvers.Panel.round(self, problem, state, workspace), cells=None)


def test_the_term_over_all_cells_is_counted_where_a_solver_does_not_report_it():
    problem = Case(cells="weighed").build()
    silent, telling = (fit(problem, solver=solver, rounds=2) for solver in (SaysNothingOfCells(), solvers.Panel()))
    np.testing.assert_allclose(silent.history[-1].cells, telling.history[-1].cells, rtol=1e-9)


@pytest.mark.parametrize("solver", ["naive", "l2m", "pl2m", "panel", "sgd", "hogwild"])
def test_a_fit_that_needs_more_memory_than_there_is_is_refused_before_it_starts(solver, monkeypatch):
    needed = PROBLEM.memory(solver, threads=2).total
    monkeypatch.setattr("fmfkit._kernels.machine.memory", lambda: needed)
    fit(PROBLEM, solver=solver, rounds=1, threads=2)
    monkeypatch.setattr("fmfkit._kernels.machine.memory", lambda: needed - 1)
    monkeypatch.setattr(State, "initial", None)  # never reached
    with pytest.raises(
        MemoryError, match=r"needs [\d.e-]+ GB of memory \(data .* GB, model .*\), and .*; lower the rank"
    ):
        fit(PROBLEM, solver=solver, rounds=1, threads=2)


def test_a_solver_that_does_not_say_what_it_needs_is_let_through(monkeypatch):
    monkeypatch.setattr("fmfkit._kernels.machine.memory", lambda: 1)
    fit(PROBLEM, solver="reference", rounds=1)
