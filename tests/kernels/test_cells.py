"""The term over all cells in C: Gram matrices instead of cells."""

import attrs
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from laws import DESCENT, assert_never_rises, assert_same_bits
from numpy_plugins import NumpyRidge, PseudoHuber
from problems import Case, cases, few

from fmfkit import AllCells, fit
from fmfkit._kernels.cells import Gram, portions
from fmfkit.errors import IncompatibleError


def all_cells(problem, model):
    """The term as it is defined: a sum over every cell."""
    q, p = problem.query.pairs.rows, problem.target.pairs.rows
    score = model.score(np.arange(q)[:, None], np.arange(p)[None, :]).astype(np.float64)
    weight = problem.query.cells.astype(np.float64)[:, None] * problem.target.cells.astype(np.float64)
    return problem.cells.weight * np.sum(weight * (score - problem.cells.value) ** 2)


@few
@given(case=cases(dtype="float64"), cells=st.sampled_from(["plain", "weighed"]), solver=st.sampled_from(DESCENT))
def test_the_term_is_the_sum_over_all_cells(case, cells, solver):
    problem = attrs.evolve(case, cells=cells).build()
    model = fit(problem, solver=solver, rounds=2, threads=2)
    assert model.history[-1].cells == pytest.approx(all_cells(problem, model), rel=1e-12, abs=1e-14)
    assert model.history[-1].objective == sum(getattr(model.history[-1], name) for name in ("loss", "cells", "penalty"))


@pytest.mark.parametrize("solver", DESCENT, ids=repr)
@pytest.mark.parametrize("cells", ["plain", "weighed"])
def test_in_single_precision_the_term_is_the_sum_over_all_cells_but_for_rounding(cells, solver):
    problem = Case(queries=600, targets=300, pairs=3000, rank=11, dtype="float32", cells=cells).build()
    model = fit(problem, solver=solver, rounds=2, threads=2)
    # biases make up for an offset that is not the cells' value: what cancels is larger than what is left
    shifted = problem.cells.weight * problem.query.cells.sum() * problem.target.cells.sum()
    shifted *= (problem.offset - problem.cells.value) ** 2
    assert model.history[-1].cells == pytest.approx(all_cells(problem, model), rel=1e-5, abs=1e-6 * float(shifted))


@pytest.mark.parametrize("solver", DESCENT, ids=repr)
def test_it_goes_with_losses_and_regularizers_of_plugins(solver):
    problem = Case(pairs=80, cells="weighed").build(loss=PseudoHuber(), penalty=NumpyRidge(0.2))
    model = fit(problem, solver=solver, rounds=4, threads=2)
    assert_never_rises(model, "float64")
    assert model.history[-1].cells == pytest.approx(all_cells(problem, model), rel=1e-12)


@pytest.mark.parametrize("plain", [True, False])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_threads_do_not_change_a_bit_where_rows_are_shared_out(dtype, plain):
    case = Case(queries=3000, targets=700, pairs=30_000, rank=19, plain=plain, dtype=dtype, cells="weighed")
    models = [fit(case.build(), rounds=2, threads=threads) for threads in (1, 2, 4)]
    assert_same_bits(models[0], models[1])
    assert_same_bits(models[0], models[2])
    assert len({model.history[-1].objective for model in models}) == 1


def test_a_weight_of_zero_changes_nothing():
    with_cells = fit(Case().build(cells=AllCells(0.0), offset=0.0), rounds=3)
    assert_same_bits(with_cells, fit(Case().build(offset=0.0), rounds=3))


def test_cells_keep_scores_of_unobserved_pairs_near_their_value():
    case = Case(queries=40, targets=30, pairs=200, plain=True, loss="square", seed=4)
    positives = case.build(offset=0.0).replace(penalty=case.penalty())
    y = np.ones(positives.pairs)
    pairs = positives.query.pairs
    options = {"rank": 4, "shape": (40, 30), "dtype": "float64", "offset": 0.0}
    build = type(positives).from_coo
    far, near = (
        fit(build(pairs.row, pairs.other, y, **options, cells=cells), rounds=20) for cells in (None, AllCells(1.0))
    )
    missing = np.ones((40, 30), bool)
    missing[pairs.row, pairs.other] = False
    i, j = np.nonzero(missing)
    assert np.abs(near.score(i, j)).mean() < 0.5 * np.abs(far.score(i, j)).mean()


def test_gram_sums_are_those_of_numpy():
    rng = np.random.default_rng(0)
    V, b = rng.normal(size=(5000, 24)).astype(np.float32), rng.random(5000).astype(np.float32)
    gram = Gram.of(V, b, 2)
    exact = V.astype(np.float64)
    np.testing.assert_allclose(gram.M, (exact * b[:, None]).T @ exact, rtol=1e-5, atol=1e-3)
    np.testing.assert_allclose(gram.level, b @ exact, rtol=1e-5, atol=1e-3)
    assert gram.total == pytest.approx(b.sum(dtype=np.float64))


def test_sums_of_very_many_dimensions_take_bounded_memory():
    assert portions(10**6, 64) > 1
    assert portions(10**6, 4096) == 1


@pytest.mark.parametrize("solver", ["sgd", "hogwild"])
def test_stochastic_solvers_refuse_the_term_and_say_why(solver):
    with pytest.raises(IncompatibleError, match=r"visits observed pairs only.*draw negatives"):
        fit(Case(cells="plain").build(), solver=solver)
