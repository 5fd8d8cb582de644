"""Feature blocks of words: categories, tags, text, taxonomies."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

import attrs
import numpy as np
import polars as pl
import scipy.sparse as sp
from attrs import validators

from fmfkit.data.blocks.base import Block, Instances, Learnt, OfOneColumn, sparse_rows
from fmfkit.data.tables import as_words


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
        return sparse_rows(np.ones(found.height), found["row"], found["feature"], (len(given), len(learnt.features)))

    def _counts(self, learnt: Learnt, given: Instances) -> pl.DataFrame:
        """Return how often each row has each known word: ``row``, ``feature``, ``count``."""
        places = pl.int_range(len(learnt.features), dtype=pl.Int64, eager=True)
        known = pl.DataFrame({"token": pl.Series(learnt.features, dtype=pl.String), "feature": places})
        joined = self.tokens(given).join(known, on="token", how="inner")
        return joined.group_by("row", "feature").agg(pl.len().alias("count"))


def words(column: pl.Series) -> pl.DataFrame:
    """Return ``row`` and the column as text, without missing and empty values; whole numbers without a fraction.

    Of a column of lists, each value has a row of its own.
    """
    if column.dtype.is_float():  # NaN, and whole numbers that stand beside missing ones
        column = column.fill_nan(None)
        known = column.drop_nulls()
        if len(known) and (known.is_finite() & (known == known.round()) & (known.abs() < 2**53)).all():
            column = column.cast(pl.Int64)
    places = pl.int_range(len(column), dtype=pl.Int64, eager=True)
    if column.dtype == pl.List:
        frame = pl.DataFrame({"row": places, "token": column}).explode("token")
    else:
        frame = pl.DataFrame({"row": places, "token": as_words(column)})
    return frame.filter(pl.col("token").is_not_null() & (pl.col("token").str.strip_chars() != ""))


@attrs.frozen
class Categorical(OfOneColumn, TokenBlock):
    """One value per instance, a feature for each different one: a language, a decade."""

    kind: ClassVar[str] = "categorical"
    column: str = attrs.field(validator=validators.instance_of(str))
    """The column."""

    def tokens(self, given: Instances) -> pl.DataFrame:
        """Return the values."""
        return words(given.column(self.column, self))


@attrs.frozen
class Tags(Categorical):
    """Several values per instance, in one text with a separator between, or in a list: genres, tags."""

    kind: ClassVar[str] = "tags"
    separator: str = attrs.field(default="|", validator=[validators.instance_of(str), validators.min_len(1)])

    def tokens(self, given: Instances) -> pl.DataFrame:
        """Return the parts."""
        column = given.column(self.column, self)
        parts = words(column)
        if column.dtype != pl.List:
            parts = parts.with_columns(pl.col("token").str.split(self.separator)).explode("token")
        return parts.with_columns(pl.col("token").str.strip_chars()).filter(pl.col("token") != "")


@attrs.frozen
class Text(Categorical):
    """A bag of words: lower case, letters and digits; the value is how often a word occurs."""

    kind: ClassVar[str] = "text"

    def tokens(self, given: Instances) -> pl.DataFrame:
        """Return the words."""
        found = words(given.column(self.column, self))
        parts = found.with_columns(pl.col("token").str.to_lowercase().str.extract_all(r"\w+"))
        return parts.explode("token").drop_nulls()

    def encode(self, learnt: Learnt, given: Instances) -> sp.csr_array:
        """Return how often a row has each word."""
        found = self._counts(learnt, given)
        return sparse_rows(found["count"], found["row"], found["feature"], (len(given), len(learnt.features)))


@attrs.frozen
class Taxonomy(TokenBlock):
    """All ancestors of an instance, one column each, the nearest first: album, artist. Each is a feature of its own."""

    kind: ClassVar[str] = "taxonomy"
    levels: tuple[str, ...] = attrs.field(
        converter=tuple, validator=[validators.min_len(1), validators.deep_iterable(validators.instance_of(str))]
    )
    """The columns, the narrowest first."""

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
            words(given.column(level, self)).with_columns(
                pl.format("{}={}", pl.lit(level), pl.col("token")).alias("token")
            )
            for level in self.levels
        ]
        return pl.concat(named)


__all__ = ["Categorical", "Tags", "Taxonomy", "Text", "TokenBlock"]
