"""Probit: what lies behind y, and samples for it."""

import numpy as np
import pytest
from fmfkit_losses.classes import Probit
from scipy.stats import norm

from fmfkit import FMF, Dataset, LearntPenalty, Problem, fit
from fmfkit.errors import IncompatibleError


def planted(pairs=5000, seed=0):
    rng = np.random.default_rng(seed)
    U, V = rng.normal(size=(150, 2)), rng.normal(size=(80, 2))
    i, j = np.divmod(rng.permutation(150 * 80)[:pairs], 80)
    return i, j, (np.sum(U[i] * V[j], axis=1) + rng.normal(size=pairs) > 0).astype(float)


@pytest.mark.parametrize("score", [-9.0, -1.0, 0.0, 2.0, 9.0])
@pytest.mark.parametrize("y", [0.0, 1.0])
def test_what_lies_behind_y_has_its_sign_and_the_moments_of_a_cut_off_normal(score, y):
    n = 20_000
    uniform = np.random.default_rng(0).random(n)
    z = Probit().augmented(np.full(n, score), np.full(n, y), uniform)
    assert ((z > 0) == (y > 0)).all()
    side = 2 * y - 1
    ratio = np.exp(norm.logpdf(score) - norm.logcdf(side * score))
    variance = 1 - ratio * (ratio + side * score)
    assert z.mean() == pytest.approx(score + side * ratio, abs=6 * np.sqrt(variance / n))
    assert z.var() == pytest.approx(variance, rel=0.1)


def test_samples_predict_probabilities_much_better_than_chance():
    i, j, y = planted()
    train, test = Dataset.of({"user": i, "item": j, "rating": y}).split_random(0.2)
    sampled = FMF(rank=2, loss="probit", solver="gibbs").fit(train)
    compared = sampled.compare(test)
    assert compared.value < 0.8 * compared.baselines["biases alone"]
    assert sampled.evaluate(test)["auc"] > 0.8


def test_the_number_of_threads_changes_no_bit_and_going_on_is_not_having_stopped():
    i, j, y = planted(1500)
    problem = Problem.from_coo(i, j, y, rank=5, loss="probit", penalty=LearntPenalty(rounds=2))
    one, two = (fit(problem, solver="gibbs", rounds=5, threads=threads) for threads in (1, 2))
    half = fit(problem, solver="gibbs", rounds=3)
    for other in (two, fit(problem, solver="gibbs", rounds=2, init=half)):
        np.testing.assert_array_equal(one.P, other.P)


def test_weights_are_refused():
    i, j, y = planted(500)
    problem = Problem.from_coo(i, j, y, rank=2, loss="probit", weight=np.full(500, 0.5), penalty=LearntPenalty())
    with pytest.raises(IncompatibleError, match="without weights only"):
        fit(problem, solver="gibbs")
