"""What a file holds of a recommender beside its model, checked as it is read."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from fmfkit.data.encoder import Encoder
from fmfkit.data.sides import HISTORY
from fmfkit.model import file
from fmfkit.model.model import Model
from fmfkit.sections import check_ascending, check_rows


def check_encoder(encoder: Encoder, model: Model) -> None:
    """Refuse ids and feature blocks that are not those of the model's rows and columns."""
    for name, widths, ids, features in (
        ("queries", encoder.queries.widths(), encoder.queries.ids, model.X),
        ("targets", encoder.targets.widths(), encoder.targets.ids, model.Z),
    ):
        if name == "queries" and encoder.history:
            widths[HISTORY] = len(encoder.targets.ids)
        held = {block: part.stop - part.start for block, part in features.blocks.items()}
        if len(ids) != features.rows or list(widths.items()) != list(held.items()):
            raise ValueError(f"{name}: {len(ids)} ids, features {widths}; the model has {features.rows} rows, {held}")


def seen_pairs(section: file.Section, shape: tuple[int, int]) -> tuple[sp.csr_array, NDArray[Any] | None]:
    """Return the training pairs that a file holds, and their weights."""
    ptr = section.array("seen.ptr", np.int64, (shape[0] + 1,))
    index = section.array("seen.index", np.int32, (-1,))
    y = section.array("seen.y", np.float32, index.shape)
    check_rows("seen", ptr, index, shape[1])
    check_ascending("seen", ptr, index, ptr)
    weight = section.array("seen.weight", np.float64, index.shape) if "seen.weight" in section.arrays else None
    if weight is not None and weight.min(initial=0) < 0:
        raise ValueError("seen.weight: a weight is negative")
    return sp.csr_array((y, index, ptr), shape=shape), weight


def columns_of(given: file.Section) -> dict[str, str | None]:
    """Return the columns of the table of pairs that a file names."""
    columns = {role: given.text_or_none(role) for role in given.about}
    named = [name for name in columns.values() if name is not None]
    if columns.get("query") is None or columns.get("target") is None or len({*named}) < len(named):
        raise ValueError(
            f"columns: expected those of the queries, the targets and others, all different, got {columns}"
        )
    return columns


__all__ = ["check_encoder", "columns_of", "seen_pairs"]
