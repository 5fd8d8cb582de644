"""Feature blocks: how columns of a table, links and matrices become features."""

from __future__ import annotations

import json
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
from fmfkit.errors import DataError
from fmfkit.sections import Section


def to_parts(learnt: Learnt) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return a block, but for its class, and what it learnt, as JSON and as arrays; links and matrices are left out."""
    fields = attrs.fields(type(learnt.block))
    given = {f.name: None if f.metadata.get("source") else getattr(learnt.block, f.name) for f in fields}
    about = {"block": given, "state": dict(learnt.state)}
    try:
        json.dumps(about)
    except (TypeError, ValueError) as error:
        raise DataError(
            f"block {learnt.block.title!r}: what it is given and learns must fit into JSON: {error}"
        ) from None
    return about, text.pack(pl.Series(learnt.features, dtype=pl.String))


def from_section(kind: type[Block], section: Section, arrays: Mapping[str, NDArray[np.generic]]) -> Learnt:
    """Return what ``to_parts`` took apart; a path or matrix, which no file holds, is refused: nothing is opened."""
    given = section.part("block").about
    if named := [f.name for f in attrs.fields(kind) if f.metadata.get("source") and given.get(f.name) is not None]:
        raise ValueError(f"a feature block of kind {kind.kind!r} names {named[0]}, which no model file holds")
    return kind(**given).restored(tuple(text.unpack(arrays).to_list()), section.part("state").about)


__all__ = [
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
    "from_section",
    "guess",
    "to_parts",
]
