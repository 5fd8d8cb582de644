"""Feature blocks: how columns of a table become features.

A block is declared by name. ``learn`` looks at the training data once, and keeps what it found (a vocabulary, a mean):
``Learnt``, which turns any table with the same columns into a sparse matrix. Values that were not seen in training, and
missing ones, become no feature at all: the other blocks speak for the instance.
"""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

import attrs
import numpy as np
import polars as pl
import scipy.sparse as sp
from attrs import validators
from numpy.typing import NDArray

from fmfkit.data.tables import require
from fmfkit.errors import DataError

Normalise = Literal["none", "rows", "root"]


def _strength(instance: Any, attribute: Any, value: float) -> None:
    if not 0 <= value < np.inf:
        raise ValueError(f"strength: expected a finite number of at least 0, got {value!r}")


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
    def learn(self, table: pl.DataFrame) -> Learnt:
        """Look at the instances of the training data."""


@attrs.frozen(eq=False)
class Learnt:
    """A block that has seen its data: it knows its features."""

    block: Block
    features: tuple[str, ...]
    """What each column of the matrix stands for."""
    state: Mapping[str, Any]
    """What was learnt, as JSON can hold it."""

    def matrix(self, table: pl.DataFrame) -> sp.csr_array:
        """Return the features of the table's rows."""
        require(table, {f"block {self.block.title!r}": c for c in self.block.columns}, "table")
        raw = self._matrix(table)
        counts = np.diff(raw.indptr)
        if self.block.normalise == "root":
            raw.data /= np.repeat(np.sqrt(np.maximum(counts, 1)), counts).astype(raw.dtype)
        elif self.block.normalise == "rows":
            length = np.sqrt(np.asarray(raw.multiply(raw).sum(axis=1)).ravel())
            raw.data /= np.repeat(np.where(length > 0, length, 1), counts).astype(raw.dtype)
        return raw

    def _matrix(self, table: pl.DataFrame) -> sp.csr_array:
        block = self.block
        if isinstance(block, TokenBlock):
            return self._tokens(block.tokens(table), table.height)
        assert isinstance(block, Numeric)
        values = _numbers(table, block.column)
        if block.bins:
            cuts = np.array(self.state["cuts"])
            place = np.where(np.isnan(values), -1, np.searchsorted(cuts, values, side="right"))
            kept = np.flatnonzero(place >= 0)
            return _csr(np.ones(len(kept)), kept, place[kept], (table.height, len(self.features)))
        scaled = np.nan_to_num((values - self.state["mean"]) / self.state["deviation"])  # missing: as the mean
        kept = np.flatnonzero(scaled)
        return _csr(scaled[kept], kept, np.zeros(len(kept), np.int64), (table.height, 1))

    def _tokens(self, tokens: pl.DataFrame, rows: int) -> sp.csr_array:
        known = pl.DataFrame({
            "token": pl.Series(self.features, dtype=pl.String),
            "feature": pl.int_range(len(self.features), dtype=pl.Int64, eager=True),
        })  # fmt: skip
        found = tokens.join(known, on="token", how="inner").group_by("row", "feature").agg(pl.len().alias("count"))
        value = np.ones(found.height) if not isinstance(self.block, Text) else found["count"].to_numpy()
        return _csr(value, found["row"].to_numpy(), found["feature"].to_numpy(), (rows, len(self.features)))


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
    def tokens(self, table: pl.DataFrame) -> pl.DataFrame:
        """Return a frame with ``row`` and ``token``, the words of each row, text all."""

    def learn(self, table: pl.DataFrame) -> Learnt:
        """Find the words."""
        require(table, {f"block {self.title!r}": c for c in self.columns}, "table")
        counts = self.tokens(table).unique().group_by("token").agg(pl.len().alias("rows"))
        kept = counts.filter(pl.col("rows") >= self.at_least)["token"].sort()
        return Learnt(self, tuple(kept.to_list()), {})


def _column(table: pl.DataFrame, column: str) -> pl.DataFrame:
    """Return ``row`` and the column as text, without missing and empty values."""
    frame = pl.DataFrame({
        "row": pl.int_range(table.height, dtype=pl.Int64, eager=True), "token": table[column].cast(pl.String),
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

    def tokens(self, table: pl.DataFrame) -> pl.DataFrame:
        """Return the values."""
        return _column(table, self.column)


@attrs.frozen
class Tags(Categorical):
    """Several values per instance in one text, with a separator between: genres, tags."""

    kind: ClassVar[str] = "tags"
    separator: str = "|"

    def tokens(self, table: pl.DataFrame) -> pl.DataFrame:
        """Return the parts."""
        parts = _column(table, self.column).with_columns(pl.col("token").str.split(self.separator)).explode("token")
        return parts.with_columns(pl.col("token").str.strip_chars()).filter(pl.col("token") != "")


@attrs.frozen
class Text(Categorical):
    """A bag of words: lower case, letters and digits; the value is how often a word occurs."""

    kind: ClassVar[str] = "text"

    def tokens(self, table: pl.DataFrame) -> pl.DataFrame:
        """Return the words."""
        words = _column(table, self.column).with_columns(pl.col("token").str.to_lowercase().str.extract_all(r"\w+"))
        return words.explode("token").drop_nulls()


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

    def tokens(self, table: pl.DataFrame) -> pl.DataFrame:
        """Return the ancestors, each with its level before it."""
        named = [
            _column(table, level).with_columns(pl.format("{}={}", pl.lit(level), pl.col("token")).alias("token"))
            for level in self.levels
        ]
        return pl.concat(named)


@attrs.frozen
class Numeric(_OfOneColumn, Block):
    """A number: standardised, one feature; or in ``bins`` with equally many instances each, a feature per bin."""

    kind: ClassVar[str] = "numeric"
    column: str
    bins: int = attrs.field(default=0, validator=[validators.instance_of(int), validators.ge(0)])

    def learn(self, table: pl.DataFrame) -> Learnt:
        """Find the mean and deviation, or the cuts between bins."""
        values = _numbers(table, self.column)
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


def _numbers(table: pl.DataFrame, column: str) -> NDArray[np.float64]:
    require(table, {"block": column}, "table")
    series = table[column]
    if series.dtype == pl.String:
        raise DataError(f"column {column!r} holds text, where a block wants numbers; is it Categorical({column!r})?")
    return series.cast(pl.Float64).fill_null(np.nan).to_numpy().astype(np.float64)


KINDS: dict[str, type[Block]] = {kind.kind: kind for kind in (Categorical, Tags, Text, Taxonomy, Numeric)}


def to_json(learnt: Learnt) -> dict[str, Any]:
    """Return a block and what it learnt, as JSON can hold it."""
    given = attrs.asdict(learnt.block)
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


__all__ = ["Block", "Categorical", "Learnt", "Numeric", "Tags", "Taxonomy", "Text"]
