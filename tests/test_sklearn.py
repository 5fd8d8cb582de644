"""The estimators for scikit-learn: pairs of ids in X, ratings or classes in y."""

import pickle

import numpy as np
import pytest

pytest.importorskip("sklearn")
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import estimator_checks

from fmfkit.errors import DataError
from fmfkit.recommend.positives import POSITIVES
from fmfkit.sklearn import FMFClassifier, FMFRegressor


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


@pytest.mark.parametrize("estimator", [FMFRegressor, FMFClassifier])
@pytest.mark.parametrize(
    "check",
    [
        estimator_checks.check_no_attributes_set_in_init,
        estimator_checks.check_get_params_invariance,
        estimator_checks.check_set_params,
        estimator_checks.check_estimator_repr,
        estimator_checks.check_estimator_cloneable,
        estimator_checks.check_estimator_tags_renamed,
        estimator_checks.check_valid_tag_types,
    ],
    ids=lambda check: check.__name__,
)
def test_checks_of_scikit_learn_that_need_no_data_pass(estimator, check):
    check(estimator.__name__, estimator())


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
        (lambda: FMFRegressor().fit([[1, 2, 3]], [1]), "expected two columns"),
        (lambda: FMFClassifier().fit([[1, 2], [2, 1]], [1, 1]), "expected two classes, got 1"),
    ],
)
def test_other_shapes_and_classes_are_refused(call, message):
    with pytest.raises(DataError, match=message):
        call()


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
