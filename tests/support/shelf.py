"""A shelf of books whose titles, genres and readers are what an attacker would call them; for tests of pages."""

from __future__ import annotations

import numpy as np

from fmfkit import FMF
from fmfkit.data import Dataset

HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</title></style><svg onload=alert(1)>",
    "javascript:alert(1)//'`",
    "&lt;b&gt; & \u202etxet \x00\x07 ]]> --> {{7*7}}",
    "http://example.com/?a=<b>&c='d'",
)


def shelf(**changes) -> Dataset:
    """Return who rated which book: readers and books have hostile names, and five books have no ratings."""
    rng = np.random.default_rng(0)
    taste, genre = rng.normal(size=(40, 3)), rng.integers(0, 3, 60)
    reader, book = np.divmod(rng.choice(40 * 55, 900, replace=False), 55)
    rating = np.clip(np.round(3 + taste[reader, genre[book]] + 0.3 * rng.normal(size=900)), 1, 5)
    books = {
        "book": [f"b{n}" for n in range(60)],
        "title": [f"{HOSTILE[n]} {n}" if n < len(HOSTILE) else f"Book {n}" for n in range(60)],
        "genres": [["<i>sea</i>", "love & war", "'crime'"][g] for g in genre],
        "isbn": [f"978-{n:05}" for n in range(60)],
    }
    readers = [f"<b>r{n}</b>" for n in reader]
    pairs = {"reader": readers, "book": [f"b{n}" for n in book], "rating": rating}
    return Dataset.of(pairs, targets=books, **changes)


def trained_on(data, **settings):
    """Return a model of four fifths of some data, these, and the others."""
    train, test = data.split_random(0.2)
    return FMF(rank=4, rounds=6, **settings).fit(train, validate=0.1), train, test
