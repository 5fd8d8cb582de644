"""The oracle itself: against formulas written out here, and its algorithms against each other."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from problems import Case, cases

from fmfkit import State, fit, schedulers, solvers
from fmfkit.solvers import reference
from fmfkit.solvers.reference import Reference

some = settings(max_examples=10)


def test_the_objective_is_the_one_that_is_written_down():
    problem = Case(weights=True, l1=0.3, l2=0.2, growth=0.5).build()
    state = State.initial(problem, seed=1, scale=0.5)
    state.P[:, -1] = 0.25
    X, Z = (reference.dense(features) for features in (problem.X, problem.Z))
    U, V = X @ state.P, Z @ state.Q
    total = 0.0
    for i, j, y, weight in zip(
        problem.query.pairs.row,
        problem.query.pairs.other,
        problem.query.pairs.y,
        problem.query.pairs.weight,
        strict=True,
    ):
        score = problem.offset + U[i, :3] @ V[j, :3] + U[i, 3] + V[j, 3]
        total += weight * (score - y) ** 2
    for side, W in zip(problem.sides, (state.P, state.Q), strict=True):
        for part in side.parts:
            for column in range(part.columns.start, part.columns.stop):
                grown = (1 + column - part.columns.start) ** (0.5 if part is side.factors else 0)
                w = W[:, column]
                total += np.sum(part.strength * grown * (0.3 * np.abs(w) + 0.1 * w**2))
    assert reference.objective(problem, state) == pytest.approx(total)


def test_dense_features_are_those_that_were_given():
    X = np.array([[1.0, 0, 2], [0, 3, 0]])
    problem = Case(queries=2, pairs=8).build(X=X)
    np.testing.assert_array_equal(reference.dense(problem.X), X)


@some
@given(case=cases(dtype="float64", loss="square"))
def test_algorithms_1_and_2_take_the_same_steps_where_the_loss_is_a_square(case):
    """Sums over pairs and over instances are then the same numbers; of other losses Algorithm 2 keeps a bound."""
    problem = case.build()
    first, second = (fit(problem, solver=Reference(algorithm=n), rounds=2) for n in (1, 2))
    np.testing.assert_allclose(first.P, second.P, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(first.Q, second.Q, rtol=1e-9, atol=1e-10)


@some
@given(case=cases(dtype="float64"))
def test_algorithm_3_with_sets_of_one_feature_is_algorithm_2(case):
    problem = case.build()
    alone = Reference(algorithm=3, scheduler=schedulers.InOrder(1))
    first, second = (fit(problem, solver=solver, rounds=2) for solver in (Reference(algorithm=2), alone))
    np.testing.assert_allclose(first.P, second.P, rtol=1e-9, atol=1e-10)


@some
@given(case=cases(dtype="float64", l1=0.0))
def test_no_algorithm_raises_the_objective(case):
    problem = case.build()
    for solver in (
        Reference(algorithm=1),
        Reference(algorithm=3),
        Reference(panel=2),
        Reference(panel=2, scheduler=None),
    ):
        objectives = [record.objective for record in fit(problem, solver=solver, rounds=3).history]
        assert all(b <= a + 1e-9 * (1 + abs(a)) for a, b in itertools.pairwise(objectives)), solver


def test_single_dimensions_need_a_scheduler():
    assert list(Reference(scheduler=None).refusals(Case().build())) == ["without panels a scheduler is needed"]
    assert list(Reference(panel=2, scheduler=None).refusals(Case().build())) == []


@pytest.mark.parametrize("options", [{"algorithm": 4}, {"panel": 0}, {"directions": 0}])
def test_senseless_options_are_refused(options):
    with pytest.raises(ValueError, match=next(iter(options))):
        solvers.Reference(**options)


@pytest.mark.parametrize("algorithm", [0, 4])
def test_the_reference_knows_three_algorithms(algorithm):
    with pytest.raises(ValueError, match="algorithm"):
        solvers.Reference(algorithm=algorithm)
