"""Guesses feature blocks from what the columns of a table look like."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from fmfkit.data.blocks.base import Block
from fmfkit.data.blocks.numbers import Numeric
from fmfkit.data.blocks.tokens import Categorical, Tags
from fmfkit.data.tables import attribute

HARDLY = "text that hardly repeats"
"""Why columns such as titles are left out."""


def guess(table: pl.DataFrame, skip: Sequence[str]) -> tuple[list[Block], dict[str, str]]:
    """Return blocks for the columns of a table, by what they look like, and why others are left out, by column.

    Lists, and text with "|" in a fifth of the rows: tags. Other text: categories, if values repeat; text that hardly
    repeats (titles) is left out. Tags and categories are kept from three instances on. Numbers: ten bins, or categories
    where there are at most 30 different ones.
    """
    blocks: list[Block] = []
    left_out: dict[str, str] = {}
    for column in (c for c in table.columns if c not in skip):
        found = _block(column, table[column])
        if isinstance(found, Block):
            blocks.append(found)
        else:
            left_out[column] = found
    return blocks, left_out


def _block(column: str, given: pl.Series) -> Block | str:
    """Return the block of a column, or why there is none."""
    inner = given.dtype.inner if isinstance(given.dtype, pl.List | pl.Array) else given.dtype
    if inner.is_nested():
        return f"neither text nor numbers ({given.dtype})"
    series = attribute(given).drop_nulls()
    if series.dtype == pl.List:
        tags = series.explode().drop_nulls()
        if not len(tags):
            return "empty"
        return Tags(column, at_least=3) if tags.n_unique() <= 0.7 * len(tags) else "lists that hardly repeat"
    series = series.drop_nans() if series.dtype.is_float() else series
    different, rows = series.n_unique(), len(series)
    if not rows or different < 2:
        return "the same in all rows" if rows else "empty"
    if series.dtype == pl.String:
        if int(series.str.contains("|", literal=True).sum()) > 0.2 * rows:
            return Tags(column, at_least=3)
        return Categorical(column, at_least=3) if different <= 0.7 * rows else HARDLY
    if not series.dtype.is_numeric():
        return f"neither text nor numbers ({series.dtype})"
    if different == rows:
        return "a different number in each row"
    return Categorical(column, at_least=3) if different <= 30 else Numeric(column, bins=10)


__all__ = ["HARDLY", "guess"]
