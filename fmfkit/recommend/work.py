"""What the fits of a checkpoint belong to: data and settings, as text that is the same whenever they are."""

from __future__ import annotations

import hashlib
from typing import Any

import polars as pl

from fmfkit.data.dataset import Dataset
from fmfkit.data.sides import Attributes
from fmfkit.recommend.recommender import Recommender
from fmfkit.recommend.settings import Settings, names
from fmfkit.training.checkpoint import checkpoint_of
from fmfkit.training.identity import DIGEST, spelled

ROWS = 65536
"""Rows of a table that are looked at at a time."""


def keep_to(callbacks: Any, data: Dataset, settings: Settings, **more: Any) -> None:
    """Refuse to go on from a checkpoint, if there is one among callbacks, of other data or settings than these."""
    checkpoint = checkpoint_of(callbacks)
    if checkpoint is not None:
        asked = {name: spelled(getattr(settings, name)) for name in names(kept=True)}
        checkpoint.belongs_to(_data(data) | asked | {name: _told(value) for name, value in more.items()})


def _told(value: Any) -> str:
    if isinstance(value, Dataset):
        return spelled(_data(value))
    return spelled((value.model.P, value.model.Q) if isinstance(value, Recommender) else value)


def _data(data: Dataset) -> dict[str, str]:
    """Return digests of the pairs, and of what describes either side."""
    pairs = data.query, data.target, data.y, data.weight, data.sampled, data.history, _time(data)
    return {"pairs": spelled(pairs), "queries": _side(data.queries), "targets": _side(data.targets)}


def _time(data: Dataset) -> str:
    return "" if data.time is None else _table(pl.DataFrame({"time": data.time}))


def _side(side: Attributes) -> str:
    ids = _table(pl.DataFrame({"id": side.ids.values})), list(side.ids.objects or ())
    return spelled((ids, _table(side.table), side.blocks, side.indicator))


def _table(table: pl.DataFrame) -> str:
    """Return a digest of names and values, whatever a version of polars makes of them in memory."""
    digest = hashlib.sha256(repr(table.columns).encode())
    for part in table.iter_slices(ROWS):
        digest.update(repr(part.rows()).encode("utf-8", "surrogatepass"))
    return DIGEST + digest.hexdigest()[:32]


__all__ = ["keep_to"]
