import numpy as np
from fmfkit_bench.data import draws


def test_different_keys_come_sorted_and_once():
    np.testing.assert_array_equal(draws.different(np.array([5, 0, 3, 5, 0])), [0, 3, 5])
    assert len(draws.different(np.zeros(0, np.int64))) == 0


def test_pairs_differ_and_are_in_the_order_of_their_queries():
    train, test = draws.pairs(np.random.default_rng(0), (50, 40), 400)
    for pairs in (train, test):
        keys = pairs.query.astype(np.int64) * 40 + pairs.target
        assert (np.diff(keys) > 0).all()
    assert 0 < len(test) < len(train)


def test_bags_have_about_as_many_features_as_asked():
    bag = draws.bag(np.random.default_rng(0), 200, 50, 6)
    assert 4 < bag.nnz / 200 < 8
    assert set(bag.data) == {1.0}
