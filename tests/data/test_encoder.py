"""Blocks look at the training data, and turn instances into features; encoders come back from files."""

import json

import numpy as np
import pytest
from bookshop import BOOKS, build

from fmfkit.data import (
    Dataset,
    Neighbours,
    Numeric,
    Precomputed,
    SideTable,
    Tags,
)
from fmfkit.data.encoder import Encoder
from fmfkit.sections import Section


def test_history_features_come_from_the_pairs_at_hand():
    train, _ = build(history=True).split_by_time(0.34)
    X, Z = Encoder.learn(train).features(train)
    assert list(Z) == ["indicator"]
    np.testing.assert_allclose(X["history"].toarray()[0], [0.5**0.5, 0.5**0.5, 0])
    assert X["history"].nnz == len(train)


def test_blocks_beside_the_table_find_ids_of_every_kind():
    for ids in ([b"a", b"b"], [(1, 2), (3, 4)], [1.0, 2.0], [7, 9]):
        data = Dataset.of(
            {"user": [0, 1], "item": ids},
            targets=SideTable(blocks=[Precomputed(np.eye(2), ids=ids), Neighbours({"a": ids, "b": ids[::-1]})]),
        )
        Z = Encoder.learn(data).features(data)[1]
        np.testing.assert_array_equal(Z["precomputed"].toarray(), np.eye(2))
        assert Z["neighbours"].nnz == 2


def test_strengths_of_blocks_are_by_side_and_name_and_others_override_them():
    encoder = Encoder.learn(build(targets=BOOKS, target_blocks=[Tags("genres", strength=0.3)], history=True))
    query, target = encoder.strengths({"query.history": 4.0})
    assert query == {"indicator": 1.0, "history": 4.0}
    assert target == {"indicator": 1.0, "genres": 0.3}
    with pytest.raises(ValueError, match=r"strengths: there is no 'genres'; there are \['query.history'"):
        encoder.strengths({"genres": 1})


@pytest.mark.parametrize("indicator", [True, False])
def test_a_side_comes_back_from_json_and_arrays(indicator):
    data = build(targets=BOOKS, target_blocks=[Tags("genres"), Numeric("year", bins=2)], target_indicator=indicator)
    side = Encoder.learn(data).targets
    about, arrays = side.to_parts(lambda block: {"kind": type(block).__name__})
    again = type(side).from_section(
        Section(json.loads(json.dumps(about)), arrays), lambda kind, told: {"Tags": Tags, "Numeric": Numeric}[kind]
    )
    assert again.ids.at(range(4)) == side.ids.at(range(4))
    assert again.labels.to_list() == ["Walden", "Emma", "Ulysses", "Nostromo"]
    assert list(again.names()) == list(side.names()) == ["indicator"] * indicator + ["genres", "year"]
    for name, matrix in side.features(data.targets).items():
        np.testing.assert_array_equal(again.features(data.targets)[name].toarray(), matrix.toarray())
