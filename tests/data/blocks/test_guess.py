"""Blocks are guessed from what columns look like."""

import polars as pl

from fmfkit.data import (
    blocks,
)


def test_blocks_are_guessed_from_what_columns_look_like():
    n = 60
    table = {
        "id": range(n),
        "title": [f"t{i}" for i in range(n)],
        "kind": [f"k{i % 4}" for i in range(n)],
        "tags": ["a|b" if i % 2 else "a" for i in range(n)],
        "price": [i % 40 + 0.5 for i in range(n)],
        "same": [1] * n,
    }
    found = blocks.guess(pl.DataFrame(table), ["id"])
    assert [(type(b).__name__, b.title) for b in found] == [
        ("Categorical", "kind"),
        ("Tags", "tags"),
        ("Numeric", "price"),
    ]
