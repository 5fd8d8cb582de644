"""Links to other instances become features by id."""

import numpy as np
import pytest
from bookshop import build, instances

from fmfkit.data import (
    Neighbours,
)
from fmfkit.data.encoder import Encoder
from fmfkit.errors import DataError


def test_neighbours_become_features_by_id():
    friends = {"who": ["eve", "ann", "ann", "zoe"], "friend": ["ann", "bob", "eve", "ann"]}
    data = build(query_blocks=[Neighbours(friends, name="friends")])
    X = Encoder.learn(data).features(data)[0]["friends"].toarray()
    np.testing.assert_allclose(X, [[0, 0.5**0.5, 0.5**0.5], [0, 0, 0], [1, 0, 0]])
    (learnt,) = Encoder.learn(data).queries.blocks
    assert learnt.features == ("ann", "bob", "eve")
    new = learnt.matrix(instances({"id": ["n1"]}, friends={"a": ["n1", "n1"], "b": ["eve", "stranger"]}))
    np.testing.assert_allclose(new.toarray(), [[0, 0, 1]])


def test_links_need_two_columns():
    data = build(target_blocks=[Neighbours({"a": [1]})])
    with pytest.raises(DataError, match="links need two columns"):
        Encoder.learn(data).features(data)
