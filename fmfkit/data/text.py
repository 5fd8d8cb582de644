"""Columns of text as arrays, for files that hold arrays only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

SEPARATORS = ("\n", "\x1f", "\x1e", "\x00")
"""What may stand between values: the first that no value has."""


def pack(column: pl.Series) -> dict[str, NDArray[Any]]:
    """Return text, without missing values, as UTF-8 bytes and where each value ends."""
    ends = column.str.len_bytes().cast(pl.Int64).cum_sum().to_numpy().astype(np.int64)
    content = column.str.join("").item() if len(column) else ""
    return {"bytes": np.frombuffer(content.encode(), np.uint8), "ends": ends}


def unpack(arrays: Mapping[str, NDArray[Any]]) -> pl.Series:
    """Return the column that ``pack`` packed; refuse arrays that are none."""
    content, ends = arrays["bytes"], arrays["ends"]
    if content.dtype != np.uint8 or ends.dtype != np.int64 or content.ndim != 1 or ends.ndim != 1:
        raise ValueError("text: expected bytes and int64 ends")
    starts = np.append(0, ends[:-1]) if len(ends) else ends
    if (ends < starts).any() or (ends[-1] if len(ends) else 0) != len(content):
        raise ValueError("text: the ends do not run from 0 to the number of bytes")
    whole = content.tobytes()
    if not len(ends):
        return pl.Series([], dtype=pl.String)
    for separator in SEPARATORS:
        mark = separator.encode()
        if mark not in whole:
            return _split(content, ends, ord(separator))
    return pl.Series([whole[a:b].decode() for a, b in zip(starts, ends, strict=True)], dtype=pl.String)


def _split(content: NDArray[np.uint8], ends: NDArray[np.int64], separator: int) -> pl.Series:
    """Put a separator between values and let polars split: a loop in Python takes minutes for millions of values."""
    lengths = np.diff(ends, prepend=0)
    places = np.arange(len(content)) + np.repeat(np.arange(len(ends)), lengths)
    joined = np.full(len(content) + len(ends) - 1, separator, np.uint8)
    joined[places] = content
    return pl.Series([joined.tobytes().decode()]).str.split(chr(separator)).explode()


__all__ = ["pack", "unpack"]
