"""Readers, books and ratings: small tables for tests of data, training and the command line."""

from __future__ import annotations

import attrs
import numpy as np
import polars as pl

from fmfkit.data import Dataset, SideTable, Tags
from fmfkit.data.blocks import Instances

PAIRS = {
    "user": ["ann", "bob", "ann", "eve", "bob", "eve"],
    "book": [7, 7, 3, 3, 5, 5],
    "rating": [5.0, 3.0, 4.0, 1.0, 2.0, 2.5],
    "timestamp": [10, 60, 20, 50, 30, 40],
}


BOOKS = {
    "book": [3, 5, 7, 9],
    "title": ["Emma", "Ulysses", "Walden", "Nostromo"],
    "genres": ["novel|classic", "novel", None, "novel|sea"],
    "year": [1815, 1922, 1854, None],
    "author": ["Austen", "Joyce", "Thoreau", "Conrad"],
    "country": ["uk", "ie", "us", "uk"],
}


def build(**changes):
    """Build a data set; ``query_blocks``, ``target_indicator`` and the like describe a side."""
    for side, name in (("query", "queries"), ("target", "targets")):
        parts = {key.removeprefix(f"{side}_"): changes.pop(key) for key in list(changes) if key.startswith(f"{side}_")}
        if parts:
            changes[name] = SideTable(changes.get(name), **parts)
    return Dataset.of(changes.pop("pairs", PAIRS), **changes)


def instances(table, **extra):
    frame = pl.DataFrame(table)
    return Instances(frame, frame[frame.columns[0]].cast(pl.String), extra)


def dense(block, table):
    learnt = block.learn(instances(table))
    return learnt, learnt.matrix(instances(table)).toarray()


def readers_and_books():
    """Return readers who like genres; some books nobody has read."""
    rng = np.random.default_rng(0)
    genres = np.array(["sea", "love", "crime", "space"])
    has = rng.random((120, 4)) < 0.4
    has[:, 0] |= ~has.any(axis=1)
    likes = rng.normal(size=(80, 4))
    reader, book = np.divmod(rng.choice(80 * 110, 3000, replace=False), 110)
    rating = 3 + (likes @ has.T / 2)[reader, book] + 0.3 * rng.normal(size=3000)
    books = {
        "book": [f"b{n}" for n in range(120)],
        "title": [f"Book {n}" for n in range(120)],
        "genres": ["|".join(genres[row]) for row in has],
    }
    pairs = {
        "reader": [f"r{n}" for n in reader],
        "book": [f"b{n}" for n in book],
        "rating": rating,
        "time": range(3000),
    }
    return Dataset.of(pairs, targets=SideTable(books, blocks=[Tags("genres")]))


def liked(data):
    """Return the pairs with a high rating as positives."""
    kept = data.only(data.y > 3.3)
    return attrs.evolve(kept, y=np.ones(len(kept)))


def clicks():
    """Return who clicked on what: users have an interest, items a topic, and all items are about as popular."""
    rng = np.random.default_rng(0)
    interest, topic = rng.integers(0, 5, 200), rng.integers(0, 5, 150)
    chance = np.where(interest[:, None] == topic, 0.4, 0.02)
    user, item = np.nonzero(rng.random((200, 150)) < chance)
    return Dataset.of({"user": user, "item": item})


def grown_tables():
    """Two batches: the second has new readers, new books, a new genre and a block of its own."""
    first = {"reader": ["a", "a", "b", "b", "c"], "book": [1, 2, 1, 3, 2], "rating": [5.0, 3, 4, 2, 1]}
    books = {"book": [1, 2, 3], "genres": ["sea", "war", "sea|war"], "year": [1900, 1950, 2000]}
    second = {"reader": ["d", "d", "a"], "book": [4, 1, 4], "rating": [5.0, 4.0, 2.0]}
    more = {"book": [4, 2], "genres": ["sea|space", "war"], "year": [2020, 1950], "country": ["no", "it"]}
    return first, books, second, more


def write_files(folder):
    """Write files as a user has them: ratings, what was liked, and books with titles and genres."""
    rng = np.random.default_rng(0)
    genre = rng.integers(0, 3, 60)
    taste = rng.normal(size=(40, 3))
    user, book = np.divmod(rng.choice(40 * 60, 1200, replace=False), 60)
    rating = 3 + taste[user, genre[book]] + 0.2 * rng.normal(size=1200)
    triples = list(zip(user, book, rating, strict=True))
    (folder / "ratings.csv").write_text("user,book,rating\n" + "\n".join(f"u{u},{b},{r:.3f}" for u, b, r in triples))
    (folder / "liked.csv").write_text("user,book\n" + "\n".join(f"u{u},{b}" for u, b, r in triples if r > 3))
    names = ["sea|old", "love", "crime|old"]
    books = [f'{b},"Book, the {b}th",{names[genre[b]]}' for b in range(60)]
    (folder / "books.csv").write_text("book,title,genres\n" + "\n".join(books))


@attrs.frozen
class Counting(Tags):
    """Tags that note how often they are learnt and encoded."""

    calls: list = attrs.field(factory=list, kw_only=True, eq=False)

    def learn(self, given):
        self.calls.append("learn")
        return Tags.learn(self, given)

    def encode(self, learnt, given):
        self.calls.append("encode")
        return Tags.encode(self, learnt, given)
