"""From tables to features: data sets, ids, feature blocks."""

from __future__ import annotations

from fmfkit.data.blocks import Block, Categorical, Neighbours, Numeric, Precomputed, Tags, Taxonomy, Text
from fmfkit.data.dataset import Dataset
from fmfkit.data.encoder import Encoder
from fmfkit.data.ids import Ids
from fmfkit.data.sides import Attributes, SideTable
from fmfkit.data.tables import read_table

__all__ = [
    "Attributes",
    "Block",
    "Categorical",
    "Dataset",
    "Encoder",
    "Ids",
    "Neighbours",
    "Numeric",
    "Precomputed",
    "SideTable",
    "Tags",
    "Taxonomy",
    "Text",
    "read_table",
]
