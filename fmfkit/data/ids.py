"""Ids and the row numbers they stand for."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
import polars as pl
from numpy.typing import NDArray

from fmfkit.errors import DataError

KINDS = {"int": pl.Int64, "str": pl.String, "bool": pl.Boolean, "float": pl.Float64, "date": pl.Date}


@attrs.frozen(eq=False)
class Ids:
    """The ids of one side, all different, in the order of their rows."""

    values: pl.Series

    @classmethod
    def of(cls, *columns: pl.Series, what: str) -> Ids:
        """Return the different ids of some columns, in the order in which they come first."""
        series = [normal(column, what) for column in columns]
        kinds = {str(column.dtype) for column in series}
        if len(kinds) > 1:
            raise DataError(f"{what}: ids are of kind {' in one table and '.join(sorted(kinds))} in another")
        return cls(pl.concat(series).unique(maintain_order=True).alias("id"))

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self.values)

    def rows(self, given: Any, what: str = "ids") -> NDArray[np.int32]:
        """Return the row number of each id, -1 for those that are not known."""
        column = normal(given if isinstance(given, pl.Series) else pl.Series("id", _listed(given)), what)
        if len(column) == 0:
            return np.zeros(0, np.int32)
        if column.dtype != self.values.dtype:
            raise DataError(
                f"{what}: ids of kind {column.dtype} were given, those known are of kind {self.values.dtype}"
            )
        known = pl.DataFrame({"id": self.values, "row": pl.int_range(len(self.values), dtype=pl.Int32, eager=True)})
        found = pl.DataFrame({"id": column}).join(known, on="id", how="left", maintain_order="left")
        return found["row"].fill_null(-1).to_numpy().astype(np.int32)

    def known_rows(self, given: Any, what: str) -> NDArray[np.int32]:
        """Return the row numbers of ids that must be known."""
        rows = self.rows(given, what)
        if (rows < 0).any():
            unknown = [given[n] for n in np.flatnonzero(rows < 0)[:3]]
            raise DataError(
                f"{what}: {int((rows < 0).sum())} ids are not known, such as {', '.join(map(repr, unknown))}"
            )
        return rows

    def at(self, rows: Any) -> list[Any]:
        """Return the ids of row numbers; None for -1."""
        flat = np.asarray(rows).ravel()
        found = self.values.gather(np.maximum(flat, 0)).to_list()
        return [value if row >= 0 else None for value, row in zip(found, flat, strict=True)]

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        kind = next((kind for kind, dtype in KINDS.items() if dtype == self.values.dtype), None)
        if kind is None:
            raise DataError(f"ids of kind {self.values.dtype} cannot be saved; use whole numbers or text")
        values = self.values.cast(pl.String) if kind == "date" else self.values
        return {"kind": kind, "values": values.to_list()}

    @classmethod
    def from_json(cls, given: dict[str, Any]) -> Ids:
        """Return what ``to_json`` told."""
        if given["kind"] == "date":
            return cls(pl.Series("id", given["values"], dtype=pl.String).str.to_date())
        return cls(pl.Series("id", given["values"], dtype=KINDS[given["kind"]]))


def _listed(given: Any) -> Any:
    if isinstance(given, str | bytes) or not hasattr(given, "__len__"):
        return [given]
    return given


def normal(column: pl.Series, what: str) -> pl.Series:
    """Return ids in one kind for all whole numbers, refusing missing ones."""
    if column.null_count():
        raise DataError(f"{what}: {column.null_count()} of {len(column)} ids are missing")
    if column.dtype.is_integer():
        return column.cast(pl.Int64)
    if column.dtype in (pl.Categorical, pl.Enum):
        return column.cast(pl.String)
    if column.dtype.is_float() and len(column) and not (column == column.round()).all():
        raise DataError(
            f"{what}: ids are numbers with a fraction, such as {column.filter(column != column.round())[0]}"
        )
    return column.cast(pl.Int64) if column.dtype.is_float() else column


__all__ = ["Ids"]
