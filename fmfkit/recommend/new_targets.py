"""Targets that came after training: a recommender that knows them by their attributes, all else as it is."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import attrs
import polars as pl
import scipy.sparse as sp

from fmfkit.data.blocks import Instances
from fmfkit.data.cells import attributes
from fmfkit.data.encoder import Encoder, SideEncoder
from fmfkit.data.ids import Ids, as_text, normal
from fmfkit.data.sides import HISTORY, Attributes
from fmfkit.data.tables import places, read_table
from fmfkit.errors import DataError
from fmfkit.model.extension import with_columns, with_rows
from fmfkit.recommend.attributes import kept_attributes

if TYPE_CHECKING:
    from fmfkit.recommend.recommender import Recommender


def with_targets(of: Recommender, table: Any, extra: Mapping[str, Any] | None) -> Recommender:
    """Return the recommender with the targets of a table that it does not know; see ``Recommender.with_targets``."""
    side = of.encoder.targets
    frame = read_table(table, "targets")
    key = next((name for name in (side.key, of.columns.get("target")) if name in frame.columns), frame.columns[0])
    if frame[key].n_unique() < frame.height:
        raise DataError(f"targets: column {key!r} has ids twice")
    frame = attributes(frame, (key, side.label), "targets", functools.partial(places, table))
    frame = frame.select(pl.col(key), pl.exclude(key)).filter(pl.Series(side.ids.rows(frame[key], "targets") < 0))
    if not frame.height:
        return of
    ids = Ids.of(normal(frame[key], f"targets, {key!r}"), what="targets")
    described = _described(side, frame, ids)
    matrices = side.matrices(Instances(frame, as_text(frame[key]), extra or {}))
    if not matrices and not side.indicator:
        raise DataError("targets: the model has no features of targets")
    model = with_rows(of.model, "target", matrices, frame.height)
    if of.encoder.history:
        model = with_columns(model, "query", HISTORY, frame.height)
    seen = sp.csr_array((of.seen.data, of.seen.indices, of.seen.indptr), shape=(model.X.rows, model.Z.rows))
    targets = attrs.evolve(
        side,
        ids=side.ids.followed_by(ids),
        labels=pl.concat([side.labels.alias("label"), described.labels().alias("label")]),
    )
    return attrs.evolve(
        of,
        model=model,
        encoder=Encoder(of.encoder.queries, targets, of.encoder.history),
        seen=seen,
        attributes=_with_attributes(of.attributes, kept_attributes(described), frame.height),
    )


def _described(side: SideEncoder, frame: pl.DataFrame, ids: Ids) -> Attributes:
    label = side.label if side.label in frame.columns else None
    return Attributes(ids, frame, tuple(learnt.block for learnt in side.blocks), side.indicator, label)


def _with_attributes(before: pl.DataFrame, new: pl.DataFrame, count: int) -> pl.DataFrame:
    """Return what is known of all targets; columns of another kind than before are left out."""
    columns = []
    for column in before.get_columns():
        alike = column.name in new.columns and new[column.name].dtype == column.dtype
        more = new[column.name] if alike else pl.Series(column.name, [None] * count, dtype=column.dtype)
        columns.append(pl.concat([column, more]))
    return pl.DataFrame(columns)


__all__ = ["with_targets"]
