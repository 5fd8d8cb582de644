"""Generated tables to try things with: ratings, clicks, tags, and affinities of drugs and proteins.

All of it is drawn at random from a seed, and nothing is measured: scores on it say nothing about real data. Tastes
follow partly from the attributes of both sides, so that features help, and partly from the ids.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

GENRES = ("sea", "war", "love", "crime", "city", "space", "farm", "school")
COUNTRIES = ("cl", "in", "ke", "no", "pl")
FRAGMENTS = ("c1ccccc1", "C(=O)N", "CC", "OC", "C(F)(F)F", "c1ncncc1", "CN", "S(=O)(=O)", "Cl", "C#N", "c1cnccc1", "NC")
RESIDUES = "ACDEFGHIKLMNPQRSTVWY"


def ratings(
    readers: int = 300, books: int = 200, pairs: int = 6000, *, seed: int = 0
) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """Return ratings of books by readers from 1 to 5, a table of the readers, and one of the books.

    Readers of a country, and books of a genre or an author, are alike. The last tenth of the books has no ratings.

    Args:
        readers: how many readers.
        books: how many books.
        pairs: how many ratings are drawn; those that are drawn twice count once.
        seed: of all draws.
    """
    rng = np.random.default_rng(seed)
    country = rng.integers(len(COUNTRIES), size=readers)
    genres, author = _some(rng, books, len(GENRES)), rng.integers(max(1, books // 5), size=books)
    U = _mixed(rng, np.eye(len(COUNTRIES))[country])
    V = _mixed(rng, np.hstack([genres, np.eye(author.max() + 1)[author]]))
    reader, book = _pairs(rng, readers, max(1, books - books // 10), pairs)
    liked = np.sum(U[reader] * V[book], axis=1) + 0.3 * rng.normal(size=readers)[reader]
    stars = np.clip(np.rint(2 * (3.5 + liked + 0.3 * rng.normal(size=len(reader)))) / 2, 1, 5)
    return (
        pl.DataFrame({"reader": reader, "book": book, "rating": stars, "time": rng.integers(365, size=len(reader))}),
        pl.DataFrame({"reader": range(readers), "country": [COUNTRIES[n] for n in country]}),
        pl.DataFrame(
            {
                "book": range(books),
                "title": [f"Book {n}" for n in range(books)],
                "genres": _joined(genres, GENRES),
                "author": [f"author {n}" for n in author],
                "year": rng.integers(1900, 2020, books),
            }
        ),
    )


def clicks(
    users: int = 300, items: int = 150, pairs: int = 6000, *, seed: int = 0
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return which users clicked on which items, some more than once, and a table of the items.

    Args:
        users: how many users.
        items: how many items.
        pairs: how many clicks.
        seed: of all draws.
    """
    rng = np.random.default_rng(seed)
    topic = rng.integers(len(GENRES), size=items)
    U, V = _mixed(rng, _some(rng, users, len(GENRES))), _mixed(rng, np.eye(len(GENRES))[topic])
    popular = 1 / np.arange(1, items + 1) ** 0.5
    user = rng.integers(users, size=pairs)
    chance = np.exp(2 * U @ V.T) * popular
    item = (np.cumsum(chance, axis=1)[user] < rng.random((pairs, 1)) * chance.sum(axis=1)[user][:, None]).sum(axis=1)
    return (
        pl.DataFrame({"user": user, "item": item, "time": np.sort(rng.integers(365, size=pairs))}),
        pl.DataFrame(
            {"item": range(items), "title": [f"Item {n}" for n in range(items)], "topic": [GENRES[n] for n in topic]}
        ),
    )


def tags(images: int = 400, tags: int = 30, *, seed: int = 0) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return which images carry which tags, and a table with the words that occur in each image.

    Args:
        images: how many images.
        tags: how many tags.
        seed: of all draws.
    """
    rng = np.random.default_rng(seed)
    words = _some(rng, images, 60, 6)
    fits = words @ rng.normal(size=(60, tags)) + 0.5 * rng.normal(size=(images, tags))
    image, tag = np.nonzero(fits > np.quantile(fits, 0.9))
    return (
        pl.DataFrame({"image": image, "tag": [f"tag {n}" for n in tag]}),
        pl.DataFrame({"image": range(images), "words": _joined(words, [f"w{n}" for n in range(60)])}),
    )


def affinities(
    drugs: int = 300, proteins: int = 60, share: float = 0.25, *, seed: int = 0
) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """Return how strongly drugs bind to proteins, a table of the drugs, and one of the proteins.

    The shape is that of the KIBA data: most values are near 11.7, and about a quarter of all pairs is measured. A
    drug's ``smiles`` is a row of fragments, not a molecule that exists; proteins of a family have like sequences.

    Args:
        drugs: how many drugs.
        proteins: how many proteins.
        share: the share of the pairs that have a value.
        seed: of all draws.
    """
    rng = np.random.default_rng(seed)
    fragments, family = _some(rng, drugs, len(FRAGMENTS), 4), rng.integers(max(1, proteins // 6), size=proteins)
    U, V = _mixed(rng, fragments), _mixed(rng, np.eye(family.max() + 1)[family])
    drug, protein = np.nonzero(rng.random((drugs, proteins)) < share)
    binds = 0.7 * np.sum(U[drug] * V[protein], axis=1) + 0.3 * rng.normal(size=drugs)[drug]
    value = 11.7 + binds + 0.4 * rng.normal(size=proteins)[protein] + 0.3 * rng.normal(size=len(drug))
    ancestors = rng.integers(len(RESIDUES), size=(family.max() + 1, 80))
    changed = rng.random((proteins, 80)) < 0.2
    residues = np.where(changed, rng.integers(len(RESIDUES), size=(proteins, 80)), ancestors[family])
    return (
        pl.DataFrame(
            {"drug": [f"D{n}" for n in drug], "protein": [f"P{n}" for n in protein], "affinity": value.round(2)}
        ),
        pl.DataFrame({"drug": [f"D{n}" for n in range(drugs)], "smiles": _joined(fragments, FRAGMENTS, "")}),
        pl.DataFrame(
            {
                "protein": [f"P{n}" for n in range(proteins)],
                "sequence": ["".join(RESIDUES[n] for n in row) for row in residues],
            }
        ),
    )


def _some(rng: np.random.Generator, rows: int, features: int, each: int = 2) -> NDArray[np.float64]:
    """Return a 0/1 matrix with ``each`` features in every row."""
    chosen = np.argsort(rng.random((rows, features)), axis=1)[:, :each]
    matrix: NDArray[np.float64] = np.eye(features)[chosen].sum(axis=1)
    return matrix


def _mixed(rng: np.random.Generator, features: NDArray[np.float64], rank: int = 4) -> NDArray[np.float64]:
    """Return embeddings that follow from features, and for a part from nothing else than the row."""
    known: NDArray[np.float64] = (
        features @ rng.normal(size=(features.shape[1], rank)) / np.sqrt(features.sum(axis=1, keepdims=True))
    )
    known *= 0.7
    return known + 0.3 * rng.normal(size=known.shape)


def _pairs(rng: np.random.Generator, rows: int, columns: int, count: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return different pairs; some columns are more popular than others."""
    popular = rng.lognormal(size=columns)
    keys = rng.integers(rows, size=count) * columns + rng.choice(columns, size=count, p=popular / popular.sum())
    row, column = np.divmod(np.unique(keys), columns)
    return row, column


def _joined(matrix: NDArray[np.float64], names: Sequence[str], separator: str = "|") -> list[str]:
    """Return the names of each row's features as one text."""
    return [separator.join(names[int(n)] for n in np.flatnonzero(row)) for row in matrix]


__all__ = ["affinities", "clicks", "ratings", "tags"]
