"""Strengths that are learnt: the oracle, the laws, and what is refused."""

import itertools

import attrs
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from laws import assert_close
from numpy_plugins import NumpySquare
from problems import Case, cases, few, large

from fmfkit import AllCells, LearntPenalty, Problem, fit, solvers
from fmfkit.errors import IncompatibleError
from fmfkit.solvers import reference

ORACLE = solvers.Reference(panel=8, scheduler=None)
learnt_cases = cases(l1=0.0, cells="none")


def learnt(case, **options):
    return case.build(penalty=LearntPenalty(**options))


def arrays(strengths):
    sides = (strengths.query, strengths.target)
    found = [part for side in sides for part in (side.factors, side.bias, side.variance, side.bias_variance)]
    return [np.atleast_1d(part) for part in (*found, strengths.noise) if part is not None]


@few
@given(case=learnt_cases, wide=st.booleans(), rounds=st.integers(1, 3))
def test_learnt_strengths_equal_the_reference(case, wide, rounds):
    problem = learnt(attrs.evolve(case, dtype="float64", rank=11 if wide else 3), rounds=2)
    native, expected = (fit(problem, solver=s, rounds=rounds, threads=2) for s in ("panel", ORACLE))
    assert_close(native, expected, "float64")
    for mine, theirs in zip(arrays(native.state.strengths), arrays(expected.state.strengths), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-6)
    np.testing.assert_allclose(
        [record.objective for record in native.history],
        [record.objective for record in expected.history],
        rtol=1e-6,
        atol=1e-12,
    )


@few
@given(case=learnt_cases)
def test_objective_never_rises_once_strengths_are_held(case):
    model = fit(learnt(case, rounds=3, shrink=0.7, spread=1.5), rounds=7, threads=2)
    held = [record.objective for record in model.history if record.round >= 3]
    slack = (1e-6 if case.dtype == "float32" else 1e-12) * max(map(abs, held))
    assert all(after <= before + slack for before, after in itertools.pairwise(held)), held
    assert [record.learnt for record in model.history] == [False, True, True, True, False, False, False, False]


def test_the_objective_of_the_history_is_the_reference_s_with_the_strengths_of_the_state():
    problem = learnt(Case(rank=3, weights=True), rounds=2)
    for rounds in (1, 2, 4):
        model = fit(problem, rounds=rounds)
        held = problem.with_strengths(model.state.strengths)
        np.testing.assert_allclose(model.history[-1].objective, reference.objective(held, model), rtol=1e-9)


@pytest.mark.parametrize("loss", ["square", "logistic"])
def test_the_number_of_threads_changes_no_bit_while_strengths_are_learnt(loss):
    problem = large(loss=loss).replace(penalty=LearntPenalty(rounds=2))
    one, two, four = (fit(problem, rounds=3, threads=threads) for threads in (1, 2, 4))
    for other in (two, four):
        np.testing.assert_array_equal(one.P, other.P)
        np.testing.assert_array_equal(one.Q, other.Q)
        for mine, theirs in zip(arrays(one.state.strengths), arrays(other.state.strengths), strict=True):
            np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize("stop", [1, 2, 3])
def test_a_resumed_fit_learns_on_as_if_it_had_not_stopped(stop):
    problem = learnt(Case(rank=9), rounds=3)
    whole = fit(problem, rounds=5)
    resumed = fit(problem, rounds=5 - stop, init=fit(problem, rounds=stop))
    np.testing.assert_array_equal(whole.P, resumed.P)
    np.testing.assert_array_equal(whole.Q, resumed.Q)
    assert whole.state.strengths.noise == resumed.state.strengths.noise


def planted(rank=3, noise=0.5, scale=1.0, seed=0, weight=None):
    """Ratings of a few dimensions, and features of which the first block says nothing, the second all."""
    rng = np.random.default_rng(seed)
    n, m = 400, 150
    groups = rng.integers(12, size=n)
    told = sp.csr_array((np.ones(n), groups, np.arange(n + 1)), shape=(n, 12))
    chance = sp.csr_array((np.ones(n), rng.integers(12, size=n), np.arange(n + 1)), shape=(n, 12))
    U, V = rng.normal(size=(12, rank))[groups], rng.normal(size=(m, rank))
    i, j = np.nonzero(rng.random((n, m)) < 0.15)
    y = 3 + scale * ((U[i] * V[j]).sum(axis=1) + noise * rng.normal(size=len(i)))
    X = {"chance": chance, "told": told, "id": sp.eye_array(n)}
    return Problem.from_coo(i, j, y, X=X, rank=8, shape=(n, m), penalty=LearntPenalty(), weight=weight)


def test_the_noise_and_the_number_of_dimensions_that_data_has_are_found():
    strengths = fit(planted().replace(penalty=LearntPenalty(rounds=40)), rounds=40).state.strengths
    np.testing.assert_allclose(1 / np.sqrt(2 * strengths.noise), 0.5, rtol=0.1)
    deviations = np.sort(1 / np.sqrt(strengths.query.factors[1]))
    assert (deviations[-3:] > 1.5 * deviations[-4]).all()


def test_a_block_that_says_nothing_is_shrunk_more_than_one_that_says_all():
    strengths = fit(planted(), rounds=20).state.strengths
    chance, told, _ = (1 / strengths.query.factors).max(axis=1)
    assert told > 5 * chance


@pytest.mark.parametrize("scale", [1e-3, 1e3])
def test_a_model_of_scaled_y_is_the_scaled_model(scale):
    plain, scaled = (fit(planted(scale=s), rounds=12) for s in (1.0, scale))
    rows = np.arange(150)
    expected = 3 + scale * (plain.score(rows, rows) - 3)
    deviation = scale * np.abs(plain.score(rows, rows) - 3).max()
    np.testing.assert_allclose(scaled.score(rows, rows), expected, atol=2e-3 * deviation)


def test_two_pairs_of_half_the_weight_count_as_one():
    case = Case(rank=4, pairs=60)
    once = case.build(penalty=LearntPenalty())
    halves = once.replace(weight=np.full(once.pairs, 0.5))
    pairs = once.query.pairs
    i = np.repeat(np.arange(pairs.rows), np.diff(pairs.ptr))
    X, Z = reference.dense(once.X), reference.dense(once.Z)
    blocks = [{name: M[:, part] for name, part in side.blocks.items()} for M, side in ((X, once.X), (Z, once.Z))]
    twice = Problem.from_coo(
        i, pairs.other, pairs.y, rank=4, X=blocks[0], Z=blocks[1], shape=(12, 9), dtype="float64",
        penalty=LearntPenalty(), weight=np.full(len(i), 0.5),
    )  # fmt: skip
    a, b = (fit(p, rounds=5) for p in (halves, twice))
    np.testing.assert_allclose(a.P, b.P, rtol=1e-9, atol=1e-12)


def test_constant_y_is_learnt_without_a_fault():
    problem = Problem.from_coo([0, 1, 2], [0, 1, 0], [2.0, 2.0, 2.0], rank=2, penalty=LearntPenalty())
    model = fit(problem, rounds=12)
    np.testing.assert_allclose(model.score([0, 1, 2], [1, 0, 1]), 2.0, atol=0.05)


def test_a_loss_of_python_learns_as_the_built_in_one():
    problem = Case(rank=3).build(penalty=LearntPenalty())
    built_in, python = (fit(problem.replace(loss=loss, offset=0.1), rounds=4) for loss in ("square", NumpySquare()))
    np.testing.assert_allclose(built_in.P, python.P, rtol=1e-7, atol=1e-10)


@pytest.mark.parametrize("solver", ["pl2m", "sgd", solvers.Sequence("panel", "pl2m")])
def test_solvers_that_do_not_learn_strengths_refuse_to(solver):
    with pytest.raises(IncompatibleError, match="does not learn strengths; give them"):
        fit(learnt(Case()), solver=solver)


def test_sets_of_features_and_learnt_strengths_do_not_go_together():
    with pytest.raises(IncompatibleError, match="leave out the scheduler"):
        fit(learnt(Case()), solver=solvers.Panel(scheduler="random"))


def test_all_cells_and_learnt_strengths_do_not_go_together():
    with pytest.raises(ValueError, match="strengths are not learnt where all cells count"):
        Case().build(penalty=LearntPenalty(), cells=AllCells(0.1))


def test_factors_of_blocks_that_there_are_not_are_refused():
    with pytest.raises(ValueError, match=r"no feature block 'query.share'.*did you mean 'query.shared'"):
        learnt(Case(), strengths={"query.share": 2.0})


@pytest.mark.parametrize("options", [{"rounds": 0}, {"shrink": -1}, {"spread": np.nan}, {"strengths": {"a": -1}}])
def test_senseless_options_are_refused(options):
    with pytest.raises(ValueError, match="expected"):
        LearntPenalty(**options)


def test_held_strengths_are_multiplied_by_the_factors_asked_for():
    plain = fit(learnt(Case(), rounds=2), rounds=2).state.strengths
    asked = learnt(Case(), rounds=2, shrink=2.0, spread=0.5, strengths={"target.shared": 3.0}).with_strengths(plain)
    held = learnt(Case(), rounds=2).with_strengths(plain)
    np.testing.assert_allclose(asked.target.factors.growth, held.target.factors.growth * [[2.0], [6.0]])
    np.testing.assert_allclose(asked.query.bias.growth, 2 * held.query.bias.growth)
    np.testing.assert_allclose(asked.query.spread.variance, held.query.spread.variance / 2)
    learning = learnt(Case(), rounds=3, shrink=2.0).with_strengths(plain)
    np.testing.assert_array_equal(learning.target.factors.growth, held.target.factors.growth)


def test_a_model_says_which_blocks_matter():
    model = fit(planted(), rounds=20)
    told = model.strengths
    assert told.keys() == {"query.chance", "query.told", "query.id", "target.indicator"}
    assert told["query.told"] > 2 * told["query.chance"]
    assert told["query.told"] == pytest.approx(np.sqrt(3), rel=0.5)  # three dimensions of variance 1
    assert fit(Case().build(), rounds=1).strengths == {}
