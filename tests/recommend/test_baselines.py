"""What anybody could predict: the mean, biases alone, popularity."""

import numpy as np
import pytest
import scipy.sparse as sp

from fmfkit import FMF, metrics
from fmfkit.losses import Logistic, Square
from fmfkit.recommend.baselines import Comparison, Known, baselines


def known(n=300, m=60, noise=0.3, seed=0, weight=None):
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=n), 0.5 * rng.normal(size=m)
    i, j = np.nonzero(rng.random((n, m)) < 0.4)
    y = 3 + a[i] + b[j] + noise * rng.normal(size=len(i))
    return Known(i.astype(np.int32), j.astype(np.int32), y, np.ones(len(i)) if weight is None else weight, (n, m)), a, b


def test_biases_are_found_where_there_is_nothing_else():
    pairs, a, b = known()
    found = baselines(Square(), pairs, ranks=False)
    mean, biases = found["the mean"], found["biases alone"]
    assert mean.offset == pytest.approx(pairs.y.mean())
    np.testing.assert_array_equal(mean.query, 0)
    residual = pairs.y - biases.score(pairs.query, pairs.target)
    assert residual.std() == pytest.approx(0.3, rel=0.05)
    assert np.corrcoef(biases.query, a)[0, 1] > 0.99
    assert np.corrcoef(biases.target, b)[0, 1] > 0.98


def test_biases_of_chance_are_shrunk_to_nearly_nothing():
    rng = np.random.default_rng(1)
    i, j = (rng.integers(200, size=2000).astype(np.int32) for _ in range(2))
    pairs = Known(i, j, rng.normal(size=2000), np.ones(2000), (200, 200))
    biases = baselines(Square(), pairs, ranks=False)["biases alone"]
    assert biases.query.std() < 0.1


def test_a_constant_of_the_logistic_loss_is_the_share_of_positives():
    rng = np.random.default_rng(2)
    i, j = (rng.integers(50, size=3000).astype(np.int32) for _ in range(2))
    y = (rng.random(3000) < 0.8).astype(float)
    found = baselines(Logistic(), Known(i, j, y, np.ones(3000), (50, 50)), ranks=False)
    for model in found.values():
        assert model.loss.link(model.score(i, j)).mean() == pytest.approx(y.mean(), abs=0.01)


def test_pairs_of_weight_0_count_for_nothing():
    pairs, _, _ = known()
    rng = np.random.default_rng(3)
    weight = (rng.random(len(pairs.y)) < 0.5).astype(float)
    some = weight > 0
    heavy, _, _ = known(weight=weight)
    half = Known(pairs.query[some], pairs.target[some], pairs.y[some], np.ones(int(some.sum())), pairs.shape)
    a, b = (baselines(Square(), one, ranks=False)["biases alone"] for one in (heavy, half))
    np.testing.assert_allclose(a.query, b.query, atol=1e-3)


def test_popularity_ranks_what_occurs_most_and_leaves_out_what_was_seen():
    seen = sp.csr_array(np.array([[1.0, 0, 1], [0, 0, 1], [1, 0, 1], [0, 1, 1]]))
    model = baselines(Square(), Known.of(seen, None), ranks=True)["popularity"]
    ranked = model.recommend(np.array([1, 3], np.int32), 2, exclude=seen)
    np.testing.assert_array_equal(ranked.targets, [[0, 1], [0, -1]])


def test_a_loss_whose_predictions_are_not_on_the_scale_of_y_has_no_baseline():
    class Odd(Square):
        calibrated = False

    assert baselines(Odd(), known()[0], ranks=False) == {}


def test_a_model_is_compared_on_pairs_of_a_data_set(data):
    train, test = data.split_random(0.2)
    trained = FMF(rank=4).fit(train)
    compared = trained.compare(test)
    assert compared.value == trained.evaluate(test)["rmse"]
    assert compared.baselines["the mean"] == pytest.approx(metrics.rmse(test.y, np.full(len(test), train.y.mean())))
    assert str(compared).startswith(f"rmse {compared.value:.4f} (biases alone 0.")
    assert trained.compare(test, "ndcg@5").baselines.keys() == {"popularity"}
    by_function = trained.compare(test, lambda y, predicted, weight: -abs(y - predicted).max())
    assert by_function.larger


@pytest.mark.parametrize(
    ("value", "larger", "others", "gain"),
    [
        (0.9, False, {"a": 1.0, "b": 2.0}, 0.1),
        (0.5, True, {"a": 0.4, "b": 0.1}, 0.25),
        (0.5, True, {"a": 0.0}, np.inf),
        (0.0, True, {"a": 0.0}, 0.0),
        (0.5, True, {}, None),
    ],
)
def test_the_gain_is_over_the_best_baseline(value, larger, others, gain):
    found = Comparison("metric", value, larger, others).gain
    assert found == gain or found == pytest.approx(gain)
