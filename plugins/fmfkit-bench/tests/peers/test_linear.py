import numpy as np
import scipy.sparse as sp
from fmfkit_bench.peers.adapters import linear
from fmfkit_bench.peers.adapters.linear import EASE, Linear, Ridge
from fmfkit_bench.peers.judging import Watch


def trained(peer, task, judge, penalty=2.0):
    watch = Watch(judge)
    peer.train(task, {"penalty": penalty}, watch.note)
    return watch.last


def test_ease_is_the_constrained_least_squares_solution(npz, task_of):
    task, judge = task_of(npz(positives=True, mutual=True))
    weights = trained(EASE(), task, judge).weights.astype(float)
    Y = task.matrix.toarray().astype(float)
    assert (np.diag(weights) == 0).all()
    gradient = Y.T @ (Y @ weights - Y) + 2.0 * weights
    gradient[np.diag_indices_from(gradient)] = 0  # the diagonal is held
    np.testing.assert_allclose(gradient, 0, atol=1e-4)


def test_ridge_is_the_least_squares_solution(npz, task_of):
    task, judge = task_of(npz(positives=True, cold=True))
    weights = trained(Ridge(), task, judge).weights.astype(float)
    X = task.features(0, identity=False, history=False).toarray().astype(float)
    np.testing.assert_allclose(X.T @ (X @ weights - task.matrix.toarray()) + 2.0 * weights, 0, atol=1e-4)


def test_scores_are_those_of_the_table():
    rng = np.random.default_rng(0)
    rows, weights = sp.csr_matrix(rng.normal(size=(9, 4))), rng.normal(size=(4, 5))
    query, target = rng.integers(0, 9, 40).astype(np.int32), rng.integers(0, 5, 40).astype(np.int32)
    np.testing.assert_allclose(Linear(rows, weights).score(query, target), (rows @ weights)[query, target])


def test_what_does_not_fit_is_skipped_with_the_reason(npz, task_of, monkeypatch):
    task, _ = task_of(npz(positives=True, mutual=True))
    assert EASE().reason_to_skip(task) is None
    monkeypatch.setattr(linear, "MOST_COLUMNS", 10)
    assert EASE().reason_to_skip(task) == "30 targets, more than 10"
    cold, _ = task_of(npz(positives=True, cold=True))
    assert "takes no features" in EASE().reason_to_skip(cold)
