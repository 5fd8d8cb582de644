import numpy as np
import pytest
from fmfkit_losses.classes import Probit, SquaredHinge
from fmfkit_losses.counts import Poisson
from fmfkit_losses.robust import Huber, SmoothQuantile

from fmfkit import Problem, fit, losses


def problem(loss, y):
    rng = np.random.default_rng(0)
    i, j = np.divmod(rng.choice(40 * 30, 700, replace=False), 30)
    return Problem.from_coo(i, j, y(rng, i, j), rank=2, loss=loss)


def test_huber_is_not_ruled_by_outliers():
    def scores(rng, i, j):
        wild = np.where(rng.random(len(i)) < 0.1, 100, 0)
        return rng.normal(size=40)[i] + rng.normal(size=30)[j] + wild

    medians = {}
    for name, loss in (("huber", Huber(0.5)), ("square", losses.Square())):
        model = fit(problem(loss, scores), rounds=30)
        given = problem(loss, scores).query.pairs
        rows = np.repeat(np.arange(40), np.diff(given.ptr))
        medians[name] = np.median(np.abs(model.score(rows, given.other) - given.y))
    assert medians["huber"] < 0.5 * medians["square"]


def test_poisson_predicts_rates():
    def counts(rng, i, j):
        return rng.poisson(np.exp(rng.normal(size=40, scale=0.5)[i])).astype(float)

    given = problem(Poisson(), counts)
    model = fit(given, rounds=60)
    rows = np.repeat(np.arange(40), np.diff(given.query.pairs.ptr))
    predicted = model.predict(rows, given.query.pairs.other)
    assert abs(predicted.mean() - given.query.pairs.y.mean()) < 0.1


def test_quantiles_leave_the_share_below():
    model = fit(problem(SmoothQuantile(0.9, 0.05), lambda rng, i, j: rng.exponential(size=len(i))), rounds=200)
    given = problem(SmoothQuantile(0.9, 0.05), lambda rng, i, j: rng.exponential(size=len(i))).query.pairs
    rows = np.repeat(np.arange(40), np.diff(given.ptr))
    assert 0.8 < (given.y < model.score(rows, given.other)).mean() < 0.97


@pytest.mark.parametrize(
    ("loss", "y", "message"),
    [
        (Poisson(), -1.0, "counts from 0 on"),
        (SquaredHinge(), 0.5, "0 and 1, got 0.5"),
        (Probit(), 2.0, "between 0 and 1"),
    ],
)
def test_other_targets_are_refused(loss, y, message):
    with pytest.raises(ValueError, match=message):
        Problem.from_coo([0], [0], [y], rank=1, loss=loss)
