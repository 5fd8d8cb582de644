"""Pairs and features as C sees them."""

from __future__ import annotations

from typing import Any

from fmfkit._kernels.buffers import int32, int64, void
from fmfkit.problem.features import FeatureRows, Features
from fmfkit.problem.pairs import Pairs


def pairs_fields(pairs: Pairs) -> dict[str, Any]:
    """Return the members of C's fmf_pairs."""
    dtype = pairs.y.dtype
    return {
        "rows": pairs.rows,
        "ptr": int64(pairs.ptr),
        "other": int32(pairs.other),
        "y": void(pairs.y, dtype),
        "weight": void(pairs.weight, dtype),
        "chunks": len(pairs.chunk) - 1,
        "chunk": int64(pairs.chunk),
    }


def features_fields(features: FeatureRows) -> dict[str, Any]:
    """Return the members of C's fmf_features; without columns, for kernels that read rows only."""
    dtype = features.own_value.dtype
    columns = {}
    if isinstance(features, Features):
        columns = {
            "col_ptr": int64(features.col_ptr),
            "col_index": int32(features.col_index),
            "col_value": void(features.col_value, dtype),
        }
    return {
        "rows": features.rows,
        "cols": features.cols,
        "row_ptr": int64(features.row_ptr),
        "row_index": int32(features.row_index),
        "row_value": void(features.row_value, dtype),
        "row_scale": void(features.row_scale, dtype),
        "own": int32(features.own),
        "own_value": void(features.own_value, dtype),
        **columns,
    }
