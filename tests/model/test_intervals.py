"""Intervals: how often they hold y, how wide they are where, and what they need."""

import numpy as np
import pytest
import scipy.sparse as sp

from fmfkit import LearntPenalty, Model, Problem, fit


def planted(seed=0, features=True, loss="square"):
    """A problem, and pairs that are not in it."""
    rng = np.random.default_rng(seed)
    n, m = 300, 150
    U, V = rng.normal(size=(n, 3)), rng.normal(size=(m, 3))
    popular = rng.random(n) < 0.5
    kept = rng.random((n, m)) < np.where(popular, 0.4, 0.05)[:, None]
    i, j = np.nonzero(kept)
    out = np.nonzero(~kept & (rng.random((n, m)) < 0.2))

    def y_of(i, j):
        score = np.sum(U[i] * V[j], axis=1)
        if loss == "logistic":
            return (rng.random(len(i)) < 1 / (1 + np.exp(-score))).astype(float)
        return score + 0.7 * rng.normal(size=len(i))

    X = {"id": sp.eye_array(n), "chance": sp.random_array((n, 10), density=0.3, rng=rng)} if features else None
    problem = Problem.from_coo(i, j, y_of(i, j), X=X, shape=(n, m), rank=6, loss=loss, penalty=LearntPenalty())
    return problem, out, y_of(*out), popular


@pytest.mark.parametrize("solver", ["panel", "gibbs"])
@pytest.mark.parametrize("features", [True, False])
@pytest.mark.parametrize("level", [0.5, 0.9])
def test_intervals_hold_about_as_many_y_as_they_say(solver, features, level):
    problem, (i, j), y, _ = planted(features=features)
    model = fit(problem, solver=solver, rounds=40)
    low, high = model.interval(i, j, level)
    assert np.mean((y >= low) & (y <= high)) == pytest.approx(level, abs=0.05)


def test_intervals_are_wider_where_less_is_known():
    problem, (i, j), _, popular = planted()
    low, high = fit(problem, rounds=20).interval(i, j)
    width = high - low
    assert width[~popular[i]].mean() > 1.1 * width[popular[i]].mean()


def test_intervals_of_probabilities_lie_around_them():
    problem, (i, j), _, _ = planted(loss="logistic")
    model = fit(problem, rounds=20)
    low, high = model.interval(i, j)
    predicted = model.predict(i, j)
    assert (low < predicted).all()
    assert (predicted < high).all()
    assert low.min() >= 0
    assert high.max() <= 1


def test_intervals_come_back_from_a_file(tmp_path):
    problem, (i, j), _, _ = planted()
    for solver in ("panel", "gibbs"):
        model = fit(problem, solver=solver, rounds=13)
        model.save(tmp_path / "model")
        for before, after in zip(model.interval(i, j), Model.load(tmp_path / "model").interval(i, j), strict=True):
            np.testing.assert_array_equal(before, after)


def test_row_numbers_broadcast():
    model = fit(planted()[0], rounds=3)
    low, high = model.interval(np.arange(4)[:, None], np.arange(3))
    assert low.shape == high.shape == (4, 3)


def test_intervals_need_strengths_that_were_learnt():
    problem, _, _, _ = planted()
    with pytest.raises(ValueError, match="it needs strengths that were learnt; train without l2"):
        fit(problem.replace(penalty="elastic_net"), rounds=1).interval([0], [0])
    with pytest.raises(ValueError, match="level: expected a share between 0 and 1, got 90"):
        fit(problem, rounds=1).interval([0], [0], 90)
