"""Targets packed once answer any number of queries."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from problems import few

from fmfkit._kernels.buffers import padded
from fmfkit._kernels.scoring import PackedTargets, Skip


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_packed_targets_answer_query_after_query(dtype):
    rng = np.random.default_rng(0)
    mine, theirs = (padded(rng.normal(size=(n, 5)).astype(dtype)) for n in (7, 1000))
    packed = PackedTargets(theirs, 0.25, threads=2)
    scores = mine @ theirs.T + np.dtype(dtype).type(0.25)
    for q in range(len(mine)):
        best = np.argsort(-scores[q], kind="stable")[:4]
        left_out = np.sort(best[:2]).astype(np.int32)
        targets, found = packed.best(mine[q : q + 1], 4)
        assert targets[0].tolist() == best.tolist()
        np.testing.assert_allclose(found[0], scores[q, best], rtol=1e-5)
        others, _ = packed.best(mine[q : q + 1], 2, Skip(np.array([0, 2]), left_out))
        assert others[0].tolist() == best[2:].tolist()


def test_what_does_not_fit_is_refused():
    packed = PackedTargets(np.zeros((3, 8), np.float32), 0.0, threads=1)
    with pytest.raises(ValueError, match="expected embeddings of float32 of width 8, got float64"):
        packed.best(np.zeros((1, 8)), 1)
    with pytest.raises(ValueError, match="expected embeddings of two axes"):
        PackedTargets(np.zeros(3), 0.0, threads=1)


def test_places_past_the_last_target_are_marked():
    targets, scores = PackedTargets(np.ones((2, 8), np.float32), 0.0, 1).best(np.ones((1, 8), np.float32), 3)
    assert targets.tolist() == [[0, 1, -1]]
    assert scores[0, 2] == -np.inf


@few
@given(
    seed=st.integers(0, 2**32 - 1),
    queries=st.sampled_from([1, 5, 130]),
    targets=st.integers(1, 400),
    k=st.integers(1, 400),
    values=st.sampled_from([1, 3, 1000]),
    left_out=st.booleans(),
    dtype=st.sampled_from(["float32", "float64"]),
)
def test_the_best_targets_are_those_of_a_sorted_list_however_many_scores_are_equal(
    seed, queries, targets, k, values, left_out, dtype
):
    rng = np.random.default_rng(seed)
    k = min(k, targets)
    mine, theirs = np.zeros((queries, 8), dtype), np.zeros((targets, 8), dtype)
    mine[:, :2] = rng.integers(-2, 3, (queries, 2))
    theirs[:, :2] = rng.integers(-values, values + 1, (targets, 2))
    out = sp.csr_array(rng.random((queries, targets)) < 0.3 * left_out)
    scores = (mine @ theirs.T).astype(np.float64)
    scores[out.toarray()] = -np.inf
    order = np.lexsort((np.broadcast_to(np.arange(targets), scores.shape), -scores))[:, :k]
    expected = np.take_along_axis(scores, order, axis=1)
    found, of_them = PackedTargets(theirs, 0.0, threads=2).best(mine, k, Skip.of(out))
    np.testing.assert_array_equal(found, np.where(expected == -np.inf, -1, order))
    np.testing.assert_array_equal(of_them, expected)
