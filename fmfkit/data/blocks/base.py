"""What all feature blocks share.

A block is declared by name. ``learn`` looks at the training data once, and keeps what it found (a vocabulary, a mean):
``Learnt``, which turns any instances that have the same columns into a sparse matrix. Values that were not seen in
training, and missing ones, become no feature at all: the prediction then comes from the other blocks.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import attrs
import numpy as np
import polars as pl
import scipy.sparse as sp
from attrs import validators

from fmfkit.arguments import not_negative
from fmfkit.data.tables import attribute, require

Normalise = Literal["none", "rows", "root"]


@attrs.frozen(eq=False)
class Instances:
    """What blocks make features from."""

    table: pl.DataFrame
    """A row for each instance."""
    names: pl.Series
    """Their ids as text."""
    extra: Mapping[str, Any] = attrs.field(factory=dict)
    """For blocks that need no column, by title: links, or a matrix with the rows of ``table``, of these instances."""

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self.names)

    def column(self, name: str, block: Block) -> pl.Series:
        """Return a column that a block needs."""
        require(self.table, {f"block {block.title!r}": name}, "table")
        return attribute(self.table[name])


@attrs.frozen(kw_only=True)
class Block(ABC):
    """What all blocks have."""

    kind: ClassVar[str]
    name: str | None = attrs.field(default=None, validator=validators.optional(validators.instance_of(str)))
    """How the block is called; its columns by default."""
    normalise: Normalise = attrs.field(default="none", validator=validators.in_(("none", "rows", "root")))
    """"rows" gives each row's features the length 1; "root" divides by the root of their number, as SVD++ does."""
    strength: float = attrs.field(default=1.0, converter=float, validator=not_negative)
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
        """Look at the instances of the training data.

        Args:
            given: the instances to learn from.
        """

    @abstractmethod
    def encode(self, learnt: Learnt, given: Instances) -> sp.csr_array:
        """Return the features of instances, before they are normalised.

        Args:
            learnt: what ``learn`` returned.
            given: the instances to encode.
        """

    def learn_more(self, before: Learnt, given: Instances) -> Learnt:
        """Look at further instances: features that were known keep their columns, new ones come after them.

        Args:
            before: what was learnt before.
            given: further instances.
        """
        now = self.learn(given)
        new = set(now.features) - set(before.features)
        return Learnt(now.block, (*before.features, *(name for name in now.features if name in new)), before.state)

    def restored(self, features: tuple[str, ...], state: Mapping[str, Any]) -> Learnt:
        """Return what was learnt, as a file says; a ValueError refuses what ``learn`` could not have returned.

        Args:
            features: the names of the features.
            state: what else was learnt, as JSON has it.
        """
        return Learnt(self, features, state)


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


class OfOneColumn:
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


def sparse_rows(value: Any, row: Any, column: Any, shape: tuple[int, int]) -> sp.csr_array:
    """Return a matrix of values at rows and columns."""
    matrix = sp.coo_array((np.asarray(value, np.float32), (row, column)), shape=shape).tocsr()
    matrix.sort_indices()
    return sp.csr_array(matrix)


__all__ = ["Block", "Instances", "Learnt", "Normalise", "OfOneColumn", "sparse_rows"]
