"""Feature blocks of numbers."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any, ClassVar

import attrs
import numpy as np
import polars as pl
import scipy.sparse as sp
from attrs import validators
from numpy.typing import NDArray

from fmfkit.data.blocks.base import Block, Instances, Learnt, OfOneColumn, sparse_rows
from fmfkit.errors import DataError
from fmfkit.sections import Section, is_real


@attrs.frozen
class Numeric(OfOneColumn, Block):
    """A number: standardised, one feature; or in ``bins`` with equally many instances each, a feature per bin."""

    kind: ClassVar[str] = "numeric"
    column: str = attrs.field(validator=validators.instance_of(str))
    """The column."""
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
            return sparse_rows(np.ones(len(kept)), kept, place[kept], (len(given), len(learnt.features)))
        scaled = np.nan_to_num((values - learnt.state["mean"]) / learnt.state["deviation"])  # missing: as the mean
        kept = np.flatnonzero(scaled)
        return sparse_rows(scaled[kept], kept, np.zeros(len(kept), np.int64), (len(given), 1))

    def restored(self, features: tuple[str, ...], state: Mapping[str, Any]) -> Learnt:
        """Refuse cuts that do not ascend, and a deviation of 0."""
        given = Section(dict(state), {})
        if self.bins:
            cuts = given.items("cuts")
            fit = all(map(is_real, cuts)) and all(low < high for low, high in itertools.pairwise(cuts))
            if not fit or len(features) != len(cuts) + 1:
                raise ValueError(f"block {self.title!r}: expected a feature for each bin, between cuts that ascend")
        elif given.real("mean") is None or given.real("deviation", above=0) is None or len(features) != 1:
            raise ValueError(f"block {self.title!r}: expected one feature")
        return Learnt(self, features, state)

    def learn_more(self, before: Learnt, given: Instances) -> Learnt:
        """Keep the mean and deviation, or the cuts: what they meant in training they go on meaning."""
        return before

    def _numbers(self, given: Instances) -> NDArray[np.float64]:
        series = given.column(self.column, self)
        if series.dtype == pl.String and series.null_count() < len(series):
            raise DataError(
                f"block {self.title!r}: column {self.column!r} holds text, where it wants numbers; "
                f"is it Categorical({self.column!r})?"
            )
        numbers = series.dtype.is_numeric() or series.dtype.is_temporal()
        if not (numbers or series.dtype in (pl.Boolean, pl.Null, pl.String)):
            raise DataError(f"block {self.title!r}: column {self.column!r} holds {series.dtype}, expected numbers")
        values = series.cast(pl.Float64).fill_null(np.nan).to_numpy().astype(np.float64)
        return np.where(np.isinf(values), np.nan, values)


__all__ = ["Numeric"]
