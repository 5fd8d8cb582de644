"""FMF: from a data set to a model that answers by ids, in one call."""

import numpy as np

from fmfkit import FMF, Dataset, solvers


def test_features_help_on_cold_targets(data):
    train, cold = data.split_cold("target", 0.2)
    floor = float(np.sqrt(np.mean((cold.y - train.y.mean()) ** 2)))
    assert FMF(rank=8, l2=0.02).fit(train).evaluate(cold)["rmse"] < 0.8 * floor


def test_validation_keeps_the_best_round_and_stops(data, trained):
    best = int(np.argmin(trained.validation))
    assert len(trained.model.history) == best + 1
    assert trained.metric == "rmse"
    _, test = data.split_random(0.2)
    assert trained.evaluate(test)["rmse"] < 0.75
    patient = FMF(rank=8, l2=0.001, rounds=40, patience=2).fit(data, validate=0.3)
    assert "has not improved for 2 rounds" in patient.model.stopped
    assert len(patient.validation) - 1 == int(np.argmin(patient.validation)) + 2


def test_progress_is_shown_if_asked_for(data, capsys):
    FMF(rank=2, rounds=2).fit(data, validate=0.1, progress=True)
    assert [line.partition("  objective")[0] for line in capsys.readouterr().err.splitlines()] == [
        f"fit  round {n}/2" for n in range(3)
    ]
    FMF(rank=2, rounds=11).tune(data, trials=2, progress=True)
    assert capsys.readouterr().err.startswith("tune  trial 1/2  rmse ")


def test_the_problem_of_a_data_set_is_the_one_that_fit_solves(data):
    front = FMF(rank=3, rounds=2, l2=0.2)
    seen = []
    front.fit(data, callbacks=lambda event: seen.append(event.problem))
    mine, theirs = front.problem(data), seen[0]
    assert mine.objective == theirs.objective
    for side, other in zip(mine.sides, theirs.sides, strict=True):
        np.testing.assert_array_equal(side.pairs.y, other.pairs.y)
        np.testing.assert_array_equal(side.factors.strength, other.factors.strength)


def test_samples_make_better_predictions_than_their_start():
    rng = np.random.default_rng(1)
    n, m = 300, 120
    U, V = rng.normal(size=(n, 3)), rng.normal(size=(m, 3))
    i, j = np.divmod(rng.permutation(n * m)[:3500], m)
    y = np.sum(U[i] * V[j], axis=1) + rng.normal(size=len(i))
    train, test = Dataset.of({"user": i, "item": j, "rating": y}).split_random(0.2)
    plain, sampled = (FMF(rank=8, **options).fit(train) for options in ({}, {"solver": "gibbs"}))
    assert sampled.settings.rounds == 90
    assert sampled.model.state.mean.samples == 80
    assert sampled.evaluate(test)["rmse"] < plain.evaluate(test)["rmse"]
    assert sampled.model.strengths.keys() == plain.model.strengths.keys()
    watched = FMF(rank=4, solver=solvers.Gibbs(samples=5)).fit(train, validate=0.1)
    assert len(watched.validation) == 16
    assert watched.model.state.mean.samples == 5
