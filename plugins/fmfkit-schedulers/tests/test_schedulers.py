import numpy as np
import scipy.sparse as sp
from fmfkit_schedulers.adaptive import Adaptive
from fmfkit_schedulers.cooccurrence import Apart

from fmfkit import Problem


def test_features_that_always_occur_together_fall_to_different_sets():
    twins = sp.csr_array(np.repeat(np.eye(50), 2, axis=1))  # columns 2k and 2k + 1 are alike
    features = Problem.from_coo([0], [0], [1.0], shape=(50, 1), rank=1, X={"twins": twins}).X
    partition = Apart(4).partition(features, 0, np.random.default_rng(0))
    set_of = np.empty(100, int)
    for k, members in enumerate(partition.sets):
        set_of[members] = k
    assert (set_of[::2] != set_of[1::2]).all()


def test_the_adaptive_size_is_large_where_nothing_conflicts_and_small_where_all_does():
    def size(matrix):
        return Adaptive(most_sigma=1e9).size(
            Problem.from_coo([0], [0], [1.0], shape=(matrix.shape[0], 1), rank=1, X={"x": matrix}).X
        )

    assert size(sp.eye_array(500, format="csr")) == 500
    assert size(sp.csr_array(np.ones((20, 500)))) <= 2
