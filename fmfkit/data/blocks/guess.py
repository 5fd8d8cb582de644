"""Guesses feature blocks from what the columns of a table look like."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from fmfkit.data.blocks.base import Block
from fmfkit.data.blocks.numbers import Numeric
from fmfkit.data.blocks.tokens import Categorical, Tags


def guess(table: pl.DataFrame, skip: Sequence[str]) -> list[Block]:
    """Return blocks for the columns of a table, by what they look like.

    Text with "|" in a fifth of the rows: tags. Other text: categories, if values repeat; text that hardly repeats
    (titles) is left out. Tags and categories are kept from three instances on. Numbers: ten bins, or categories where
    there are at most 30 different ones.
    """
    blocks: list[Block] = []
    for column in (c for c in table.columns if c not in skip):
        series = table[column].drop_nulls()
        series = series.drop_nans() if series.dtype.is_float() else series
        different, rows = series.n_unique(), len(series)
        if not rows or different < 2:
            continue
        if series.dtype == pl.String:
            if int(series.str.contains("|", literal=True).sum()) > 0.2 * rows:
                blocks.append(Tags(column, at_least=3))
            elif different <= 0.7 * rows:
                blocks.append(Categorical(column, at_least=3))
        elif series.dtype.is_numeric() and different < rows:
            blocks.append(Categorical(column, at_least=3) if different <= 30 else Numeric(column, bins=10))
    return blocks


__all__ = ["guess"]
