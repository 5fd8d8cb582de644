"""Targets packed once answer any number of queries."""

import numpy as np
import pytest

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
