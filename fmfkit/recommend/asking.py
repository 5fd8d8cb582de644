"""Ids in questions and answers: their rows, those that a model does not know, and rankings as tables."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import attrs
import numpy as np
import polars as pl
from numpy.typing import NDArray

from fmfkit.data.dataset import Dataset
from fmfkit.data.delimited import BadRows
from fmfkit.data.encoder import Encoder, SideEncoder
from fmfkit.data.ids import as_text, gather
from fmfkit.data.roles import usable
from fmfkit.data.sides import Attributes
from fmfkit.data.tables import read_table, require
from fmfkit.errors import DataError
from fmfkit.interfaces import Loss
from fmfkit.model.answers import Ranked
from fmfkit.model.model import Model
from fmfkit.recommend.attributes import Where, matching

if TYPE_CHECKING:
    from fmfkit.recommend.recommender import Recommender

Unknown = Literal["error", "skip", "features"]
"""What becomes of ids that a model does not know: an error lists them; they are left out; or each is answered as an
instance of which nothing is known but what is given with it, such as pairs."""


def rows_of(side: SideEncoder, given: Any, what: str, unknown: Unknown) -> NDArray[np.int32]:
    """Return the row of each id; -1 for those that are not known, unless they are refused."""
    if unknown not in ("error", "skip", "features"):
        raise ValueError(f"unknown: expected 'error', 'skip' or 'features', got {unknown!r}")
    return side.ids.known_rows(given, what) if unknown == "error" else side.ids.rows(given, what)


def as_column(given: Any, side: SideEncoder | None = None) -> pl.Series:
    """Return ids that are given, known or not, as an answer shows them; ``side`` has ids of the same kind."""
    alone = isinstance(given, str | bytes) or not hasattr(given, "__len__")
    if side is not None and side.ids.objects is not None:
        alone = alone or isinstance(given, tuple | frozenset)
        return pl.Series([str(value) for value in ([given] if alone else given)], dtype=pl.String)
    listed = [given] if alone else given
    column = listed if isinstance(listed, pl.Series) else pl.Series(listed)
    return as_text(column) if column.dtype == pl.Object else column


def parsed(side: SideEncoder, name: str, given: Sequence[str]) -> list[Any]:
    """Return ids that are given as text in the kind that a side has."""
    if side.ids.values.dtype != pl.Int64 or side.ids.objects is not None:
        return list(given)
    if wrong := [value for value in given if not re.fullmatch("-?[0-9]{1,19}", value)]:
        raise ValueError(f"{name}: this model's ids are whole numbers, got {wrong[0]!r}")
    return [int(value) for value in given]


def ranked_table(
    side: SideEncoder, asked: tuple[str, pl.Series], name: str, found: NDArray[np.int32], scores: NDArray[Any]
) -> pl.DataFrame:
    """Return rankings of one side, a row for each that was found; ``asked`` is what the rankings are for."""
    flat, k = found.ravel(), found.shape[1]
    frame = pl.DataFrame(
        [
            gather(asked[1], np.repeat(np.arange(len(found)), k)).alias(asked[0]),
            pl.Series("rank", np.tile(np.arange(1, k + 1), len(found))),
            side.ids.column(flat, name),
            gather(side.labels, np.maximum(flat, 0)).alias("label"),
            pl.Series("score", scores.ravel().astype(np.float64)),
        ]
    )
    return frame if flat.min(initial=0) >= 0 else frame.filter(pl.Series(flat >= 0))


def candidate_rows(
    of: Recommender, targets: Any, exclude: Any, where: Where | None, unknown: Unknown = "error"
) -> NDArray[np.int32] | None:
    """Return the rows of the targets to choose from; None where nothing was asked."""
    if targets is None and exclude is None and not where:
        return None
    chosen = np.full(of.model.Z.rows, targets is None)
    for given, value, what in ((targets, True, "targets"), (exclude, False, "exclude")):
        if given is not None:
            rows = rows_of(of.encoder.targets, given, what, unknown)
            chosen[rows[rows >= 0]] = value
    if where:
        chosen &= matching(of.attributes, where)
    return np.flatnonzero(chosen).astype(np.int32)


def best_of(model: Model, k: int, candidates: NDArray[np.int32] | None, **given: Any) -> Ranked:
    """Return the best targets of some queries or embeddings, nothing where there are no candidates."""
    if candidates is None or len(candidates):
        return model.recommend(k=k, candidates=candidates, **given)
    asked = given.get("queries", given.get("embeddings"))
    count = model.X.rows if asked is None else len(asked)
    return Ranked(np.zeros((count, 0), np.int32), np.zeros((count, 0), model.P.dtype))


def check_scale(loss: Loss, range_of_y: tuple[float, float]) -> None:
    """Refuse to clip scores that are no predictions."""
    ends = np.asarray(range_of_y)
    if not np.array_equal(loss.link(ends), ends):
        raise ValueError(f"clip: scores of {loss!r} are not on the scale of y; predict(..., clip=True) is")


def pairs_of_table(
    encoder: Encoder, columns: Mapping[str, str | None], source: Any, unknown: Unknown, bad_rows: BadRows
) -> tuple[NDArray[np.int32], NDArray[np.int32], pl.DataFrame]:
    """Return the rows of the pairs of a table, or of a data set, and their ids."""
    frame = None if isinstance(source, Dataset) else _ids_of_table(encoder, columns, source, bad_rows)
    rows, ids = [], []
    for role, what, side in (("query", "queries", encoder.queries), ("target", "targets", encoder.targets)):
        name = str(columns[role])
        if frame is None:
            theirs, at = getattr(source, what).ids, getattr(source, role)
            rows.append(
                rows_of(side, pl.Series(theirs.at(at)) if theirs.objects is None else theirs.at(at), what, unknown)
            )
            ids.append(theirs.column(at, name))
            continue
        rows.append(rows_of(side, frame[name], f"pairs, {what}", unknown))
        ids.append(as_column(frame[name]).alias(name))
    return rows[0], rows[1], pl.DataFrame(ids)


def _ids_of_table(encoder: Encoder, columns: Mapping[str, str | None], source: Any, bad_rows: BadRows) -> pl.DataFrame:
    """Return the ids of the pairs of a table."""
    frame = read_table(source, "pairs", bad_rows=bad_rows)
    roles = {role: str(columns[role]) for role in ("query", "target")}
    require(frame, roles, "pairs")
    known = {"query": encoder.queries.ids, "target": encoder.targets.ids}
    return usable(frame, {**roles, "time": None}, bad_rows, source, known)


def known_pairs(of: Recommender, source: Dataset) -> Dataset:
    """Return a data set without the pairs that have ids that are not known."""
    i, j, _ = pairs_of_table(of.encoder, of.columns, source, "skip", "error")
    known = (i >= 0) & (j >= 0)
    if not known.any():
        raise DataError(f"pairs: of {len(known)} pairs none has ids that are known")
    return source.only(known)


def predicted_table(
    of: Recommender, source: Any, interval: float | None, unknown: Unknown, *, clip: bool, bad_rows: BadRows
) -> pl.DataFrame:
    """Return the pairs of a table with what is predicted for each; see ``Recommender.predict_table``."""
    i, j, frame = pairs_of_table(of.encoder, of.columns, source, unknown, bad_rows)
    predicted, known = of.model.predict(i, j, unknown=True), (i >= 0) & (j >= 0)
    frame = frame.with_columns(predicted=(of.clipped(predicted) if clip else predicted).astype(float))
    if interval is not None:
        ends = np.full((2, len(i)), np.nan)
        ends[:, known] = of.model.interval(i[known], j[known], interval)
        frame = frame.with_columns(
            pl.Series("low", ends[0], nan_to_null=True), pl.Series("high", ends[1], nan_to_null=True)
        )
    return frame.filter(known) if unknown == "skip" else frame


def in_rows_of(encoder: Encoder, data: Dataset) -> Dataset:
    """Return a data set with the row numbers that its ids have in a model."""
    if not isinstance(data, Dataset):
        raise TypeError(f"expected a Dataset, got {type(data).__name__}; pairs(...) makes one of a table")
    changes: dict[str, Any] = {}
    for role, what, side, mine in (
        ("query", "queries", data.queries, encoder.queries),
        ("target", "targets", data.targets, encoder.targets),
    ):
        if side.ids is mine.ids:
            continue
        rows = mine.ids.rows_of(side.ids)[getattr(data, role)]
        if (lost := rows < 0).any():
            unknown = side.ids.at(getattr(data, role)[lost][:1])[0]
            raise DataError(f"{what}: {int(lost.sum())} pairs have ids that are not known, such as {unknown!r}")
        changes |= {role: rows, what: bare(mine)}
    return attrs.evolve(data, **changes) if changes else data


def bare(side: SideEncoder) -> Attributes:
    """Return the ids of a side, without attributes."""
    return Attributes(side.ids, pl.DataFrame({"id": side.ids.values}), (), side.indicator, None)


__all__ = [
    "Unknown",
    "as_column",
    "bare",
    "best_of",
    "candidate_rows",
    "check_scale",
    "in_rows_of",
    "known_pairs",
    "parsed",
    "predicted_table",
    "ranked_table",
    "rows_of",
]
