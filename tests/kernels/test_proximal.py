"""Sides whose features' whole rows are penalised: gradients against NumPy, laws, and where a fit ends."""

import attrs
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from laws import assert_never_rises, assert_same_bits
from numpy_plugins import NumpyLogistic, PseudoHuber
from problems import Case, cases, few
from zoo.regularizers_rows import GoodRows

from fmfkit import Penalties, Penalty, errors, fit, solvers
from fmfkit._kernels.components import LossForm
from fmfkit._kernels.proximal import ProximalUpdate
from fmfkit._kernels.scoring import embed
from fmfkit._kernels.side import Given
from fmfkit.regularizers import ElasticNet

EVERYWHERE = Penalty(GoodRows())
ONE_SIDE = Penalties(P=ElasticNet(l2=0.1), Q=Penalty(GoodRows()), target_bias=ElasticNet(l2=0.2))


@few
@given(case=cases(), penalty=st.sampled_from([EVERYWHERE, ONE_SIDE]), large_rank=st.booleans())
def test_the_objective_never_rises_and_bits_are_the_same_on_any_number_of_threads(case, penalty, large_rank):
    problem = attrs.evolve(case, rank=11 if large_rank else 3, growth=0.0).build(penalty=penalty)
    one, two, four = (fit(problem, rounds=4, threads=threads) for threads in (1, 2, 4))
    assert_never_rises(one, case.dtype)
    assert_same_bits(one, two)
    assert_same_bits(one, four)


@pytest.mark.parametrize("loss", [NumpyLogistic(), PseudoHuber()], ids=repr)
def test_losses_in_numpy_train_too(loss):
    assert_never_rises(fit(Case(loss="logistic").build(loss=loss, penalty=EVERYWHERE), rounds=6), "float64")


def slopes(problem, model, side):
    """Return slopes and curvatures of a side's features as C makes them, and as NumPy does."""
    mine, other = (problem.query, problem.target) if side == "query" else (problem.target, problem.query)
    W, others = (model.P, model.Q) if side == "query" else (model.Q, model.P)
    update = ProximalUpdate(problem, mine, LossForm.of(problem.loss, problem.dtype))
    update.prepare(W, 2)
    U, V = embed(problem, mine, W, 2), embed(problem, other, others, 2)
    given = Given(W.copy(), V, np.empty(problem.pairs, problem.dtype), 2)
    update._look_at_others(given)
    here = update._place("beyond")
    here.W[:], here.U[:] = W, U
    here.score[:] = 0
    update.scored.scores(U, V, here.score, 2)
    update._make_slopes(here, given)
    found = update._own_arrays["slope"][:, update._slots], update._own_arrays["curvature"]
    pairs, features = mine.pairs, mine.features
    X = sp.csr_array((features.values_by_row(), features.row_index, features.row_ptr), (features.rows, features.cols))
    X = X.toarray()
    weight = 1.0 if pairs.weight is None else pairs.weight
    score = problem.offset + np.einsum("ek,ek->e", U[pairs.row_of], V[pairs.other])
    g, h = weight * problem.loss.gradient(score, pairs.y), weight * problem.loss.curvature(score, pairs.y)
    G, trace = np.zeros((len(U), len(update._slots))), np.zeros(len(U))
    lines = V[pairs.other][:, update._slots]
    np.add.at(G, pairs.row_of, g[:, None] * lines)
    np.add.at(trace, pairs.row_of, h * np.sum(lines**2, axis=1))
    return found, (X.T @ G, np.abs(X).T @ (np.abs(X).sum(axis=1) * trace))


@few
@given(case=cases(dtype="float64"), side=st.sampled_from(["query", "target"]))
def test_slopes_and_curvatures_are_those_of_the_formula(case, side):
    problem = attrs.evolve(case, cells="none", growth=0.0).build(penalty=EVERYWHERE)
    model = fit(problem, rounds=1, init=0.5)
    for found, wanted in zip(*slopes(problem, model, side), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9 * (1 + np.abs(wanted).max()))


def test_a_long_fit_ends_where_no_row_has_anything_to_gain():
    problem = Case(queries=40, targets=30, pairs=500, rank=2, weights=True).build(penalty=ONE_SIDE)
    model = fit(problem, rounds=3000, threads=1, callbacks="tolerance:relative=1e-13")
    (slope, _), _ = slopes(problem, model, "target")
    rows, strength = model.Q[:, :2], 0.3 * problem.target.factors.strength
    length = np.linalg.norm(rows, axis=1)
    gone = length == 0
    assert 0 < gone.sum() < len(rows)
    assert (np.linalg.norm(slope[gone, :2], axis=1) <= strength[gone] * (1 + 1e-6)).all()
    left = slope[~gone, :2] + (strength[~gone] / length[~gone])[:, None] * rows[~gone]
    assert (np.linalg.norm(left, axis=1) <= 1e-3 * strength[~gone]).all()


def test_a_fit_goes_on_bit_for_bit():
    problem = Case().build(penalty=EVERYWHERE)
    whole, half = fit(problem, rounds=6), fit(problem, rounds=3)
    assert_same_bits(fit(problem, rounds=3, init=half), whole)


@pytest.mark.parametrize("solver", ["naive", "l2m", "pl2m", "sgd", "hogwild", "reference"])
def test_solvers_that_take_parameters_one_by_one_refuse(solver):
    with pytest.raises(errors.IncompatibleError, match=r"takes parameters one by one, and GoodRows\(\) whole rows"):
        fit(Case().build(penalty=EVERYWHERE), solver=solver)


def test_a_stage_with_such_a_penalty_needs_a_solver_that_takes_it():
    stage = solvers.Stage("pl2m", rounds=2, penalty=EVERYWHERE)
    with pytest.raises(errors.IncompatibleError, match="the stage's penalty whole rows"):
        fit(Case().build(), solver=stage)
    fit(Case().build(), solver=solvers.Stage("panel", rounds=2, penalty=EVERYWHERE), rounds=2)


def test_strengths_that_grow_with_the_dimension_are_refused():
    with pytest.raises(ValueError, match=r"growth: expected 0, for GoodRows\(\) takes whole rows, got 0.5"):
        Penalty(GoodRows(), growth=0.5)
