"""Pairs and features as members of C's structs."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fmfkit._kernels.buffers import aligned, integers, padded_width, reals
from fmfkit.problem.features import FeatureRows, Features
from fmfkit.problem.pairs import Pairs
from fmfkit.problem.problem import Problem
from fmfkit.problem.strengths import Side
from fmfkit.typing import Reals


def pairs_fields(pairs: Pairs, chunk: NDArray[np.int64]) -> dict[str, Any]:
    """Return the members of fmf_pairs; ``chunk`` has the row boundaries of what threads share out."""
    dtype = pairs.y.dtype
    return {
        "rows": pairs.rows,
        "ptr": integers(pairs.ptr, np.int64),
        "other": integers(pairs.other, np.int32),
        "y": reals(pairs.y, dtype),
        "weight": reals(pairs.weight, dtype),
        "chunks": len(chunk) - 1,
        "chunk": integers(chunk, np.int64),
    }


def features_fields(features: FeatureRows) -> dict[str, Any]:
    """Return the members of fmf_features; kernels that read rows only can do without columns."""
    dtype = features.own_value.dtype
    columns = {}
    if isinstance(features, Features):
        columns = {
            "col_ptr": integers(features.col_ptr, np.int64),
            "col_index": integers(features.col_index, np.int32),
            "col_value": reals(features.col_value, dtype),
        }
    return {
        "rows": features.rows,
        "cols": features.cols,
        "row_ptr": integers(features.row_ptr, np.int64),
        "row_index": integers(features.row_index, np.int32),
        "row_value": reals(features.row_value, dtype),
        "row_scale": reals(features.row_scale, dtype),
        "own": integers(features.own, np.int32),
        "own_value": reals(features.own_value, dtype),
        **columns,
    }


def stride(problem: Problem) -> int:
    """Return the length of an embedding row: rank, biases, zeros up to whole vectors."""
    return padded_width(problem.rank + problem.query_bias + problem.target_bias, problem.dtype)


def new_embedding(problem: Problem, side: Side) -> Reals:
    """Return a zeroed embedding for a side, 1 where the other side's bias stands."""
    embedding = aligned((side.pairs.rows, stride(problem)), problem.dtype)
    other = problem.target if side.name == "query" else problem.query
    if other.bias_slot is not None:
        embedding[:, other.bias_slot] = 1
    return embedding


def longest_chunk(pairs: Pairs, chunk: NDArray[np.int64]) -> int:
    """Return the largest number of pairs of a chunk."""
    return int(np.diff(pairs.ptr[chunk]).max(initial=0))
