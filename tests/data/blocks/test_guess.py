"""Blocks are guessed from what columns look like."""

import uuid

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
        "none": [None] * n,
        "isbn": range(1000, 1000 + n),
        "listed": [[i] for i in range(n)],
        "genres": [["a", "b"] if i % 2 else ["a"] for i in range(n)],
        "nothing": [[]] * n,
        "nested": [[["a"]]] * n,
    }
    objects = pl.Series("ids", [uuid.UUID(int=i) for i in range(n)], dtype=pl.Object)
    found, left_out = blocks.guess(pl.DataFrame(table).with_columns(objects), ["id"])
    assert [(type(b).__name__, b.title) for b in found] == [
        ("Categorical", "kind"),
        ("Tags", "tags"),
        ("Numeric", "price"),
        ("Tags", "genres"),
    ]
    assert left_out == {
        "title": "text that hardly repeats",
        "same": "the same in all rows",
        "none": "empty",
        "isbn": "a different number in each row",
        "listed": "lists that hardly repeat",
        "nothing": "empty",
        "ids": "text that hardly repeats",
        "nested": "neither text nor numbers (List(List(String)))",
    }
