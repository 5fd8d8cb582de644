import hashlib

import numpy as np
import pytest
from fmfkit_bench.core import HISTORY
from fmfkit_bench.data import shapes

from fmfkit import fit

TINY = {"ml10m": 0.01, "yahoo": 0.0002, "weibo": 0.002, "flickr": 0.0005}


@pytest.mark.parametrize("name", shapes.SHAPES)
def test_shapes_have_their_proportions_and_different_pairs(name):
    shape = shapes.generate(name, TINY[name], seed=1)
    full = {"ml10m": 9.0e6, "yahoo": 250e6, "weibo": 93e6, "flickr": 39e6}[name]
    pairs = len(shape.train.query) + len(shape.test.query)
    assert len(shape.train.query) == pytest.approx(full * TINY[name], rel=0.15)
    assert len(shape.test.query) == pytest.approx(0.1 * pairs, rel=0.2)
    both = np.concatenate([p.query.astype(np.int64) * shape.targets + p.target for p in (shape.train, shape.test)])
    assert len(np.unique(both)) == len(both)
    assert shape.problem(4).pairs == len(shape.train.query)


def test_the_seed_decides():
    first, again, other = (shapes.generate("ml10m", 0.002, seed=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.train.y, again.train.y)
    assert len(first.train.y) != len(other.train.y) or (first.train.y != other.train.y).any()


def test_history_features_come_from_training_pairs_only():
    shape = shapes.generate("ml10m", 0.002)
    held_out = shape.X[HISTORY][shape.test.query, shape.test.target]
    assert not np.any(held_out)
    known = shape.X[HISTORY][shape.train.query, shape.train.target]
    assert np.all(known > 0)


def test_features_help():
    shape = shapes.generate("weibo", 0.01)
    best = {}
    for features in (False, True):
        errors = []
        problem = shape.problem(8, features=features)
        fit(problem, rounds=8, callbacks=lambda event, errors=errors: errors.append(shape.test_error(event.model())))
        best[features] = min(errors)
    assert best[True] < 0.98 * best[False]


@pytest.mark.parametrize(
    ("name", "scale", "message"), [("netflix", 0.1, "shape"), ("ml10m", 0, "scale"), ("ml10m", 2, "scale")]
)
def test_unknown_shapes_and_senseless_scales_are_refused(name, scale, message):
    with pytest.raises(ValueError, match=message):
        shapes.generate(name, scale)


def digest(shape):
    """Return a number that changes with any bit of the data."""
    told = hashlib.sha256()
    for pairs in (shape.train, shape.test):
        for part in (pairs.query, pairs.target, pairs.y):
            told.update(part.tobytes())
    for blocks in (shape.X, shape.Z):
        for matrix in (blocks or {}).values():
            told.update(matrix.indptr.tobytes() + matrix.indices.tobytes() + matrix.data.tobytes())
    return told.hexdigest()[:16]


@pytest.mark.parametrize("name", shapes.SHAPES)
def test_the_same_seed_gives_the_same_bits(name):
    assert digest(shapes.generate(name, TINY[name], 5)) == digest(shapes.generate(name, TINY[name], 5))
