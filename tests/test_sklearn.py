"""The estimators for scikit-learn: pairs of ids in X, ratings or classes in y."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp

pytest.importorskip("sklearn")
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import estimator_checks, get_tags

from fmfkit.errors import DataError, UnknownNameError
from fmfkit.losses import Logistic
from fmfkit.recommend.positives import POSITIVES
from fmfkit.sklearn import FMFClassifier, FMFRegressor

PAIR = [[1, 2], [2, 1]]


@pytest.fixture(scope="module")
def pairs():
    rng = np.random.default_rng(0)
    X = np.column_stack(np.divmod(rng.choice(50 * 40, 1500, replace=False), 40))
    y = rng.normal(size=50)[X[:, 0]] * rng.normal(size=40)[X[:, 1]] + 0.1 * rng.normal(size=1500)
    return X, y


def test_a_regressor_learns_and_is_scored_by_cross_validation(pairs):
    assert cross_val_score(FMFRegressor(rank=4, l2=0.02), *pairs, cv=3).min() > 0.8


def test_a_grid_search_over_a_pipeline_finds_the_better_penalty(pairs):
    X, y = pairs
    pipeline = make_pipeline(FunctionTransformer(), FMFRegressor(rank=4, rounds=8))
    search = GridSearchCV(pipeline, {"fmfregressor__l2": [0.02, 10.0]}, cv=2).fit(X, y)
    assert search.best_params_ == {"fmfregressor__l2": 0.02}


def test_a_classifier_tells_classes_and_chances(pairs):
    X, y = pairs
    labels = np.where(y > 0, "yes", "no")
    model = FMFClassifier(rank=4, l2=0.01).fit(X, labels)
    assert (model.predict(X) == labels).mean() > 0.9
    chances = model.predict_proba(X)
    np.testing.assert_allclose(chances.sum(axis=1), 1)
    assert list(model.classes_) == ["no", "yes"]
    assert cross_val_score(model, X, labels, cv=3, scoring="roc_auc").min() > 0.8


@pytest.mark.parametrize("estimator", [FMFRegressor, FMFClassifier])
def test_parameters_are_got_and_set_and_unknown_ones_are_refused(estimator):
    model = estimator(rank=3, l2=0.1, history=True)
    given = model.get_params()
    assert (given["rank"], given["l2"], given["history"]) == (3, 0.1, True)
    again = estimator().set_params(**given)
    assert again.get_params() == given
    assert again.set_params(rank=5).rank == 5
    with pytest.raises(TypeError, match=rf"{estimator.__name__}: there is no parameter 'lamda'; there are \['balance'"):
        estimator(lamda=1)
    with pytest.raises(ValueError, match="Invalid parameter 'lamda'"):
        model.set_params(lamda=1)


def test_parameters_are_checked_when_it_is_fitted(pairs):
    model = FMFRegressor(rank=0)  # as scikit-learn wants it: not before
    with pytest.raises(ValueError, match="rank: expected at least 1, got 0"):
        model.fit(*pairs)


def test_a_fitted_estimator_is_pickled_and_predicts_the_same(pairs):
    X, y = pairs
    labels = np.where(y > 0, "yes", "no")
    for model, target in ((FMFRegressor(rank=2, rounds=3), y), (FMFClassifier(rank=2, rounds=3), labels)):
        fitted = model.fit(X, target)
        again = pickle.loads(pickle.dumps(fitted))
        assert again.get_params() == fitted.get_params()
        np.testing.assert_array_equal(again.predict(X), fitted.predict(X))
        assert again.partial_fit(X, target).n_features_in_ == 2


@pytest.mark.parametrize("predict", [FMFRegressor().predict, FMFClassifier().predict_proba])
def test_nothing_is_predicted_before_it_is_fitted(predict):
    with pytest.raises(NotFittedError):
        predict([[1, 2]])


def test_fitting_again_starts_anew_and_is_reproducible(pairs):
    X, y = pairs
    model = FMFRegressor(rank=2, rounds=3)
    first = model.fit(X, y).predict(X)
    assert model.fit(X[:700], y[:700]) is model
    np.testing.assert_array_equal(model.fit(X, y).predict(X), first)
    assert first.shape == (len(X),)


def test_frames_are_taken_as_arrays_are(pairs):
    pd = pytest.importorskip("pandas")
    X, y = pairs
    frame = pd.DataFrame({"user": X[:, 0], "item": X[:, 1]})
    by_frame, by_array = (FMFRegressor(rank=2, rounds=3).fit(given, y).predict(given) for given in (frame, X))
    np.testing.assert_array_equal(by_frame, by_array)


IDS = "its X holds real numbers without an order of their own to learn from: here they are ids, whole numbers or text"
EXPECTED = {
    FMFRegressor: {"check_sample_weight_equivalence_on_dense_data": IDS, "check_regressors_train": IDS},
    FMFClassifier: {"check_sample_weight_equivalence_on_dense_data": IDS},
}
"""The checks of scikit-learn that an estimator of pairs of ids cannot pass, and why."""


@pytest.mark.parametrize("estimator", EXPECTED)
def test_the_checks_of_scikit_learn_pass_but_for_those_that_are_listed(estimator):
    small = estimator(columns=(0, 1), rank=2, rounds=1, threads=1)  # the checks' X have further columns
    results = estimator_checks.check_estimator(
        small, expected_failed_checks=EXPECTED[estimator], on_skip=None, on_fail=None
    )
    failed = {one["check_name"]: repr(one["exception"]) for one in results if one["status"] == "failed"}
    assert failed == {}
    assert sum(one["status"] == "passed" for one in results) > 50
    assert {one["check_name"] for one in results if one["status"] == "xfail"} == set(EXPECTED[estimator])


@pytest.mark.parametrize("estimator", EXPECTED)
def test_tags_say_what_it_takes(estimator):
    tags = get_tags(estimator())
    assert (tags.input_tags.categorical, tags.input_tags.string, tags.input_tags.sparse) == (True, True, False)
    assert tags.target_tags.required
    assert tags.classifier_tags is None or not tags.classifier_tags.multi_class


def test_clones_have_the_parameters_and_nothing_learnt(pairs):
    model = FMFRegressor(rank=3, targets={"id": range(40), "kind": ["a", "b"] * 20}).fit(*pairs)
    again = clone(model)
    assert again.get_params() == model.get_params()
    assert not hasattr(again, "recommender_")


def test_ids_that_training_has_not_seen_are_predicted_by_the_other_side_s_bias(pairs):
    X, y = pairs
    model = FMFRegressor(rank=2).fit(X, y)
    trained = model.recommender_.model
    assert model.predict([[999, 999]])[0] == pytest.approx(trained.offset)
    row = model.recommender_.encoder.queries.ids.rows([7])[0]
    assert model.predict([[7, 999]])[0] == pytest.approx(trained.offset + trained.P[row, 2], rel=1e-5)


def test_weights_count(pairs):
    X, y = pairs
    weight = (X[:, 0] < 25).astype(float)
    light, full = (FMFRegressor(rank=2).fit(X, y, sample_weight=w) for w in (weight, None))
    assert not np.allclose(light.predict(X), full.predict(X))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: FMFRegressor().fit([[1, 2, 3]], [1]), r"expected two columns, .* got 3; columns=\(0, 1\) takes"),
        (lambda: FMFRegressor(columns=[0]).fit([[1, 2]], [1]), r"columns: expected two, .* got \[0\]"),
        (lambda: FMFRegressor(columns=(0, 5)).fit([[1, 2]], [1]), "there is no column '5' for the target"),
        (lambda: FMFClassifier().fit([[1, 2], [2, 1]], [1, 1]), "expected two classes, got 1"),
        (lambda: FMFClassifier().fit([[1, 2], [2, 1], [3, 1]], [1, 2, 3]), "Only binary classification"),
        (lambda: FMFRegressor().fit([[1, 2], [2, 1]], [1.0]), "inconsistent numbers of samples"),
        (lambda: FMFClassifier().fit([[1, 2], [2, 1]], [1.0, 0.0, 1.0]), "inconsistent numbers of samples"),
        (lambda: FMFRegressor().fit([[1, 2], [2, 1]], [1.0, np.nan]), "y contains NaN"),
        (lambda: FMFRegressor().fit([[1, 2], [2, 1]], None), "requires y to be passed"),
        (lambda: FMFRegressor().fit(PAIR, [1.0, 2.0], sample_weight=[0, 0]), "all weights are zero, so that no pair"),
        (lambda: FMFRegressor().fit(PAIR, [1.0, 2.0], sample_weight=[1, -1]), "expected finite numbers of at least 0"),
        (lambda: FMFRegressor().fit(PAIR, [1.0, 2.0], sample_weight=[1]), "inconsistent numbers of samples"),
        (lambda: FMFRegressor().fit(PAIR, [1.0, 2.0], sample_weight=[[1, 1]]), r"got shape \(1, 2\)"),
        (lambda: FMFRegressor().fit([["a", None], ["b", "c"]], [1.0, 2.0]), "missing|None"),
    ],
)
def test_other_shapes_lengths_weights_and_classes_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_sparse_matrices_are_refused_with_what_is_expected():
    with pytest.raises(TypeError, match="Sparse data was passed for X, but dense data is required"):
        FMFRegressor().fit(sp.csr_array([[1, 2], [2, 1]]), [1.0, 2.0])


def test_columns_choose_the_ids_among_others(pairs):
    pd = pytest.importorskip("pandas")
    X, y = pairs
    frame = pd.DataFrame({"when": 0, "item": X[:, 1], "user": X[:, 0]})
    named = FMFRegressor(columns=("user", "item"), rank=2, rounds=3).fit(frame, y)
    placed = FMFRegressor(columns=(2, 1), rank=2, rounds=3).fit(frame.to_numpy(), y)
    plain = FMFRegressor(rank=2, rounds=3).fit(X, y)
    np.testing.assert_array_equal(named.predict(frame), plain.predict(X))
    np.testing.assert_array_equal(placed.predict(frame.to_numpy()), plain.predict(X))
    assert list(named.feature_names_in_) == ["when", "item", "user"]
    with pytest.raises(ValueError, match="feature names should match"):
        named.predict(frame.rename(columns={"when": "then"}))


def test_pairs_of_weight_zero_count_as_if_they_were_not_there(pairs):
    X, y = pairs
    weight = (np.arange(len(X)) % 3 > 0).astype(float)
    all_of_them = FMFRegressor(rank=2, rounds=3).fit(X, y, sample_weight=weight)
    some = FMFRegressor(rank=2, rounds=3).fit(X[weight > 0], y[weight > 0], sample_weight=np.ones(1000))
    np.testing.assert_array_equal(all_of_them.predict(X), some.predict(X))


@pytest.mark.parametrize("estimator", EXPECTED)
def test_an_estimator_whose_fit_failed_is_not_fitted(estimator, pairs):
    X, y = pairs
    model = estimator(loss="bpr")
    with pytest.raises(UnknownNameError, match="no loss is called 'bpr'"):
        model.fit(X, y > 0)
    with pytest.raises(NotFittedError):
        model.predict(X)
    assert not hasattr(model, "classes_")


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"loss": "logistic", "data": "ratings"}, {"loss": Logistic(), "data": "ratings"}),
        ({"strengths": {"query.indicator": 2.0}, "l2": 0.1}, {"strengths": {"query.indicator": 2.0}}),
        ({"data": "positives", "cells": 3.0, "l2": 0.01}, {"data": "positives", "cells": 3.0}),
    ],
)
def test_loss_strengths_positives_and_cells_are_reached_by_set_params(pairs, changes, expected):
    X, y = pairs
    grid = {name: [value] for name, value in changes.items()}
    search = GridSearchCV(FMFRegressor(rank=2, rounds=2), grid, cv=2)
    y = np.ones(len(X)) if "cells" in changes else (y > 0).astype(float)
    settings = search.fit(X, y).best_estimator_.recommender_.settings
    assert {name: getattr(settings, name) for name in expected} == expected


def test_a_regressor_takes_equal_y_as_positives_and_says_so(pairs, capsys, monkeypatch):
    X, y = pairs
    clicked = X[y > 0]
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    model = FMFRegressor(rank=4, rounds=3).fit(clicked, np.ones(len(clicked)))
    assert f"all {len(clicked)} values are 1: taken as positives only" in capsys.readouterr().err
    assert model.recommender_.settings.data == "positives"
    assert model.predict(X).shape == (len(X),)
    model.partial_fit(clicked[:9], np.full(9, 5.0))
    assert model.recommender_.settings.data == "positives"
    with pytest.raises(ValueError, match="data: the model to start from was trained on 'positives'"):
        model.set_params(data="ratings").partial_fit(clicked, np.ones(len(clicked)))


def test_a_regressor_counts_repeated_positives_and_takes_the_mean_of_repeated_ratings(pairs):
    X, y = pairs
    twice = np.concatenate([X, X[:100]])
    model = FMFRegressor(rank=2, rounds=2, l2=0.01).fit(twice, np.full(1600, 3.0), sample_weight=np.full(1600, 0.5))
    assert np.bincount((2 * model.recommender_.weight).astype(int)).tolist() == [0, 1400, 100]
    model = FMFRegressor(rank=2, rounds=2).fit(twice, np.append(y, y[:100] + 2))
    assert model.recommender_.weight is None
    assert model.recommender_.settings.data == "ratings"
    assert model.recommender_.seen.sum() == pytest.approx(y.sum() + 100, rel=1e-4)


def test_parameters_at_their_defaults_are_not_given(pairs):
    X, _ = pairs
    model = FMFRegressor(rounds=2, l2=0.01).fit(X, np.ones(len(X)))
    assert (model.rank, model.recommender_.settings.rank) == (32, POSITIVES["rank"])
    assert model.recommender_.settings.rounds == 2


def test_a_regressor_is_told_what_the_data_is(pairs):
    X, y = pairs
    with pytest.warns(UserWarning, match="nothing but this number can be learnt; use --positives or data='positives'"):
        FMFRegressor(rank=2, rounds=1, data="ratings").fit(X, np.ones(len(X)))
    with pytest.warns(UserWarning, match="1,500 distinct values, .* are all counted as positives"):
        model = FMFRegressor(rank=2, rounds=1, l2=0.01, data="positives").fit(X, np.abs(y))
    assert model.recommender_.settings.data == "positives"


def test_a_classifier_learns_classes_even_from_one_at_a_time(pairs):
    X, y = pairs
    labels = np.where(y > 0, "yes", "no")
    likely = y > 0
    model = FMFClassifier(rank=2, rounds=2).partial_fit(X[likely], labels[likely], classes=["no", "yes"])
    assert model.recommender_.settings.data == "ratings"
    model.partial_fit(X[~likely], labels[~likely])
    assert set(model.predict(X)) == {"no", "yes"}


def test_estimators_go_on_with_new_ids(pairs):
    X, y = pairs
    first = X[:, 0] < 40
    model = FMFRegressor(rank=4, l2=0.02).partial_fit(X[first], y[first])
    before = model.score(X[~first], y[~first])
    again = model.partial_fit(X[~first], y[~first])
    assert again.score(X[~first], y[~first]) > 0.8 > before
    assert again.score(X[first], y[first]) > 0.8
    labels = np.where(y > 0, "yes", "no")
    classifier = FMFClassifier(rank=4, l2=0.01).partial_fit(X[first], labels[first], classes=["no", "yes"])
    classifier.partial_fit(X[~first], labels[~first])
    assert (classifier.predict(X) == labels).mean() > 0.9
    with pytest.raises(DataError, match="expected two classes"):
        classifier.partial_fit(X[:2], ["no", "perhaps"])
