"""Folding in: the embedding of an instance from its pairs, all else held as it is."""

import attrs
import numpy as np
import pytest
import scipy.sparse as sp

from fmfkit import AllCells, LearntPenalty, Model, Penalties, Penalty, Problem, fit
from fmfkit.interfaces import Loss, RowRegularizer
from fmfkit.regularizers import ElasticNet
from fmfkit.solvers import Panel

QUERIES, TARGETS, RANK = 12, 30, 5


@attrs.frozen
class Fourth(Loss):
    """(s - y)² + (s - y)⁴ / 10 near y, straight beyond: convex, with a curvature that changes."""

    def value(self, score, y):
        far = np.clip(score - y, -3, 3)
        return np.square(far) + far**4 / 10 + (score - y - far) * self.gradient(y + far, y)

    def gradient(self, score, y):
        far = np.clip(score - y, -3, 3)
        return 2 * far + 0.4 * far**3

    def curvature(self, score, y):
        return np.full_like(score, 2 + 1.2 * 9)


def drawn(loss="square", *, shared=False, weighted=False, **objective):
    """Return a problem whose queries have features of their own, and some that they share."""
    rng = np.random.default_rng(3)
    query, target = np.nonzero(rng.random((QUERIES, TARGETS)) < 0.4)
    y = rng.integers(0, 2, len(query)) if loss == "logistic" else rng.normal(3, 1, len(query))
    X = {"group": sp.csr_array(np.eye(3)[rng.integers(0, 3, QUERIES)])} if shared else {}
    Z = {"genre": sp.csr_array(rng.random((TARGETS, 4)) < 0.4, dtype=float)} if shared else {}
    return Problem.from_coo(
        query,
        target,
        y.astype(float),
        shape=(QUERIES, TARGETS),
        rank=RANK,
        loss=loss,
        X={**X, "indicator": sp.eye_array(QUERIES)},
        Z={"indicator": sp.eye_array(TARGETS), **Z},
        weight=rng.uniform(0.5, 2, len(query)) if weighted else None,
        dtype=np.float64,
        **objective,
    )


class OneSide(Panel):
    """The default solver's update of one side."""

    def turns(self, problem, state, side):
        workspace = self.prepare(problem, state)
        mine = workspace.query if side == "query" else workspace.target
        W = state.parameters(side)
        for _ in range(3000):
            before = W.copy()
            if problem.strengths is not None:
                mine.take_strengths(problem)
            self._turn(state, workspace, mine)
            if np.abs(W - before).max() < 1e-10:
                return
        raise AssertionError("training did not come to an end")


def trained_alone(problem, model, side):
    """Return the embeddings that the default solver ends with where only one side may move."""
    state = attrs.evolve(model.state, P=model.P.copy(), Q=model.Q.copy())
    problem = problem if state.strengths is None else problem.with_strengths(state.strengths)
    assert not problem.learns
    state.parameters(side)[:] = 0
    OneSide().turns(problem, state, side)
    return Model.of(problem, state).embedded(side)


def folded(problem, model, side="query"):
    """Return the embeddings that folding all instances of a side in makes, from their pairs and shared features."""
    pairs, features = problem.observations.by_query, problem.X
    if side == "target":
        pairs, features = problem.observations.by_target, problem.Z
    count = len(problem.observations.by_target.ptr if side == "query" else problem.observations.by_query.ptr) - 1
    shape = (pairs.rows, count)
    return model.fold_in(
        sp.csr_array((pairs.y, pairs.other, pairs.ptr), shape=shape),
        weight=None if pairs.weight is None else sp.csr_array((pairs.weight, pairs.other, pairs.ptr), shape=shape),
        features=shared_features(features),
        side=side,
    )


def shared_features(features):
    """Return the blocks that instances share; None where there is none."""
    return {name: features.block(name) for name in features.blocks if name != "indicator"} or None


PROBLEMS = {
    "penalty by observations": {"penalty": Penalty(ElasticNet(l2=0.05))},
    "uniform penalty, growing": {"penalty": Penalty(ElasticNet(l2=0.5), scale="uniform", growth=0.5)},
    "an exponent, a factor, own biases' penalty": {
        "penalty": Penalties(
            P=Penalty(ElasticNet(l2=0.1), scale=0.5, strengths={"indicator": 3.0}),
            Q=Penalty(ElasticNet(l2=0.1), scale=0.5),
            query_bias=Penalty(ElasticNet(l2=2.0), scale="uniform"),
        )
    },
    "weights": {"weighted": True},
    "no biases": {"query_bias": False, "target_bias": False},
    "no bias of targets": {"target_bias": False},
    "learnt strengths": {
        "penalty": LearntPenalty(rounds=4, shrink=1.5, spread=0.7, strengths={"query.indicator": 0.5})
    },
    "learnt strengths, logistic": {"loss": "logistic", "penalty": LearntPenalty(rounds=4)},
    "all cells": {"cells": AllCells(weight=0.2), "weighted": True},
    "all cells, an exponent, a value": {
        "cells": AllCells(weight=0.1, value=0.3),
        "offset": 1.0,
        "penalty": Penalty(ElasticNet(l2=0.1), scale=0.5),
    },
    "logistic": {"loss": "logistic"},
    "logistic, all cells": {"loss": "logistic", "cells": AllCells(weight=0.1)},
    "a loss of its own": {"loss": Fourth()},
    "l1": {"penalty": Penalty(ElasticNet(l1=0.3, l2=0.1), scale="uniform")},
}


@pytest.mark.parametrize("side", ["query", "target"])
@pytest.mark.parametrize("options", PROBLEMS.values(), ids=PROBLEMS)
def test_folding_in_is_training_with_the_other_side_fixed(options, side):
    problem = drawn(**options)
    model = fit(problem, rounds=6, seed=1, threads=1)
    expected = trained_alone(problem, model, side)
    np.testing.assert_allclose(folded(problem, model, side), expected, rtol=0, atol=1e-6 * np.abs(expected).max())


SMOOTH = {name: options for name, options in PROBLEMS.items() if name != "l1"}


@pytest.mark.parametrize("side", ["query", "target"])
@pytest.mark.parametrize("options", SMOOTH.values(), ids=SMOOTH)
def test_with_shared_features_fixed_no_own_parameter_would_lower_the_objective_of_training(options, side):
    problem = drawn(shared=True, **options)
    model = fit(problem, rounds=6, seed=1, threads=1)
    features = (problem.query if side == "query" else problem.target).features
    own, W = features.blocks["indicator"], (model.P if side == "query" else model.Q).copy()
    columns = [*range(RANK), RANK + (side == "target" and model.biases[0])][: W.shape[1]]
    base = model.embedded(side, features=shared_features(features))
    W[own] = (folded(problem, model, side) - base)[:, columns]

    def objective(change):
        moved = W.copy()
        moved[own] += change
        sides = {"P": moved} if side == "query" else {"Q": moved}
        return fit(problem, rounds=1, init=attrs.evolve(model.state, **sides), threads=1).history[0].objective

    rng, far = np.random.default_rng(0), 1e-3
    for _ in range(3):
        direction = rng.normal(size=W[own].shape)
        up, here, down = (objective(step * direction) for step in (far, 0, -far))
        assert abs(up - down) / (2 * (up + down - 2 * here)) * far < 1e-6  # what Newton's step would be


def test_no_pairs_and_no_features_are_nothing_known():
    model = fit(drawn(shared=True), rounds=3, threads=1)
    none = model.fold_in(sp.csr_array((2, TARGETS)))
    np.testing.assert_array_equal(none, model.embedded("query", [-1, -1]))
    np.testing.assert_array_equal(none, [[0] * RANK + [0, 1, 0]] * 2)


def test_few_pairs_without_a_penalty_take_the_shortest_step():
    model = fit(drawn(penalty=Penalty(ElasticNet(l2=0.0))), rounds=3, threads=1)
    pairs = sp.csr_array(([2.0, 4.0], [1, 2], [0, 2]), shape=(1, TARGETS))
    made = model.fold_in(pairs)
    assert np.isfinite(made).all()
    np.testing.assert_allclose(made @ model.embedded("target", [1, 2]).T + model.offset, [[2, 4]], atol=1e-6)


class Rows(RowRegularizer):
    """strength · |w_s|: a feature counts in all dimensions, or in none."""

    def penalty(self, w, strength=1.0):
        return strength * np.linalg.norm(w, axis=1)

    def T(self, x, y, w, strength=1.0):
        aim = y[:, None] * w - x
        size = np.linalg.norm(aim, axis=1)
        shrunk = np.where(size > strength, 1 - strength / np.maximum(size, 1e-300), 0)
        return np.where(y > 0, shrunk / np.maximum(y, 1e-300), 0)[:, None] * aim - w


def test_penalties_of_whole_rows_are_paid():
    problem = drawn(penalty=Penalties(P=Penalty(Rows(), scale="uniform"), query_bias=Penalty(ElasticNet(l2=1.0))))
    model = fit(problem, rounds=4, threads=1)
    made = folded(problem, model)
    np.testing.assert_allclose(made, trained_alone(problem, model, "query"), atol=1e-5)
    strong = fit(
        problem.replace(penalty=Penalty(Rows(), scale="uniform", strengths={"indicator": 1e6})), rounds=1, threads=1
    )
    assert not folded(problem, strong)[:, :RANK].any()


def test_what_fold_in_needs_is_in_the_file(tmp_path):
    for options in PROBLEMS.values():
        problem = drawn(**options)
        model = fit(problem, rounds=5, threads=1)
        model.save(tmp_path / "model")
        again = Model.load(tmp_path / "model", loss=problem.loss)
        for side in ("query", "target"):
            np.testing.assert_array_equal(folded(problem, again, side), folded(problem, model, side))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda model: model.fold_in(sp.csr_array((1, 3))), "pairs: 3 columns, expected 30"),
        (lambda model: model.fold_in(sp.csr_array(np.full((1, 30), np.nan))), "pairs: y is NaN or infinite"),
        (
            lambda model: model.fold_in(sp.csr_array(np.eye(1, 30)), weight=sp.csr_array(np.eye(1, 30, 1))),
            "stores a weight for each pair",
        ),
        (lambda model: model.fold_in(sp.csr_array(np.eye(1, 30)), weight=sp.csr_array(-np.eye(1, 30))), "at least 0"),
        (lambda model: model.fold_in(sp.csr_array((2, 30)), features=np.ones((1, 12))), "1 rows, expected 2"),
        (
            lambda model: attrs.evolve(model, own=None).fold_in(sp.csr_array((1, 30))),
            "no plugin offers its regularizer",
        ),
        (lambda model: model.recommend([1], embeddings=model.embedded("query")), "one of queries, features and emb"),
    ],
)
def test_senseless_pairs_are_refused(call, message):
    model = fit(drawn(), rounds=1, threads=1)
    with pytest.raises(ValueError, match=message):
        call(model)


def test_a_side_without_features_of_its_own_refuses_pairs():
    Y, X = sp.csr_array(np.eye(4)), np.eye(2)[[0, 0, 1, 1]]
    model = fit(Problem.from_scipy(Y, rank=2, X={"group": X}), rounds=1)
    with pytest.raises(ValueError, match="queries have no feature of their own in this model"):
        model.fold_in(Y)
    assert model.fold_in(Y, side="target").shape == (4, 8)


def test_y_that_the_loss_does_not_take_is_refused():
    model = fit(drawn("logistic"), rounds=1, threads=1)
    with pytest.raises(ValueError, match="between 0 and 1"):
        model.fold_in(sp.csr_array(np.full((1, TARGETS), 3.0)))


def test_the_mean_of_samples_refuses_pairs():
    model = fit(drawn(penalty=LearntPenalty(rounds=1)), solver="gibbs", rounds=3)
    with pytest.raises(ValueError, match="it is the mean of samples"):
        model.fold_in(sp.csr_array((1, TARGETS)))
