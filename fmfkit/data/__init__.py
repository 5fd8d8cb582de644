"""From tables to problems: data sets, ids, feature blocks."""

from __future__ import annotations

from fmfkit.data.blocks import Block, Categorical, Neighbours, Numeric, Precomputed, Tags, Taxonomy, Text
from fmfkit.data.dataset import Attributes, Dataset
from fmfkit.data.encoder import Encoder
from fmfkit.data.ids import Ids
from fmfkit.data.tables import read_table

__all__ = [
    "Attributes", "Block", "Categorical", "Dataset", "Encoder", "Ids", "Neighbours", "Numeric", "Precomputed", "Tags",
    "Taxonomy", "Text", "read_table",
]  # fmt: skip
