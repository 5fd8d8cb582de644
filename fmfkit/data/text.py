"""Columns of text as arrays, for files that hold arrays only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from fmfkit.sections import checked_array

SEPARATORS = "\n\x1f\x1e\x00"
"""What may stand between values: the first that no value has."""


def pack(column: pl.Series) -> dict[str, NDArray[Any]]:
    """Return text, without missing values, as UTF-8 bytes with a separator between values.

    Where values have all of the separators, the bytes have none, and a further array says where each value ends.
    """
    count = np.array([len(column)], np.int64)
    if not len(column):
        return {"bytes": np.zeros(0, np.uint8), "count": count}
    free = [mark for mark in SEPARATORS if not column.str.contains(mark, literal=True).any()]
    content = np.frombuffer(column.str.join(free[0] if free else "").item().encode(), np.uint8)
    if free:
        return {"bytes": content, "count": count, "separator": np.array([ord(free[0])], np.uint8)}
    return {"bytes": content, "count": count, "ends": column.str.len_bytes().cast(pl.Int64).cum_sum().to_numpy()}


def unpack(arrays: Mapping[str, NDArray[Any]]) -> pl.Series:
    """Return the column that ``pack`` packed; refuse arrays that are none."""
    content = checked_array(arrays, "bytes", np.uint8, (-1,)).tobytes()
    count = int(checked_array(arrays, "count", np.int64, (1,))[0])
    if count == 0 and not content:
        return pl.Series([], dtype=pl.String)
    if "ends" in arrays:
        values = _cut(content, checked_array(arrays, "ends", np.int64, (-1,)))
    else:
        separator = chr(checked_array(arrays, "separator", np.uint8, (1,))[0])
        if separator not in SEPARATORS:
            raise ValueError(f"text: {separator!r} stands between values, expected one of {list(SEPARATORS)}")
        # not a loop in Python, which takes minutes for millions of values
        values = pl.Series([content.decode()]).str.split(separator).explode()
    if len(values) != count:
        raise ValueError(f"text: {len(values)} values, expected {count}")
    return values


def _cut(content: bytes, ends: NDArray[np.int64]) -> pl.Series:
    starts = np.append(0, ends)[:-1]
    if not len(ends) or (ends < starts).any() or ends[-1] != len(content):
        raise ValueError("text: the ends do not run from 0 to the number of bytes")
    return pl.Series([content[a:b].decode() for a, b in zip(starts, ends, strict=True)], dtype=pl.String)


__all__ = ["pack", "unpack"]
