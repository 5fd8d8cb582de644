"""Feature blocks: how columns of a table, links and matrices become features.

A block is declared by name. ``learn`` looks at the training data once, and keeps what it found (a vocabulary, a mean):
``Learnt``, which turns any instances that have the same columns into a sparse matrix. Values that were not seen in
training, and missing ones, become no feature at all: the other blocks speak for the instance.
"""

from __future__ import annotations

import itertools
import os
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

import attrs
import numpy as np
import polars as pl
import scipy.sparse as sp
from attrs import validators
from numpy.typing import NDArray

from fmfkit.data.ids import as_text
from fmfkit.data.tables import Source, read_table, require
from fmfkit.errors import DataError

Normalise = Literal["none", "rows", "root"]


def _strength(instance: Any, attribute: Any, value: float) -> None:
    if not 0 <= value < np.inf:
        raise ValueError(f"strength: expected a finite number of at least 0, got {value!r}")


@attrs.frozen(eq=False)
class Instances:
    """What blocks make features from."""

    table: pl.DataFrame
    """A row for each instance."""
    names: pl.Series
    """Their ids as text."""
    beside: Mapping[str, Any] = attrs.field(factory=dict)
    """For blocks that need no column, by title: links, or a matrix with the rows of ``table``, of these instances."""

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self.names)

    def column(self, name: str, block: Block) -> pl.Series:
        """Return a column that a block needs."""
        require(self.table, {f"block {block.title!r}": name}, "table")
        return self.table[name]


@attrs.frozen(kw_only=True)
class Block(ABC):
    """What all blocks have."""

    kind: ClassVar[str]
    name: str | None = None
    """How the block is called; its columns by default."""
    normalise: Normalise = attrs.field(default="none", validator=validators.in_(("none", "rows", "root")))
    """"rows" gives each row's features the length 1; "root" divides by the root of their number, as SVD++ does."""
    strength: float = attrs.field(default=1.0, converter=float, validator=_strength)
    """Multiplies the strength of the penalty."""

    @property
    @abstractmethod
    def title(self) -> str:
        """The block's name."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the table that it needs."""
        return ()

    @abstractmethod
    def learn(self, given: Instances) -> Learnt:
        """Look at the instances of the training data."""

    @abstractmethod
    def encode(self, learnt: Learnt, given: Instances) -> sp.csr_array:
        """Return the features of instances, before they are normalised."""

    def learn_more(self, before: Learnt, given: Instances) -> Learnt:
        """Look at further instances: features that were known keep their columns, new ones come after them."""
        now = self.learn(given)
        new = set(now.features) - set(before.features)
        return Learnt(now.block, (*before.features, *(name for name in now.features if name in new)), before.state)


@attrs.frozen(eq=False)
class Learnt:
    """A block that has seen its data: it knows its features."""

    block: Block
    features: tuple[str, ...]
    """What each column of the matrix stands for."""
    state: Mapping[str, Any] = attrs.field(factory=dict)
    """What else was learnt, as JSON can hold it."""

    def matrix(self, given: Instances) -> sp.csr_array:
        """Return the features of instances, a row for each."""
        raw = self.block.encode(self, given)
        counts = np.diff(raw.indptr)
        if self.block.normalise == "root":
            raw.data /= np.repeat(np.sqrt(np.maximum(counts, 1)), counts).astype(raw.dtype)
        elif self.block.normalise == "rows":
            length = np.sqrt(np.asarray(raw.multiply(raw).sum(axis=1)).ravel())
            raw.data /= np.repeat(np.where(length > 0, length, 1), counts).astype(raw.dtype)
        return raw


def _csr(value: Any, row: Any, column: Any, shape: tuple[int, int]) -> sp.csr_array:
    matrix = sp.coo_array((np.asarray(value, np.float32), (row, column)), shape=shape).tocsr()
    matrix.sort_indices()
    return sp.csr_array(matrix)


@attrs.frozen(kw_only=True)
class TokenBlock(Block):
    """A block whose features are words of some kind, each a column of its own."""

    at_least: int = attrs.field(default=1, validator=[validators.instance_of(int), validators.ge(1)])
    """How many instances must have a word for it to become a feature."""

    @abstractmethod
    def tokens(self, given: Instances) -> pl.DataFrame:
        """Return a frame with ``row`` and ``token``, the words of each row, text all."""

    def learn(self, given: Instances) -> Learnt:
        """Find the words."""
        counts = self.tokens(given).unique().group_by("token").agg(pl.len().alias("rows"))
        kept = counts.filter(pl.col("rows") >= self.at_least)["token"].sort()
        return Learnt(self, tuple(kept.to_list()))

    def encode(self, learnt: Learnt, given: Instances) -> sp.csr_array:
        """Return 1 for each word that a row has."""
        found = self._counts(learnt, given)
        return _csr(np.ones(found.height), found["row"], found["feature"], (len(given), len(learnt.features)))

    def _counts(self, learnt: Learnt, given: Instances) -> pl.DataFrame:
        """Return how often each row has each known word: ``row``, ``feature``, ``count``."""
        known = pl.DataFrame({
            "token": pl.Series(learnt.features, dtype=pl.String),
            "feature": pl.int_range(len(learnt.features), dtype=pl.Int64, eager=True),
        })  # fmt: skip
        joined = self.tokens(given).join(known, on="token", how="inner")
        return joined.group_by("row", "feature").agg(pl.len().alias("count"))


def _words(column: pl.Series) -> pl.DataFrame:
    """Return ``row`` and the column as text, without missing and empty values; whole numbers without a fraction."""
    if column.dtype.is_float():  # NaN, and whole numbers that stand beside missing ones
        column = column.fill_nan(None)
        known = column.drop_nulls()
        if len(known) and (known.is_finite() & (known == known.round()) & (known.abs() < 2**53)).all():
            column = column.cast(pl.Int64)
    frame = pl.DataFrame({
        "row": pl.int_range(len(column), dtype=pl.Int64, eager=True), "token": column.cast(pl.String),
    })  # fmt: skip
    return frame.filter(pl.col("token").is_not_null() & (pl.col("token").str.strip_chars() != ""))


class _OfOneColumn:
    """A block that needs one column, and is called like it unless it has a name."""

    name: str | None
    column: str

    @property
    def title(self) -> str:
        """The block's name."""
        return self.name or self.column

    @property
    def columns(self) -> tuple[str, ...]:
        """The column."""
        return (self.column,)


@attrs.frozen
class Categorical(_OfOneColumn, TokenBlock):
    """One value per instance, a feature for each different one: a language, a decade."""

    kind: ClassVar[str] = "categorical"
    column: str

    def tokens(self, given: Instances) -> pl.DataFrame:
        """Return the values."""
        return _words(given.column(self.column, self))


@attrs.frozen
class Tags(Categorical):
    """Several values per instance in one text, with a separator between: genres, tags."""

    kind: ClassVar[str] = "tags"
    separator: str = "|"

    def tokens(self, given: Instances) -> pl.DataFrame:
        """Return the parts."""
        words = _words(given.column(self.column, self))
        parts = words.with_columns(pl.col("token").str.split(self.separator)).explode("token")
        return parts.with_columns(pl.col("token").str.strip_chars()).filter(pl.col("token") != "")


@attrs.frozen
class Text(Categorical):
    """A bag of words: lower case, letters and digits; the value is how often a word occurs."""

    kind: ClassVar[str] = "text"

    def tokens(self, given: Instances) -> pl.DataFrame:
        """Return the words."""
        words = _words(given.column(self.column, self))
        parts = words.with_columns(pl.col("token").str.to_lowercase().str.extract_all(r"\w+"))
        return parts.explode("token").drop_nulls()

    def encode(self, learnt: Learnt, given: Instances) -> sp.csr_array:
        """Return how often a row has each word."""
        found = self._counts(learnt, given)
        return _csr(found["count"], found["row"], found["feature"], (len(given), len(learnt.features)))


@attrs.frozen
class Taxonomy(TokenBlock):
    """All ancestors of an instance, one column each, the nearest first: album, artist. Each is a feature of its own."""

    kind: ClassVar[str] = "taxonomy"
    levels: tuple[str, ...] = attrs.field(converter=tuple)

    @property
    def title(self) -> str:
        """The block's name."""
        return self.name or "/".join(self.levels)

    @property
    def columns(self) -> tuple[str, ...]:
        """The levels."""
        return self.levels

    def tokens(self, given: Instances) -> pl.DataFrame:
        """Return the ancestors, each with its level before it."""
        named = [
            _words(given.column(level, self)).with_columns(
                pl.format("{}={}", pl.lit(level), pl.col("token")).alias("token")
            )
            for level in self.levels
        ]
        return pl.concat(named)


@attrs.frozen
class Numeric(_OfOneColumn, Block):
    """A number: standardised, one feature; or in ``bins`` with equally many instances each, a feature per bin."""

    kind: ClassVar[str] = "numeric"
    column: str
    bins: int = attrs.field(default=0, validator=[validators.instance_of(int), validators.ge(0)])

    def learn(self, given: Instances) -> Learnt:
        """Find the mean and deviation, or the cuts between bins."""
        values = self._numbers(given)
        values = values[~np.isnan(values)]
        if not values.size:
            raise DataError(f"block {self.title!r}: column {self.column!r} has no numbers at all")
        if self.bins:
            cuts = np.unique(np.quantile(values, np.arange(1, self.bins) / self.bins))
            ends = ["-inf", *(f"{cut:g}" for cut in cuts), "inf"]
            names = tuple(f"[{low}, {high})" for low, high in itertools.pairwise(ends))
            return Learnt(self, names, {"cuts": cuts.tolist()})
        deviation = float(values.std()) or 1.0
        return Learnt(self, (self.column,), {"mean": float(values.mean()), "deviation": deviation})

    def encode(self, learnt: Learnt, given: Instances) -> sp.csr_array:
        """Return the standardised number, or 1 for its bin."""
        values = self._numbers(given)
        if self.bins:
            place = np.where(np.isnan(values), -1, np.searchsorted(learnt.state["cuts"], values, side="right"))
            kept = np.flatnonzero(place >= 0)
            return _csr(np.ones(len(kept)), kept, place[kept], (len(given), len(learnt.features)))
        scaled = np.nan_to_num((values - learnt.state["mean"]) / learnt.state["deviation"])  # missing: as the mean
        kept = np.flatnonzero(scaled)
        return _csr(scaled[kept], kept, np.zeros(len(kept), np.int64), (len(given), 1))

    def learn_more(self, before: Learnt, given: Instances) -> Learnt:
        """Keep the mean and deviation, or the cuts: what they meant in training they go on meaning."""
        return before

    def _numbers(self, given: Instances) -> NDArray[np.float64]:
        series = given.column(self.column, self)
        if series.dtype == pl.String:
            raise DataError(
                f"block {self.title!r}: column {self.column!r} holds text, where it wants numbers; "
                f"is it Categorical({self.column!r})?"
            )
        return series.cast(pl.Float64).fill_null(np.nan).to_numpy().astype(np.float64)


@attrs.frozen
class Neighbours(TokenBlock):
    """Links to other instances, each a feature: friends, citations; 1/√n for each of n."""

    kind: ClassVar[str] = "neighbours"
    links: Source = attrs.field(repr=False, eq=False, metadata={"source": True})
    """A table: its first column has the ids of instances, its second what each is linked to."""
    name: str = attrs.field(default="neighbours", kw_only=True)
    normalise: Normalise = attrs.field(default="root", validator=validators.in_(("none", "rows", "root")), kw_only=True)

    @property
    def title(self) -> str:
        """The block's name."""
        return self.name

    def tokens(self, given: Instances) -> pl.DataFrame:
        """Return what each instance is linked to."""
        source = given.beside.get(self.title, self.links)
        if source is None:
            raise DataError(f"block {self.title!r}: the links of these instances are not known; give beside=")
        links = read_table(source, f"links of block {self.title!r}")
        if links.width < 2:
            raise DataError(
                f"block {self.title!r}: links need two columns, instance and neighbour; got {links.columns}"
            )
        known = links.select(pl.nth(0), pl.nth(1)).drop_nulls()
        ends = pl.DataFrame({"name": as_text(known.to_series(0)), "token": as_text(known.to_series(1))})
        rows = pl.DataFrame({"name": given.names, "row": pl.int_range(len(given), dtype=pl.Int64, eager=True)})
        return ends.join(rows, on="name", how="inner").select("row", "token")


def _sparse(matrix: Any) -> sp.csr_array:
    """Return a matrix, or the one that a file of scipy.sparse.save_npz holds, in rows."""
    if isinstance(matrix, str | os.PathLike):
        matrix = sp.load_npz(matrix)
    if not sp.issparse(matrix):
        matrix = np.asarray(matrix)
    if matrix.ndim != 2 or not (np.issubdtype(matrix.dtype, np.number) or matrix.dtype == bool):
        raise DataError(f"a precomputed block needs a matrix of numbers, got {matrix.dtype} of shape {matrix.shape}")
    rows = sp.csr_array(matrix, dtype=np.float32)
    if not np.isfinite(rows.data).all():
        raise DataError("a precomputed block holds values that are NaN or infinite")
    rows.sum_duplicates()
    return rows


@attrs.frozen
class Precomputed(Block):
    """A matrix that is there already: embeddings, visual words."""

    kind: ClassVar[str] = "precomputed"
    matrix: Any = attrs.field(repr=False, eq=False, metadata={"source": True})
    """Sparse or dense, a column for each feature, or the path of a file that scipy.sparse.save_npz wrote."""
    ids: Any = attrs.field(default=None, repr=False, eq=False, metadata={"source": True})
    """The ids of its rows; by default their numbers, from 0. An instance that it has no row for has no features."""
    features: Sequence[str] | None = attrs.field(default=None, repr=False)
    """What its columns are called."""
    name: str = attrs.field(default="precomputed", kw_only=True)

    @property
    def title(self) -> str:
        """The block's name."""
        return self.name

    def learn(self, given: Instances) -> Learnt:
        """Count the columns."""
        width = _sparse(self.matrix).shape[1]
        names = tuple(map(str, range(width) if self.features is None else self.features))
        if len(names) != width:
            raise DataError(f"block {self.title!r}: {len(names)} features are named, the matrix has {width} columns")
        return Learnt(attrs.evolve(self, features=None), names)

    def learn_more(self, before: Learnt, given: Instances) -> Learnt:
        """Count the columns: those that were there are taken to be the same."""
        now = self.learn(given)
        return Learnt(now.block, before.features + now.features[len(before.features) :])

    def encode(self, learnt: Learnt, given: Instances) -> sp.csr_array:
        """Return the rows of the instances."""
        made = self._rows(given)
        if made.shape[1] > len(learnt.features):
            raise DataError(
                f"block {self.title!r}: a matrix with {made.shape[1]} columns, where it has {len(learnt.features)}"
            )
        return sp.csr_array((made.data, made.indices, made.indptr), shape=(len(given), len(learnt.features)))

    def _rows(self, given: Instances) -> sp.csr_array:
        if self.title in given.beside:
            matrix = _sparse(given.beside[self.title])
            if matrix.shape[0] != len(given):
                raise DataError(f"block {self.title!r}: {matrix.shape[0]} rows were given for {len(given)} instances")
            return matrix
        if self.matrix is None:
            raise DataError(f"block {self.title!r}: the features of these instances are not known; give beside=")
        matrix = _sparse(self.matrix)
        ids = read_table({"id": range(matrix.shape[0]) if self.ids is None else self.ids}, f"block {self.title!r}")[
            "id"
        ]
        ids = as_text(ids)
        if len(ids) != matrix.shape[0] or ids.n_unique() < len(ids):
            raise DataError(
                f"block {self.title!r}: expected {matrix.shape[0]} different ids, one for each row of the matrix, "
                f"got {len(ids)}, {ids.n_unique()} of them different"
            )
        place = pl.DataFrame({"name": ids, "row": pl.int_range(len(ids), dtype=pl.Int64, eager=True)})
        wanted = pl.DataFrame({"name": given.names}).join(place, on="name", how="left", maintain_order="left")
        empty = sp.csr_array((1, matrix.shape[1]), dtype=matrix.dtype)
        return sp.csr_array(sp.vstack([matrix, empty], format="csr")[wanted["row"].fill_null(len(ids)).to_numpy()])


KINDS: dict[str, type[Block]] = {
    kind.kind: kind for kind in (Categorical, Tags, Text, Taxonomy, Numeric, Neighbours, Precomputed)
}


def to_json(learnt: Learnt) -> dict[str, Any]:
    """Return a block and what it learnt, as JSON can hold it; but for links and matrices."""
    given = {
        field.name: None if field.metadata.get("source") else getattr(learnt.block, field.name)
        for field in attrs.fields(type(learnt.block))
    }
    return {"kind": learnt.block.kind, "block": given, "features": list(learnt.features), "state": dict(learnt.state)}


def from_json(given: Mapping[str, Any]) -> Learnt:
    """Return what ``to_json`` told."""
    return Learnt(KINDS[given["kind"]](**given["block"]), tuple(given["features"]), given["state"])


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


__all__ = [
    "Block",
    "Categorical",
    "Instances",
    "Learnt",
    "Neighbours",
    "Numeric",
    "Precomputed",
    "Tags",
    "Taxonomy",
    "Text",
]
