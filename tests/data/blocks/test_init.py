"""Learnt blocks come back from JSON and arrays; kinds are known by name."""

import json

import numpy as np
import pytest
from bookshop import BOOKS, dense, instances

from fmfkit.data import (
    Categorical,
    Neighbours,
    Numeric,
    Precomputed,
    Tags,
    Taxonomy,
    Text,
    blocks,
)
from fmfkit.data.blocks import KINDS, Block, Learnt


@pytest.mark.parametrize(
    "block",
    [
        Categorical("country", strength=2),
        Tags("genres", separator="|"),
        Text("title"),
        Numeric("year"),
        Numeric("year", bins=3, name="decade"),
        Taxonomy(["author", "country"], normalise="rows"),
    ],
)
def test_learnt_blocks_come_back_from_json(block):

    learnt, matrix = dense(block, BOOKS)
    about, names = blocks.to_parts(learnt)
    again = blocks.from_parts(json.loads(json.dumps(about)), names)
    assert again.block == block
    np.testing.assert_array_equal(again.matrix(instances(BOOKS)).toarray(), matrix)


def test_every_kind_of_block_has_a_name_in_files():
    assert sorted(KINDS) == ["categorical", "neighbours", "numeric", "precomputed", "tags", "taxonomy", "text"]
    assert all(issubclass(kind, Block) for kind in KINDS.values())


def test_links_and_matrices_are_left_out_of_files():
    for block in (Neighbours({"a": [1], "b": [2]}), Precomputed(np.eye(2))):
        about, _ = blocks.to_parts(Learnt(block, ("x",)))
        source = "links" if isinstance(block, Neighbours) else "matrix"
        assert about["block"][source] is None
        assert blocks.from_parts(about, blocks.to_parts(Learnt(block, ("x",)))[1]).features == ("x",)
