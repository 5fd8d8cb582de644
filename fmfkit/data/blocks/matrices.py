"""Feature blocks that are matrices already."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, ClassVar

import attrs
import numpy as np
import polars as pl
import scipy.sparse as sp
from attrs import validators

from fmfkit.data.blocks.base import Block, Instances, Learnt
from fmfkit.data.ids import as_text
from fmfkit.data.tables import read_table
from fmfkit.errors import DataError


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
    """The ids of its rows; an instance that none of them is has no features. By default the rows are numbered from 0:
    then each instance needs one, and where a table lists the instances no row may stand after the last of them."""
    features: Sequence[str] | None = attrs.field(default=None, repr=False)
    """What its columns are called."""
    name: str = attrs.field(default="precomputed", validator=validators.instance_of(str), kw_only=True)

    @property
    def title(self) -> str:
        """The block's name."""
        return self.name

    def learn(self, given: Instances) -> Learnt:
        """Count the columns."""
        if self.ids is None and self.title not in given.extra and given.table.width > 1:
            self._check_rows(given)
        return self._learnt()

    def _check_rows(self, given: Instances) -> None:
        """Refuse a matrix that goes on after the last of the instances that a table lists."""
        rows, last = _sparse(self.matrix).shape[0], given.names.cast(pl.Int64, strict=False).max()
        if isinstance(last, int) and rows > last + 1:
            raise DataError(
                f"block {self.title!r}: the matrix has {rows:,} rows, for the ids 0 to {rows - 1}, but the last of the "
                f"{len(given):,} instances is {last}; leave out the other rows, or give ids= with the id of each row"
            )

    def _learnt(self) -> Learnt:
        width = _sparse(self.matrix).shape[1]
        names = tuple(map(str, range(width) if self.features is None else self.features))
        if len(names) != width:
            raise DataError(f"block {self.title!r}: {len(names)} features are named, the matrix has {width} columns")
        return Learnt(attrs.evolve(self, features=None), names)

    def learn_more(self, before: Learnt, given: Instances) -> Learnt:
        """Count the columns: those that were there are taken to be the same."""
        now = self._learnt()
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
        if self.title in given.extra:
            matrix = _sparse(given.extra[self.title])
            if matrix.shape[0] != len(given):
                raise DataError(f"block {self.title!r}: {matrix.shape[0]} rows were given for {len(given)} instances")
            return matrix
        if self.matrix is None:
            raise DataError(f"block {self.title!r}: the features of these instances are not known; give extra=")
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
        if self.ids is None and wanted["row"].null_count():
            other = wanted.filter(pl.col("row").is_null())["name"]
            raise DataError(
                f"block {self.title!r}: the {len(ids):,} rows of the matrix stand for the ids 0 to {len(ids) - 1}, but "
                f"{len(other):,} instances have other ids, such as {other[0]}; give ids= with the id of each row"
            )
        empty = sp.csr_array((1, matrix.shape[1]), dtype=matrix.dtype)
        return sp.csr_array(sp.vstack([matrix, empty], format="csr")[wanted["row"].fill_null(len(ids)).to_numpy()])


__all__ = ["Precomputed"]
