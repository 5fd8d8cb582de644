"""Rounds on queries in shards, against the ordinary ones."""

import attrs
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, strategies
from problems import cases, few
from shards import divided, even

from fmfkit import AllCells, LearntPenalty, Penalties, Penalty, Problem, Solver, State, fit, kernels
from fmfkit.errors import IncompatibleError
from fmfkit.regularizers import ElasticNet


@attrs.frozen
class Shards(Solver):
    """The default solver on some shards of neighbouring queries."""

    learns_strengths = True
    shards: int = 3

    def refusals(self, problem):
        return kernels.Shards.refusals(problem)

    def measure(self, problem, state):
        return None if problem.observations.division is None else kernels.measure(problem, state)

    def prepare(self, problem, state):
        division = problem.observations.division or even(problem.query.pairs.rows, self.shards)
        return kernels.Shards(problem, division, state)

    def round(self, problem, state, workspace):
        return workspace.round(problem, state)


def small(seed=0, *, shared=True, **options):
    rng = np.random.default_rng(seed)
    query, target = np.divmod(rng.choice(70 * 30, 600, replace=False), 30)
    X = {"indicator": np.eye(70), "words": (rng.random((70, 12)) < 0.2) * rng.normal(size=(70, 12))}
    blocks = {name: sp.csr_array(block) for name, block in X.items()} if shared else None
    given = {"rank": 11, "X": blocks, **options}
    return Problem.from_coo(query, target, rng.random(600), shape=(70, 30), weight=rng.random(600) + 0.5, **given)


OBJECTIVES = {
    "plain": {},
    "logistic": {"loss": "logistic"},
    "cells": {"cells": AllCells(0.1)},
    "learnt": {"penalty": LearntPenalty(rounds=2)},
    "l1 on targets": {"penalty": Penalties(P=Penalty(ElasticNet(l2=0.1)), Q=Penalty(ElasticNet(l1=0.1)))},
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_one_shard_has_the_bits_of_the_ordinary_fit(objective, shared, dtype):
    problem = small(shared=shared, dtype=dtype, **OBJECTIVES[objective])
    mine, theirs = fit(problem, solver=Shards(1), rounds=3), fit(problem, rounds=3)
    if objective in ("cells", "learnt"):  # what these add to rows, and find out of them, is added in another order
        near = 1e-4 if dtype == "float32" else 1e-11
        np.testing.assert_allclose(mine.P, theirs.P, rtol=near, atol=near)
        return
    assert mine.P.tobytes() == theirs.P.tobytes()
    assert mine.Q.tobytes() == theirs.Q.tobytes()


@few
@given(case=cases(dtype="float64"), shards=strategies.integers(1, 9))
def test_shards_make_the_steps_of_the_ordinary_fit(case, shards):
    problem = case.build()
    if kernels.Shards.refusals(problem):
        return
    mine, theirs = fit(problem, solver=Shards(shards), rounds=2), fit(problem, rounds=2)
    assert mine.history[-1].objective == pytest.approx(theirs.history[-1].objective, rel=1e-6)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_a_divided_problem_measures_what_the_whole_one_does(objective):
    problem = small(dtype="float64", **OBJECTIVES[objective])
    parts = divided(problem, even(70, 4))
    state = State.initial(parts, seed=3)
    mine, theirs = fit(parts, solver=Shards(), rounds=3, init=state), fit(problem, rounds=3, init=state)
    sparse = "l1" in objective  # by rounding a parameter is zero, or next to it
    for name in ("loss", "cells", "penalty", *(() if sparse else ("nonzero",))):
        values = [[getattr(record, name) for record in model.history] for model in (mine, theirs)]
        np.testing.assert_allclose(*values, rtol=1e-9, err_msg=name)


def test_initial_values_of_a_shard_follow_from_its_number():
    parts = divided(small(), even(70, 4))
    one = State.initial(parts, seed=3)
    other = State.initial(divided(small(), even(70, 2)), seed=3)
    shared = parts.X.shared
    assert (one.P[shared] == other.P[shared]).all()
    assert (one.Q == other.Q).all()
    assert (one.P[:17] == other.P[:17]).all()
    assert (one.P[17:35] != other.P[17:35]).any()


def test_what_needs_other_sums_is_refused():
    problem = small(penalty=Penalty(ElasticNet(l1=1.0)))
    with pytest.raises(IncompatibleError, match="sums over shards are made for l2 alone"):
        fit(problem, solver=Shards(), rounds=1)
    with pytest.raises(ValueError, match="its queries are not divided"):
        kernels.measure(small(), State.initial(small(), seed=0))


def test_an_instruction_set_that_is_not_there_is_refused():
    with pytest.raises(ValueError, match="'v99': this build on this processor has"):
        kernels.use_instruction_set("v99")
