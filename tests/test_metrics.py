"""Metrics of scores and rankings, against scikit-learn and by hand."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from fmfkit import metrics


@pytest.fixture(scope="module")
def sklearn():
    """The metrics of scikit-learn, where it is installed."""
    return pytest.importorskip("sklearn.metrics")


@given(seed=st.integers(0, 1000), weighted=st.booleans())
def test_metrics_of_scores_agree_with_scikit_learn(sklearn, seed, weighted):
    rng = np.random.default_rng(seed)
    n = rng.integers(2, 40)
    y, guess = rng.normal(size=n), rng.normal(size=n)
    weight = rng.random(n) + 0.1 if weighted else None
    options = {"sample_weight": weight}
    assert metrics.rmse(y, guess, weight) == pytest.approx(sklearn.root_mean_squared_error(y, guess, **options))
    assert metrics.mae(y, guess, weight) == pytest.approx(sklearn.mean_absolute_error(y, guess, **options))
    label = rng.integers(0, 2, n)
    label[:2] = 0, 1
    probability, coarse = rng.random(n), rng.integers(0, 4, n)  # many ties
    assert metrics.log_loss(label, probability, weight) == pytest.approx(
        sklearn.log_loss(label, probability, **options)
    )
    assert metrics.auc(label, coarse, weight) == pytest.approx(sklearn.roc_auc_score(label, coarse, **options))


@given(seed=st.integers(0, 1000))
def test_ndcg_and_map_over_all_ranks_agree_with_scikit_learn(sklearn, seed):
    rng = np.random.default_rng(seed)
    relevant = (rng.random((5, 9)) < 0.4).astype(float)
    relevant[:, 0] = 1
    score = rng.permuted(np.tile(np.arange(9.0), (5, 1)), axis=1)
    ranking = metrics.Ranking.of(np.argsort(-score, axis=1), sp.csr_array(relevant))
    assert ranking.ndcg(4) == pytest.approx(sklearn.ndcg_score(relevant, score, k=4))
    average = [sklearn.average_precision_score(*row) for row in zip(relevant, score, strict=True)]
    assert ranking.map() == pytest.approx(np.mean(average))


def test_rankings_by_hand():
    relevant = sp.csr_array(np.array([[1, 0, 1, 1, 0], [0, 0, 0, 0, 0], [0, 1, 0, 0, 0]]))
    ranking = metrics.Ranking.of([[0, 1, 2, 3], [0, 1, 2, 3], [4, 1, -1, -1]], relevant)
    # the query without a relevant target does not count
    assert ranking.precision(2) == pytest.approx((1 / 2 + 1 / 2) / 2)
    assert ranking.recall(3) == pytest.approx((2 / 3 + 1) / 2)
    assert ranking.mrr() == pytest.approx((1 + 1 / 2) / 2)
    # KDD Cup 2012's own example: clicked 1st, 3rd and 4th, AP@3 = (1/1 + 2/3) / 3
    assert metrics.Ranking.of([[0, 1, 2, 3, 4]], relevant[:1]).map(3) == pytest.approx((1 + 2 / 3) / 3)


def test_the_relevant_pairs_are_left_as_they_were():
    relevant = sp.csr_array(np.array([[0.0, 2, 0], [1, 0, 3]]))
    relevant.data[0] = 0
    before = relevant.indices.copy(), relevant.indptr.copy(), relevant.data.copy()
    metrics.Ranking.of([[0, 1], [0, 1]], relevant)
    for array, kept in zip((relevant.indices, relevant.indptr, relevant.data), before, strict=True):
        np.testing.assert_array_equal(array, kept)


def test_stored_zeros_are_not_relevant():
    relevant = sp.csr_array((np.array([0.0, 1.0]), np.array([0, 1]), np.array([0, 2])), shape=(1, 3))
    assert metrics.Ranking.of([[0, 1]], relevant).precision(2) == 0.5


def test_metrics_of_scores_by_hand():
    y, guess, weight = [1.0, 2, 4], [1.0, 4, 1], [1.0, 0, 3]
    assert metrics.rmse(y, guess) == pytest.approx((13 / 3) ** 0.5)
    assert metrics.mae(y, guess, weight) == pytest.approx(9 / 4)
    assert metrics.log_loss([1, 0], [0.5, 0.75]) == pytest.approx((np.log(2) + np.log(4)) / 2)
    assert metrics.log_loss([1, 0], [1.0, 0.0]) == pytest.approx(0)
    assert metrics.auc([0, 1, 1, 0], [1, 2, 1, 0]) == pytest.approx(3.5 / 4)  # a tie counts half


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: metrics.rmse([1, 2], [1]), "flat arrays of one length"),
        (lambda: metrics.rmse([], []), "at least one pair"),
        (lambda: metrics.mae([1, np.nan], [1, 1]), "y: some values are NaN"),
        (lambda: metrics.mae([1, 1], [1, 1], [0, 0]), "weight: expected"),
        (lambda: metrics.rmse([1, 1], [1, 1], [1, -1]), "weight: expected"),
        (lambda: metrics.log_loss([0, 2], [0.5, 0.5]), "from 0 to 1"),
        (lambda: metrics.auc([1, 1], [0, 1]), "one positive and one negative"),
        (lambda: metrics.auc([0, 3], [0, 1]), "labels 0 and 1"),
        (lambda: metrics.Ranking.of([[0]], sp.csr_array((2, 3))), "expected 2 rows"),
        (lambda: metrics.Ranking.of([[3]], sp.csr_array((1, 3))), "targets from 0 to 2"),
        (lambda: metrics.Ranking.of([[0]], sp.csr_array((1, 3))).mrr(), "no query has a relevant target"),
        (lambda: metrics.Ranking.of([[0]], sp.csr_array((1, 3))).ndcg(2), "k: expected 1 to 1"),
    ],
)
def test_senseless_input_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_coverage_gini_and_novelty_by_hand():
    ranked = [[0, 1], [0, 2], [0, -1]]
    assert metrics.coverage(ranked, 4) == 3 / 4
    assert metrics.novelty(ranked, [7, 3, 0, 9], 7) == pytest.approx((3 * 0 + 1 + 3) / 5)  # in bits
    # often 0, 1, 1, 3: the mean difference of two of them over twice their mean
    often = np.array([0, 1, 1, 3])
    assert metrics.gini(ranked, 4) == pytest.approx(np.abs(np.subtract.outer(often, often)).mean() / 2 / often.mean())


@given(targets=st.integers(1, 30), k=st.integers(1, 5))
def test_gini_is_0_where_all_are_ranked_as_often_and_largest_where_one_is(targets, k):
    assert metrics.gini(np.arange(targets * k)[:, None] % targets, targets) == pytest.approx(0)
    assert metrics.gini(np.zeros((k, 1), int), targets) == pytest.approx(1 - 1 / targets)


def test_what_is_no_target_is_refused():
    with pytest.raises(ValueError, match="expected targets from 0 to 2, or -1, got 3"):
        metrics.coverage([[3]], 3)
    with pytest.raises(ValueError, match="no target is ranked for any query"):
        metrics.gini([[-1]], 3)


def test_a_ranking_is_cut_and_some_queries_are_taken_several_times():
    ranking = metrics.Ranking.of([[0, 1], [1, 0]], sp.csr_array(np.array([[0, 1.0], [0, 1]])))
    assert ranking.first(1).recall(1) == 0.5
    assert ranking.some(np.array([1, 1, 0])).recall(1) == pytest.approx(2 / 3)
