"""The sampler: its draws against the posterior, its mean, and what it refuses."""

import attrs
import numpy as np
import pytest
from problems import Case, large

from fmfkit import LearntPenalty, Model, Problem, State, fit, solvers
from fmfkit.errors import IncompatibleError
from fmfkit.solvers import Gibbs, reference
from fmfkit.solvers.chebyshev import Steps
from fmfkit.solvers.folding import Sides, fold
from fmfkit.solvers.gibbs import certain

DRAWS = 200
CASES = {
    "ids only": Case(rank=3, plain=True),
    "features and ids": Case(rank=3, pairs=60),
    "features alone, two panels": Case(rank=10, indicators=False),
    "one value a row": Case(rank=3, even=True, query_bias=False),
    "weights": Case(rank=3, weights=True),
}


def held(case, **changes):
    """A problem whose strengths are learnt, and where its fit stands."""
    problem = case.build(penalty=LearntPenalty(rounds=1), **changes)
    return problem, fit(problem, rounds=1).state


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_draws_of_one_side_given_the_other_have_the_mean_and_covariance_of_the_posterior(case):
    # one panel of dimensions is drawn at once: without a bias, the whole side
    case = attrs.evolve(case, rank=min(case.rank, 8))
    problem, state = held(case, query_bias=False, target_bias=False)
    assert_drawn_from_the_posterior(draws(problem, state, Gibbs(tolerance=1e-7), [state.P] * DRAWS), problem, state)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
@pytest.mark.parametrize("tolerance", [0.9, 0.05])
def test_exact_steps_of_any_number_leave_the_posterior_as_it_is(case, tolerance):
    case = attrs.evolve(case, rank=min(case.rank, 8))
    problem, state = held(case, query_bias=False, target_bias=False)
    drawn = draws(problem, state, Gibbs(tolerance=1e-7), [state.P] * DRAWS)  # from the posterior: so must the next be
    P = draws(problem, state, Gibbs(exact=True, tolerance=tolerance), drawn)
    assert_drawn_from_the_posterior(P, problem, state)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_many_exact_steps_forget_where_they_began(case):
    case = attrs.evolve(case, rank=min(case.rank, 8))
    problem, state = held(case, query_bias=False, target_bias=False)
    P = draws(problem, state, Gibbs(exact=True, tolerance=1e-12), [state.P + 3.0] * DRAWS)
    assert_drawn_from_the_posterior(P, problem, state)


def draws(problem, state, solver, starts):
    """Draw P given Q, from each of the starts."""
    drawn, state = [], state.copy_for(problem, threads=1)
    problem = problem.with_strengths(certain(state.strengths))
    workspace = solver.prepare(problem, state)
    mine = workspace.query
    mine.take_strengths(problem)
    for seed, start in enumerate(starts):
        state.P[...], state.seed, workspace.scored = start, 1000 * len(starts) + seed, None
        mine.embed(state.P, 1)
        solver._turn(state, workspace, mine, draws=solver._draws(solver._key(state, mine)))
        drawn.append(state.P.copy())
    return drawn


def assert_drawn_from_the_posterior(P, problem, state):
    mean, precision = posterior_of_P(problem.with_strengths(state.strengths), state)
    white = (np.reshape(P, (len(P), -1)) - mean) @ np.linalg.cholesky(precision)  # of variance 1, all independent
    count = white.size
    assert abs(white.mean() * np.sqrt(count)) < 5
    assert abs(np.mean(white**2) - 1) < 5 * np.sqrt(2 / count)
    assert np.abs(white.mean(axis=0)).max() < 5 / np.sqrt(len(P))
    covariance = white.T @ white / len(P) - np.eye(white.shape[1])
    assert np.abs(covariance).max() < 6 / np.sqrt(len(P))


def posterior_of_P(problem, state):
    """The mean and precision of all of P, given Q."""
    X, V = reference.dense(problem.X), reference.dense(problem.Z) @ state.Q
    pairs = problem.query.pairs
    i = np.repeat(np.arange(pairs.rows), np.diff(pairs.ptr))
    weight = np.ones(len(i)) if pairs.weight is None else pairs.weight
    design = (X[i][:, :, None] * V[pairs.other][:, None, :]).reshape(len(i), -1)
    c, strengths = 2 * problem.strengths.noise, problem.strengths.query
    prior = strengths.factors[problem.X.group].ravel()
    precision = c * design.T @ (weight[:, None] * design) + np.diag(prior)
    return np.linalg.solve(precision, c * design.T @ (weight * (pairs.y - problem.offset))), precision


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
@pytest.mark.parametrize("solver", [Gibbs(tolerance=1e-6), Gibbs(exact=True)], ids=["solved", "exact"])
def test_parameters_drawn_in_turn_with_y_are_distributed_as_the_prior(case, solver):
    """Geweke's joint test: whatever y is drawn from the model, parameters given y are on average those of the prior."""
    factors, biases, c, sweeps = 2.0, 5.0, 1.5, 2000
    problem = case.build(penalty=LearntPenalty(rounds=1), offset=0.0)

    def fixed(side):
        bias = None if side.bias is None else np.full_like(side.bias, biases)
        return attrs.evolve(side, factors=np.full_like(side.factors, factors), bias=bias)

    strengths = problem.strengths
    sides = {"query": fixed(strengths.query), "target": fixed(strengths.target)}
    problem = problem.with_strengths(attrs.evolve(strengths, **sides, noise=c / 2, rounds=1))
    rng, state = np.random.default_rng(0), State.initial(problem, seed=0, scale=0.7)
    workspace = solver.prepare(problem, state)
    pairs = problem.query.pairs
    i = np.repeat(np.arange(pairs.rows, dtype=np.int32), np.diff(pairs.ptr))
    by_target = np.lexsort((i, pairs.other))
    weight = np.ones(len(i)) if pairs.weight is None else np.maximum(pairs.weight, 1e-9)
    squares = [np.zeros(W.shape) for W in (state.P, state.Q)]
    for _ in range(sweeps):
        for mine in workspace.sides:
            solver._turn(state, workspace, mine, draws=solver._draws(solver._key(state, mine)))
        state.round += 1
        score = Model.of(problem, state).score(i, pairs.other)
        pairs.y[...] = score + rng.normal(size=len(score)) / np.sqrt(c * weight)
        problem.target.pairs.y[...] = pairs.y[by_target]
        workspace.scored = None
        for square, W in zip(squares, (state.P, state.Q), strict=True):
            square += W**2
    for square in squares:
        ratio = square / sweeps * np.where(np.arange(square.shape[1]) == problem.rank, biases, factors)
        np.testing.assert_allclose(ratio.mean(axis=0), 1, atol=0.15)


@pytest.mark.parametrize("least", [0.5, 0.02, 1e-4])
def test_exact_steps_as_a_linear_map_leave_the_covariance_alone(least):
    rng = np.random.default_rng(0)
    X, prior = rng.normal(size=(9, 6)), np.diag(rng.random(6) + 0.01)
    A, bound = X.T @ X + prior, np.diag((np.abs(X) * np.abs(X).sum(axis=1, keepdims=True)).sum(axis=0)) + prior
    covariance, inverse, one = np.linalg.inv(A), np.linalg.inv(bound), np.eye(6)
    both, steps = np.tile(covariance, (2, 2)), Steps.of(least, 1e-3)  # of w, and of w before
    for alpha, along, across in steps.rows:
        moved = np.block([[alpha * (one - steps.tau * inverse @ A), (1 - alpha) * one], [one, 0 * one]])
        noise = alpha**2 * steps.tau**2 * inverse @ (along**2 * A + across**2 * (bound - A)) @ inverse
        both = moved @ both @ moved.T
        both[:6, :6] += noise
        np.testing.assert_allclose(both[:6, :6], covariance, rtol=0, atol=1e-12 * covariance.max())


def test_rows_whose_pairs_say_nothing_are_drawn_from_the_prior():
    # targets that nobody but one query knows have no embedding yet: what shared features see of it is rounding alone
    X = {"id": np.eye(6), "shared": np.ones((6, 2))}
    problem = Problem.from_coo(
        np.arange(6), [0, 0, 1, 1, 2, 2], np.arange(6.0), X=X, rank=3, penalty=LearntPenalty(rounds=1), dtype="float64"
    )
    state = fit(problem, rounds=1).state
    state.Q[...] = 0
    options = {"solver": "gibbs", "rounds": 1, "threads": 1}
    drawn = [fit(problem, init=attrs.evolve(state, seed=n), **options).state.P for n in range(300)]
    assert np.isfinite(drawn).all()
    precision = state.strengths.query.factors[problem.X.group]
    np.testing.assert_allclose(np.mean(np.square(drawn), axis=0)[:, :3] * precision, 1, atol=0.45)


@pytest.mark.parametrize("solver", [Gibbs(), Gibbs(exact=True)], ids=["solved", "exact"])
def test_the_number_of_threads_changes_no_bit(solver):
    problem = large().replace(penalty=LearntPenalty(rounds=1))
    one, two, four = (fit(problem, solver=solver, rounds=3, threads=threads) for threads in (1, 2, 4))
    for other in (two, four):
        np.testing.assert_array_equal(one.P, other.P)
        np.testing.assert_array_equal(one.state.Q, other.state.Q)


@pytest.mark.parametrize("stop", [1, 3])
def test_sampling_goes_on_from_a_file_as_if_it_had_not_stopped(tmp_path, stop):
    problem = Case(rank=9, dtype="float32").build(penalty=LearntPenalty(rounds=2))
    whole = fit(problem, solver="gibbs", rounds=6)
    fit(problem, solver="gibbs", rounds=stop).save(tmp_path / "model")
    resumed = fit(problem, solver="gibbs", rounds=6 - stop, init=Model.load(tmp_path / "model"))
    np.testing.assert_array_equal(whole.P, resumed.P)
    np.testing.assert_array_equal(whole.state.P, resumed.state.P)
    assert whole.state.mean.samples == resumed.state.mean.samples == 4


def test_the_model_is_the_mean_of_the_samples():
    problem = Case(rank=2, queries=30, targets=20, pairs=200).build(penalty=LearntPenalty(rounds=2))
    scores, rows = [], np.arange(20)

    def after(event):
        if event.record.round > 2:
            scores.append(Model.of(problem, attrs.evolve(event.state, mean=None)).score(rows, rows))

    model = fit(problem, solver="gibbs", rounds=6, callbacks=after)  # four samples of rank 2: a mean of rank 8
    assert model.rank == 8
    np.testing.assert_allclose(model.score(rows, rows), np.mean(scores, axis=0), atol=1e-6)
    new = model.recommend(features={"indicator": np.eye(30)[:2]}, k=3)
    assert new.targets.shape == (2, 3)


def test_samples_of_a_burn_in_do_not_count():
    problem = Case(rank=2).build(penalty=LearntPenalty(rounds=2))
    samples, rows = [], np.arange(4)

    def after(event):
        samples.append(Model.of(problem, attrs.evolve(event.state, mean=None)).score(rows, rows))

    model = fit(problem, solver=Gibbs(burn_in=3), rounds=7, callbacks=after)
    assert model.state.mean.samples == 2
    mean = np.mean(samples[6:], axis=0)
    np.testing.assert_allclose(model.score(rows, rows), mean, atol=1e-6)


def test_samples_are_kept_on_request_in_files_too(tmp_path):
    problem = Case(rank=3, dtype="float32").build(penalty=LearntPenalty(rounds=1))
    solver = Gibbs(samples=6, keep=3)
    model = fit(problem, solver=solver, rounds=7)
    fit(problem, solver=solver, rounds=3).save(tmp_path / "early")
    resumed = fit(problem, solver=solver, rounds=4, init=Model.load(tmp_path / "early"))
    rows = np.arange(4)
    assert len(model.samples) == 3
    assert fit(problem, solver="gibbs", rounds=3).samples == ()
    for one, other in zip(model.samples, resumed.samples, strict=True):
        np.testing.assert_array_equal(one.score(rows, rows), other.score(rows, rows))
    np.testing.assert_array_equal(model.samples[-1].P, model.state.P)


def test_folding_is_the_best_approximation_of_its_rank():
    rng = np.random.default_rng(0)

    def sides(n, m, rank):
        U, V = rng.normal(size=(n, rank)), rng.normal(size=(m, rank))
        return Sides(U, V, U, V)

    model, ones = sides(30, 20, 8), (np.ones(30), np.ones(20))
    exact = model.U @ model.V.T
    for rank in (3, 8, 20):
        P, Q = fold(model, ones, rank)
        U, s, V = np.linalg.svd(exact)
        best = (U[:, :rank] * s[:rank]) @ V[:rank]
        np.testing.assert_allclose(P @ Q.T, best, atol=1e-9)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"penalty": "elastic_net"}, "it draws the strengths: leave out l2"),
        ({"loss": "logistic"}, "it samples for the square loss, and for losses such as probit"),
        ({"penalty": LearntPenalty(shrink=2)}, "would be ignored"),
    ],
)
def test_what_it_cannot_sample_is_refused(changes, message):
    loss = changes.get("loss", "square")
    problem = Case(loss=loss).build(**{"penalty": LearntPenalty(), **changes})
    with pytest.raises(IncompatibleError, match=message):
        fit(problem, solver="gibbs")


@pytest.mark.parametrize(
    "options", [{"samples": 0}, {"burn_in": -1}, {"keep": -1}, {"tolerance": 0}, {"tolerance": 1.0}]
)
def test_senseless_options_are_refused(options):
    with pytest.raises(ValueError, match=next(iter(options))):
        solvers.Gibbs(**options)


def test_draws_stay_finite_where_weights_differ_by_six_orders_of_magnitude():
    rng = np.random.default_rng(0)
    i, j = np.divmod(rng.permutation(40 * 30)[:300], 30)
    options = {"rank": 5, "weight": rng.choice([1e-3, 1.0, 1e3], 300), "penalty": LearntPenalty()}
    model = fit(Problem.from_coo(i, j, rng.normal(size=300), **options), solver="gibbs", rounds=30)
    assert np.isfinite(model.P).all()
