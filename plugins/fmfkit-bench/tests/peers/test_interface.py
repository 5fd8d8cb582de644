import numpy as np
import pytest
import scipy.sparse as sp
from fmfkit_bench.core import HISTORY, INDICATOR
from fmfkit_bench.peers.interface import Factors, Peer, System, best_of


def test_the_best_leave_out_what_is_known():
    known = sp.csr_matrix(np.array([[0, 1, 0, 0], [1, 1, 1, 0]]))
    score = np.array([[0.1, 0.9, 0.3, 0.2], [0.5, 0.6, 0.7, 0.1]])
    np.testing.assert_array_equal(best_of(score.copy(), 2, known), [[2, 3], [3, -1]])
    np.testing.assert_array_equal(best_of(score.copy(), 9, known), [[2, 3, 0, -1], [3, -1, -1, -1]])
    factors = Factors(np.ones((2, 1)), score[0][:, None], 5.0, np.zeros(4))
    np.testing.assert_allclose(factors.score(np.array([0, 1]), np.array([1, 2])), [5.9, 5.3])
    np.testing.assert_array_equal(factors.top(np.array([0, 1]), 1, known), [[2], [3]])


def test_a_task_gives_features_with_and_without_identity_and_history(npz, task_of):
    task, _ = task_of(npz())
    assert list(task.sides[0]) == [INDICATOR, "words", HISTORY]
    queries, targets = task.data.shape
    assert task.features(0).shape == (queries, queries + 3 + targets)
    assert task.features(0, identity=False, history=False).shape == (queries, 3)
    np.testing.assert_allclose(np.sort(task.matrix.data), np.sort(task.y), rtol=1e-6)


class Toy(Peer):
    def knobs(self, task):
        return {}

    def train(self, task, settings, note):
        raise NotImplementedError


def test_the_adapter_of_an_absent_system_is_not_imported():
    absent = System("a", "no_such_module", "no-such-package", "no_such_package.adapters:A")
    assert absent.missing() == "not installed (python -m pip install no-such-package)"
    with pytest.raises(ModuleNotFoundError):
        absent.peer()
    assert isinstance(System("b", "numpy", "numpy", Toy).peer(), Toy)
    assert System("c", "numpy", "numpy", "collections:OrderedDict").peer() == {}
