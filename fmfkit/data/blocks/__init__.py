"""Feature blocks: how columns of a table, links and matrices become features."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs
import numpy as np
import polars as pl
from numpy.typing import NDArray

from fmfkit.data import text
from fmfkit.data.blocks.base import Block, Instances, Learnt
from fmfkit.data.blocks.guess import guess
from fmfkit.data.blocks.links import Neighbours
from fmfkit.data.blocks.matrices import Precomputed
from fmfkit.data.blocks.numbers import Numeric
from fmfkit.data.blocks.tokens import Categorical, Tags, Taxonomy, Text

KINDS: dict[str, type[Block]] = {
    kind.kind: kind for kind in (Categorical, Tags, Text, Taxonomy, Numeric, Neighbours, Precomputed)
}
"""The kinds of feature blocks, by the name that files and configurations call them."""


def to_parts(learnt: Learnt) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return a block and what it learnt, as JSON and as arrays; links and matrices are left out."""
    fields = attrs.fields(type(learnt.block))
    given = {f.name: None if f.metadata.get("source") else getattr(learnt.block, f.name) for f in fields}
    names = text.pack(pl.Series(learnt.features, dtype=pl.String))
    return {"kind": learnt.block.kind, "block": given, "state": dict(learnt.state)}, names


def from_parts(about: Mapping[str, Any], arrays: Mapping[str, NDArray[np.generic]]) -> Learnt:
    """Return what ``to_parts`` took apart."""
    names = tuple(text.unpack(arrays).to_list())
    return Learnt(KINDS[about["kind"]](**about["block"]), names, about["state"])


__all__ = [
    "KINDS",
    "Block",
    "Categorical",
    "Instances",
    "Learnt",
    "Neighbours",
    "Numeric",
    "Precomputed",
    "Tags",
    "Taxonomy",
    "Text",
    "from_parts",
    "guess",
    "to_parts",
]
