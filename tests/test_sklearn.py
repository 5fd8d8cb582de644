import numpy as np
import pytest

pytest.importorskip("sklearn")
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from fmfkit.errors import DataError
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
