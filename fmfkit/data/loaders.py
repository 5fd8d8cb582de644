"""Readers for the files of the field: MovieLens in all its forms, libsvm (libFM) and SVDFeature."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import polars as pl
import scipy.sparse as sp
from numpy.typing import NDArray

from fmfkit.data.blocks import Categorical, Numeric, Tags
from fmfkit.data.dataset import Dataset
from fmfkit.data.sides import SideTable
from fmfkit.errors import DataError

GENRES_100K = (
    *("unknown", "Action", "Adventure", "Animation", "Children's", "Comedy", "Crime", "Documentary", "Drama"),
    *("Fantasy", "Film-Noir", "Horror", "Musical", "Mystery", "Romance", "Sci-Fi", "Thriller", "War", "Western"),
)


def load_movielens(folder: str | os.PathLike[str], *, history: bool = False) -> Dataset:
    """Read a MovieLens folder: 100K (u.data), 1M and 10M (ratings.dat), or 20M, 25M and latest (ratings.csv).

    Movies have their genres as features; users of 100K and 1M their gender, age and occupation.

    Args:
        folder: the folder.
        history: whether to add history features, as for ``Dataset.of``.
    """
    where = Path(folder)
    users: pl.DataFrame | None = None
    if (where / "u.data").exists():
        ratings = _split(where / "u.data", "\t", ("user", "movie", "rating", "time"))
        items = _split(where / "u.item", "|", ("movie", "title", "date", "video", "url", *GENRES_100K))
        marks = [pl.when(pl.col(g) == "1").then(pl.lit(g)) for g in GENRES_100K]
        items = items.select("movie", "title", pl.concat_str(marks, separator="|", ignore_nulls=True).alias("genres"))
        users = _split(where / "u.user", "|", ("user", "age", "gender", "occupation", "zip"))
    elif (where / "ratings.dat").exists():
        ratings = _split(where / "ratings.dat", "::", ("user", "movie", "rating", "time"))
        items = _split(where / "movies.dat", "::", ("movie", "title", "genres"))
        if (where / "users.dat").exists():
            users = _split(where / "users.dat", "::", ("user", "gender", "age", "occupation", "zip"))
    elif (where / "ratings.csv").exists():
        names = {"userId": "user", "movieId": "movie", "timestamp": "time"}
        ratings = pl.read_csv(where / "ratings.csv").rename(names)
        items = pl.read_csv(where / "movies.csv").rename({"movieId": "movie"})
    else:
        raise DataError(f"{folder}: no MovieLens files: expected u.data, ratings.dat or ratings.csv in it")
    numbers = {"user": pl.Int64, "movie": pl.Int64, "rating": pl.Float64, "time": pl.Int64}
    ratings = ratings.select(pl.col(name).cast(kind) for name, kind in numbers.items())
    items = items.with_columns(pl.col("movie").cast(pl.Int64))
    people: SideTable | None = None
    if users is not None:
        known = users.with_columns(pl.col("user", "age").cast(pl.Int64))
        people = SideTable(known, blocks=[Categorical("gender"), Categorical("occupation"), Numeric("age", bins=7)])
    return Dataset.of(
        ratings,
        query="user",
        target="movie",
        rating="rating",
        time="time",
        queries=people,
        targets=SideTable(items, blocks=[Tags("genres")]),
        history=history,
    )


def _split(path: Path, separator: str, columns: tuple[str, ...]) -> pl.DataFrame:
    """Read a file without a header whose separator may be long, in UTF-8 or else Latin 1: all as text."""
    content = path.read_bytes()
    try:
        text = content.decode()
    except UnicodeDecodeError:
        text = content.decode("latin-1")
    lines = pl.Series("line", [line for line in text.split("\n") if line.strip()])
    parts = lines.str.strip_chars_end("\r").str.split(separator)
    wrong = parts.list.len() != len(columns)
    if wrong.any():
        row = int(wrong.arg_max() or 0)
        raise DataError(
            f"{path}: line {row + 1} has {parts.list.len()[row]} parts, expected {len(columns)}: {lines[row]!r}"
        )
    return pl.DataFrame({name: parts.list.get(n) for n, name in enumerate(columns)})


def read_libsvm(
    path: str | os.PathLike[str], *, features: int | None = None
) -> tuple[sp.csr_array, NDArray[np.float64]]:
    """Read a file of libsvm or libFM, "y index:value ..." in each line: a matrix with a row for each line, and y.

    Indices count from 0, as libFM's do; ``features`` is the number of columns, by default the largest index and one.

    Args:
        path: the file.
    """
    y, rows, columns, values = [], [], [], []
    for number, line in _lines(path):
        try:
            first, *rest = line.split()
            y.append(float(first))
            for part in rest:
                index, value = part.split(":")
                rows.append(len(y) - 1)
                columns.append(int(index))
                values.append(float(value))
        except ValueError:
            raise DataError(f"{path}: line {number}: expected 'y index:value ...', got {line!r}") from None
    if not y:
        raise DataError(f"{path}: the file has no lines")
    width = max(columns, default=-1) + 1 if features is None else features
    if columns and (min(columns) < 0 or max(columns) >= width):
        raise DataError(f"{path}: indices run from {min(columns)} to {max(columns)}, expected 0 to {width - 1}")
    shape = (len(y), width)
    return sp.csr_array((np.array(values), (np.array(rows, int), np.array(columns, int))), shape=shape), np.array(y)


@attrs.frozen(eq=False)
class SVDFeature:
    """The pairs of an SVDFeature file: a row of features of either side for each different instance."""

    X: sp.csr_array
    """The queries' features."""
    Z: sp.csr_array
    """The targets' features."""
    query: NDArray[np.int32]
    """The row of each pair's query."""
    target: NDArray[np.int32]
    """The row of each pair's target."""
    y: NDArray[np.float64]
    """The y of each pair."""


def read_svdfeature(path: str | os.PathLike[str]) -> SVDFeature:
    """Read a file of SVDFeature: "y #global #user #item index:value ..." in each line.

    Lines with the same user (or item) features are one query (or target). Global features, which belong to neither, are
    refused: give them to a side.

    Args:
        path: the file.
    """
    sides: tuple[dict[str, int], dict[str, int]] = ({}, {})
    ratings: list[float] = []
    query: list[int] = []
    target: list[int] = []
    for number, line in _lines(path):
        try:
            y, n_global, n_user, n_item, *rest = line.split()
            counts = int(n_global), int(n_user), int(n_item)
            if len(rest) != sum(counts):
                raise ValueError
        except ValueError:
            raise DataError(
                f"{path}: line {number}: expected 'y #global #user #item index:value ...', got {line!r}"
            ) from None
        if counts[0]:
            raise DataError(f"{path}: line {number} has {counts[0]} global features; give them to users or items")
        ratings.append(float(y))
        for place, seen, part in ((query, sides[0], rest[: counts[1]]), (target, sides[1], rest[counts[1] :])):
            place.append(seen.setdefault(" ".join(part), len(seen)))
    if not ratings:
        raise DataError(f"{path}: the file has no lines")
    X, Z = (_matrix(seen, path) for seen in sides)
    return SVDFeature(X, Z, np.array(query, np.int32), np.array(target, np.int32), np.array(ratings))


def _matrix(seen: dict[str, int], path: Any) -> sp.csr_array:
    rows, columns, values = [], [], []
    for text, row in seen.items():
        for part in text.split():
            try:
                index, value = part.split(":")
                columns.append(int(index))
                values.append(float(value))
            except ValueError:
                raise DataError(f"{path}: expected index:value, got {part!r}") from None
            rows.append(row)
    return sp.csr_array((np.array(values), (rows, columns)), shape=(len(seen), max(columns, default=-1) + 1))


def _lines(path: str | os.PathLike[str]) -> Iterator[tuple[int, str]]:
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            text = line.partition("#")[0].strip()
            if text:
                yield number, text


__all__ = ["SVDFeature", "load_movielens", "read_libsvm", "read_svdfeature"]
