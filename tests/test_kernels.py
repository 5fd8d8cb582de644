"""The kernels that solvers of plugins have, against plain NumPy."""

import attrs
import numpy as np
import pytest
from hypothesis import given
from problems import Case, cases, few, large

from fmfkit import State, kernels
from fmfkit.solvers import reference
from fmfkit.solvers.reference.panels import owned_features, panel_own_step
from fmfkit.solvers.reference.sums import Observed, derivatives, embed, strengths


def sides_of(problem, seed=0, threads=2):
    """The query side as the kernels have it after rescoring, and as the oracle has it."""
    state = State.initial(problem, seed=seed, scale=0.5)
    state.P[:, problem.rank :] = 0.3
    mine, other = kernels.sides(problem, threads)
    U, V = mine.embed(state.P), other.embed(state.Q)
    loss = mine.rescore(U, V)
    u, v = (
        embed(problem, side, W.astype(np.float64)) for side, W in zip(problem.sides, (state.P, state.Q), strict=True)
    )
    pairs = Observed.of(problem, problem.query, u, v)
    score = problem.offset + np.sum(u[pairs.i] * v[pairs.j], axis=1)
    return state, mine, loss, pairs, score, v


@few
@given(case=cases(dtype="float64"))
def test_scores_gradients_and_sums_are_what_numpy_makes(case):
    problem = attrs.evolve(case, rank=9).build()
    _, side, loss, pairs, score, V = sides_of(problem)
    g, h = derivatives(problem, pairs, score)
    np.testing.assert_allclose(side.scores, score, atol=1e-9)
    np.testing.assert_allclose(loss, np.sum(pairs.weight * problem.loss.value(score, pairs.y)), rtol=1e-9)
    for found, expected in zip(side.gradients(), (g, np.broadcast_to(h, g.shape)), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-9)
    for panel in side.panels:
        G, A = side.sums(panel)
        size = side.columns(panel).stop - side.columns(panel).start
        theirs = np.ones((len(V), 1)) if panel == kernels.BIAS else V[:, side.columns(panel)]
        expected_G, expected_A = pairs.cells.panel_sums(theirs)
        np.add.at(expected_G, pairs.i, g[:, None] * theirs[pairs.j])
        np.add.at(expected_A, pairs.i, np.einsum("n,nk,nl->nkl", h + 0 * g, theirs[pairs.j], theirs[pairs.j]))
        np.testing.assert_allclose(G[:, :size], expected_G, atol=1e-9)
        np.testing.assert_allclose(kernels.unfolded(A)[:, :size, :size], expected_A, atol=1e-9)
        assert not G[:, size:].any()


@few
@given(case=cases(dtype="float64"))
def test_products_are_what_numpy_makes(case):
    problem = case.build()
    side, X = kernels.sides(problem, 2)[0], reference.dense(problem.X)
    rng = np.random.default_rng(case.seed)
    rows, features = rng.normal(size=(side.rows, 8)), rng.normal(size=(side.features, 8))
    half, k = rng.normal(size=(side.rows, 8, 8)), np.arange(8)
    full = half + half.transpose(0, 2, 1)
    A = np.concatenate([full[:, k, (k + turn) % 8] for turn in range(5)], axis=1)
    np.testing.assert_allclose(side.by_feature(rows), X.T @ rows, atol=1e-9)
    np.testing.assert_allclose(side.by_feature(rows, squared=True), (X**2).T @ rows, atol=1e-9)
    np.testing.assert_allclose(side.by_row(features), X @ features, atol=1e-9)
    np.testing.assert_array_equal(kernels.unfolded(A), full)
    np.testing.assert_allclose(side.times(A, rows), np.einsum("ikl,il->ik", full, rows), atol=1e-9)


@few
@given(case=cases(dtype="float64", l2=0.1))
def test_own_features_take_the_oracle_s_steps_and_scores_follow(case):
    problem = attrs.evolve(case, rank=9).build()
    state, side, *_ = sides_of(problem)
    own = owned_features(problem.X)
    for panel in side.panels:
        columns, part = side.columns(panel), side.part(panel)
        G, A = (array.copy() for array in side.sums(panel))
        size, W, full = columns.stop - columns.start, state.P.copy(), kernels.unfolded(A)
        moves = side.own_steps(state.P, G, A, panel)
        expected = np.zeros_like(moves)
        strength = strengths(part)[:, slice(1) if panel == kernels.BIAS else columns]
        for i, s in own.items():
            x = reference.dense(problem.X)[i, s]
            step = panel_own_step(part.regularizer, strength[s], x, G[i, :size], full[i, :size, :size], W[s, columns])
            expected[i, :size] = x * step
            W[s, columns] += step
        np.testing.assert_allclose(moves, expected, atol=1e-7)
        np.testing.assert_allclose(state.P, W, atol=1e-7)
        side.move(moves, panel)
        kept, other = side.scores, kernels.sides(problem)[1]
        side.rescore(side.embed(state.P), other.embed(state.Q))
        np.testing.assert_allclose(kept, side.scores, atol=1e-8)


@few
@given(case=cases())
def test_the_strengths_of_a_panel_are_those_of_its_columns(case):
    problem = attrs.evolve(case, rank=9, growth=0.5).build()
    for side in kernels.sides(problem):
        for panel in side.panels:
            expected = [side.part(panel).strength_in(k) for k in range(problem.rank + 1)[side.columns(panel)]]
            np.testing.assert_array_equal(side.strengths(panel), np.stack(expected, axis=1))


@few
@given(case=cases())
def test_the_objective_is_that_of_the_oracle(case):
    problem = case.build()
    state = State.initial(problem, seed=1)
    found = kernels.objective(problem, state.P, state.Q, threads=2)
    assert found == pytest.approx(reference.objective(problem, state), rel=1e-4 if case.dtype == "float32" else 1e-9)


def test_threads_change_no_bit():
    problem = large()
    results = []
    for threads in (1, 2, 4):
        state = State.initial(problem, seed=0, scale=0.5)
        side, other = kernels.sides(problem, threads)
        side.rescore(side.embed(state.P), other.embed(state.Q))
        G, A = side.sums(0)
        shown = side.by_feature(G)
        moves = side.own_steps(state.P, G, A, 0)
        side.move(moves, 0)
        results.append([shown, side.by_row(shown), side.times(A, moves), moves, side.scores, *side.gradients()])
    for other in results[1:]:
        for one, same in zip(results[0], other, strict=True):
            np.testing.assert_array_equal(one, same)


def test_wrong_arrays_and_a_wrong_order_of_calls_are_refused():
    problem = Case().build(dtype="float64")
    side = kernels.sides(problem)[0]
    with pytest.raises(ValueError, match=r"there are no scores yet: call rescore\(mine, theirs\) first"):
        side.sums(0)
    with pytest.raises(ValueError, match=r"rows: expected float64 of shape .* got float32"):
        side.by_feature(np.zeros((side.rows, 8), np.float32))
    with pytest.raises(ValueError, match="panel: expected one of"):
        side.part(9)
    state, side, *_ = sides_of(problem)
    G, A = side.sums(0)
    with pytest.raises(ValueError, match="W: expected float64 of shape"):
        side.own_steps(state.P[:1], G, A, 0)
