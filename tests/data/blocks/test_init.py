"""Learnt blocks come back from JSON and arrays."""

import json
from typing import ClassVar

import attrs
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
from fmfkit.data.blocks import Learnt
from fmfkit.errors import DataError
from fmfkit.sections import Section


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
    again = blocks.from_section(type(block), Section(json.loads(json.dumps(about)), {}), names)
    assert again.block == block
    np.testing.assert_array_equal(again.matrix(instances(BOOKS)).toarray(), matrix)


@attrs.frozen
class Odd(Categorical):
    """A block that learns what JSON cannot hold."""

    kind: ClassVar[str] = "odd"

    def learn(self, given):
        return attrs.evolve(super().learn(given), state={"set": {1}})


def test_what_json_cannot_hold_is_refused_by_the_name_of_the_block():
    with pytest.raises(DataError, match="block 'country': what it is given and learns must fit into JSON"):
        blocks.to_parts(Odd("country").learn(instances(BOOKS)))


def test_links_and_matrices_are_left_out_of_files():
    for block in (Neighbours({"a": [1], "b": [2]}), Precomputed(np.eye(2))):
        about, names = blocks.to_parts(Learnt(block, ("x",)))
        source = "links" if isinstance(block, Neighbours) else "matrix"
        assert about["block"][source] is None
        assert blocks.from_section(type(block), Section(about, {}), names).features == ("x",)
