"""What moves during a fit: parameters of the right shape, drawn from a seed."""

import numpy as np
import pytest
from problems import Case

from fmfkit import Model, Solver, State, fit
from fmfkit.solvers import Panel

PROBLEM = Case().build()


def test_initial_values_have_the_scale_asked_for_and_biases_start_at_zero():
    problem = Case(queries=400, pairs=500).build()
    starts = []
    for scale in (0.01, 1.0):
        fit(
            problem,
            init=scale,
            rounds=1,
            callbacks=[lambda event: starts.append(event.state.P.copy()) or event.stop("")],
        )
    for P, scale in zip(starts, (0.01, 1.0), strict=True):
        assert P[:, :-1].std() == pytest.approx(scale, rel=0.1)
        assert not P[:, -1].any()


def test_a_state_of_another_shape_is_refused():
    other = fit(Case(rank=2).build(), rounds=1)
    with pytest.raises(ValueError, match=r"state\.P has shape \(19, 3\), expected \(19, 4\)"):
        fit(PROBLEM, init=other)
    broken = fit(PROBLEM, rounds=1)
    broken.state.Q[0, 0] = np.nan
    with pytest.raises(ValueError, match="init: Q holds values that are NaN"):
        fit(PROBLEM, init=broken)
    broken.state.Q[0, 0] = 1e300
    with pytest.raises(ValueError, match="too large for float32"):
        fit(Case(dtype="float32").build(), init=broken)


@pytest.mark.parametrize(
    "replace", [lambda P: P[:1].copy(), lambda P: P.astype("float32"), lambda P: np.asfortranarray(P)]
)
def test_parameters_put_into_the_state_must_suit_the_problem(replace):
    def swap(event):
        event.state.P = replace(event.state.P)

    with pytest.raises(ValueError, match=r"state\.P (has shape|must be a writable, C-ordered array)"):
        fit(PROBLEM, callbacks=swap)


def test_random_numbers_follow_from_seed_round_and_side_alone():
    state = State.initial(PROBLEM, seed=3)
    drawn = state.rng("query").random(4)
    np.testing.assert_array_equal(State.initial(PROBLEM, seed=3, threads=2).rng("query").random(4), drawn)
    assert (state.rng("target").random(4) != drawn).all()
    state.round = 1
    assert (state.rng("query").random(4) != drawn).all()


def test_a_copy_shares_no_memory_and_has_the_precision_of_its_problem():
    state = State.initial(PROBLEM, seed=0)
    state.turns[()] = (1, 2)
    copy = state.copy_for(Case(dtype="float32").build(), threads=2)
    assert copy.P.dtype == np.float32
    assert copy.threads == 2
    same = state.copy_for(PROBLEM)
    same.P[:] = 0
    same.turns.clear()
    assert state.P.any()
    assert state.turns == {(): (1, 2)}


def test_places_of_composed_solvers_are_entered_and_left():
    state = State.initial(PROBLEM, seed=0)
    with state.within(1), state.within(0):
        assert state.place == (1, 0)
    with pytest.raises(KeyError), state.within(2):
        raise KeyError
    assert state.place == ()


class WithMomentum(Solver):
    """Keeps a count and the parameters of the round before."""

    def prepare(self, problem, state):
        return Panel().prepare(problem, state)

    def round(self, problem, state, workspace):
        before = state.arrays.get("before", np.zeros_like(state.P))
        state.P += 0.01 * before
        state.arrays["before"] = state.P.copy()
        state.arrays["count"] = state.arrays.get("count", np.zeros(1, np.int64)) + 1
        return Panel().round(problem, state, Panel().prepare(problem, state))


def test_arrays_of_a_solver_are_resumed_from_a_model_and_from_a_file(tmp_path):
    problem = Case().build()
    whole = fit(problem, solver=(solver := WithMomentum()), rounds=5)
    half = fit(problem, solver=solver, rounds=2)
    half.save(tmp_path / "model")
    for start in (half, Model.load(tmp_path / "model")):
        resumed = fit(problem, solver=solver, rounds=3, init=start)
        np.testing.assert_array_equal(resumed.P, whole.P)
        assert resumed.state.arrays["count"] == [5]
    assert half.state.arrays["count"] == [2]
    assert not fit(problem, rounds=1, init=half).state.arrays
