"""fmfkit demo: a generated matching problem whose features matter."""

from __future__ import annotations

import shlex
import time
from pathlib import Path
from typing import Any

import attrs
import click
import numpy as np
import polars as pl
import scipy.sparse as sp
from numpy.typing import NDArray

from fmfkit import Model, Penalty, Problem, fit
from fmfkit.cli.common import friendly, write_table
from fmfkit.regularizers import ElasticNet
from fmfkit.training.callbacks import Progress

Floats = NDArray[np.float64]


@attrs.frozen(eq=False)
class World:
    """Readers and books: readers have a country and interests, books have tags, and tastes follow from both."""

    readers: sp.csr_array
    books: sp.csr_array
    reader: NDArray[np.int64]
    book: NDArray[np.int64]
    rating: Floats
    cold: NDArray[np.bool_]
    """Pairs with books that nobody has rated in the training part."""
    test: NDArray[np.bool_]

    @classmethod
    def generate(cls, seed: int, readers: int = 3000, books: int = 1500, pairs: int = 90_000) -> World:
        """Draw who rated what, and the ratings."""
        rng = np.random.default_rng(seed)
        X, Z = _some_of(rng, readers, 40, 3), _some_of(rng, books, 60, 4)
        rank = 6
        U = X @ rng.normal(size=(40, rank)) * 0.45 + 0.25 * rng.normal(size=(readers, rank))
        V = Z @ rng.normal(size=(60, rank)) * 0.45 + 0.25 * rng.normal(size=(books, rank))
        popularity = rng.lognormal(sigma=1.0, size=books)
        key = np.unique(
            rng.integers(readers, size=pairs) * books + rng.choice(books, size=pairs, p=popularity / popularity.sum())
        )
        i, j = np.divmod(rng.permutation(key), books)
        liked = 0.4 * np.sum(U[i] * V[j], axis=1) + 0.3 * rng.normal(size=readers)[i] + 0.3 * rng.normal(size=books)[j]
        rating = np.clip(3.6 + liked + 0.5 * rng.normal(size=len(i)), 1, 5)
        cold = rng.random(books)[j] < 0.1
        return cls(X, Z, i, j, rating, cold, cold | (rng.random(len(i)) < 0.1))

    def tables(self) -> dict[str, pl.DataFrame]:
        """Return who rated what, the readers and the books, by the names of files."""
        pairs: dict[str, Any] = {"reader": self.reader, "book": self.book, "rating": np.round(2 * self.rating) / 2}
        readers: dict[str, Any] = {
            "reader": range(self.readers.shape[0]),
            "interests": _listed(self.readers, "interest"),
        }
        titles = [f"Book {n}" for n in range(self.books.shape[0])]
        books: dict[str, Any] = {"book": range(len(titles)), "title": titles, "tags": _listed(self.books, "tag")}
        named = {"ratings.csv": pairs, "readers.csv": readers, "books.csv": books}
        return {name: pl.DataFrame(columns) for name, columns in named.items()}

    def problem(self, rank: int, *, features: bool) -> Problem:
        """Return the training problem, with the features or with indicators only."""
        train = ~self.test
        q, p = self.readers.shape[0], self.books.shape[0]
        return Problem.from_coo(
            self.reader[train],
            self.book[train],
            self.rating[train],
            shape=(q, p),
            rank=rank,
            X={"reader": sp.eye_array(q), "interests": self.readers} if features else None,
            Z={"book": sp.eye_array(p), "tags": self.books} if features else None,
            penalty=Penalty(ElasticNet(l2=0.1), strengths={"interests": 0.3, "tags": 0.3} if features else {}),
        )

    def rmse(self, model: Model, part: NDArray[np.bool_]) -> float:
        """Return the root mean square error of a model on some of the pairs."""
        error = model.predict(self.reader[part], self.book[part]) - self.rating[part]
        return float(np.sqrt(np.mean(np.square(error, dtype=np.float64))))


def _some_of(rng: np.random.Generator, rows: int, features: int, each: int) -> sp.csr_array:
    """Return a 0/1 matrix with ``each`` features per row, some of them more common than others."""
    weight = np.log(1 / np.arange(1, features + 1) ** 0.5) + rng.gumbel(size=(rows, features))
    chosen = np.argsort(-weight, axis=1)[:, :each]
    return sp.csr_array((np.ones(rows * each), chosen.ravel(), np.arange(rows + 1) * each), shape=(rows, features))


def _listed(features: sp.csr_array, word: str) -> list[str]:
    """Return what each row has, as text with a bar between."""
    return ["|".join(f"{word} {n}" for n in row) for row in np.split(features.indices, features.indptr[1:-1])]


def _write(world: World, folder: Path) -> None:
    """Write the tables to a folder, in which no such files are yet."""
    tables = world.tables()
    if there := [name for name in tables if (folder / name).exists()]:
        raise ValueError(f"{folder / there[0]}: there is such a file already; choose another folder")
    folder.mkdir(parents=True, exist_ok=True)
    for name, table in tables.items():
        write_table(table, str(folder / name))
    click.echo(f"wrote {', '.join(tables)} to {folder}; they are generated. To begin with:")
    click.echo(f"  cd {shlex.quote(str(folder))}")
    click.echo("  fmfkit fit ratings.csv --queries readers.csv --targets books.csv --test 0.1 --out model.fmf")
    click.echo("  fmfkit recommend model.fmf --query 17 -k 5")


@click.command()
@click.option(
    "--seed",
    default=0,
    show_default=True,
    type=click.IntRange(0),
    help="Seed of the generated data and of the training.",
)
@click.option("--rank", default=8, show_default=True, type=click.IntRange(1, 256), help="Latent dimensions.")
@click.option("--rounds", default=20, show_default=True, type=click.IntRange(1, 1000), help="Rounds of training.")
@click.option("--threads", default=None, type=click.IntRange(1, 1024), help="Threads; all processors by default.")
@click.option(
    "--write",
    type=click.Path(file_okay=False),
    metavar="FOLDER",
    help="Train nothing, but write the data as CSV files to play with.",
)
@friendly
def command(seed: int, rank: int, rounds: int, threads: int | None, write: str | None) -> None:
    """Train plain and feature-based factorization on generated data, and compare.

    Readers rate books. Tastes depend on the readers' interests and the books' tags, and a tenth of the books is never
    rated in training: only the tags say anything about them.
    """
    world = World.generate(seed)
    if write is not None:
        _write(world, Path(write))
        return
    known, cold = world.test & ~world.cold, world.cold
    click.echo(
        f"{world.readers.shape[0]} readers, {world.books.shape[0]} books, {(~world.test).sum()} ratings to learn from, "
        f"{known.sum()} held out, {cold.sum()} of books never seen"
    )
    mean = float(world.rating[~world.test].mean())
    spread = {part: np.sqrt(np.mean((world.rating[at] - mean) ** 2)) for part, at in (("known", known), ("new", cold))}
    rows = [("mean rating", spread["known"], spread["new"], "")]
    for label, features in (("plain MF, ids only", False), ("FMF, ids and features", True)):
        began = time.perf_counter()
        problem = world.problem(rank, features=features)
        model = fit(problem, rounds=rounds, seed=seed, threads=threads, callbacks=[Progress(label)])
        seconds = time.perf_counter() - began
        rows.append((label, world.rmse(model, known), world.rmse(model, cold), f"{seconds:.2f}"))
    click.echo(f"\n{'test RMSE':24}{'known books':>12}{'new books':>12}{'seconds':>10}")
    for label, on_known, on_new, took in rows:
        click.echo(f"{label:24}{on_known:12.4f}{on_new:12.4f}{took:>10}")
