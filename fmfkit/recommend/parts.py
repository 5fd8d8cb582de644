"""What a file holds of a recommender beside its model, checked as it is read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from fmfkit.data.encoder import Encoder, SideEncoder
from fmfkit.data.sides import HISTORY
from fmfkit.interfaces import Loss
from fmfkit.model import file
from fmfkit.model.model import Model
from fmfkit.recommend.attributes import attribute_parts, attributes_of
from fmfkit.recommend.blocks import restored_class
from fmfkit.recommend.settings import Settings
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


def recommender_section(of: Any) -> file.Section:
    """Return what a file holds of a Recommender beside its model and its sides."""
    attributes, columns = attribute_parts(of.attributes)
    about = {
        "history": of.encoder.history,
        "validation": list(of.validation),
        "metric": of.metric,
        "columns": dict(of.columns),
        "settings": of.settings.to_json(),
        "attributes": attributes,
    }
    arrays: dict[str, NDArray[Any]] = {
        "seen.ptr": of.seen.indptr.astype(np.int64),
        "seen.index": of.seen.indices.astype(np.int32, copy=False),
        "seen.y": of.seen.data.astype(np.float32, copy=False),
    }
    if of.weight is not None:
        arrays["seen.weight"] = of.weight
    return file.Section(about, arrays | columns)


def recommender_fields(
    sections: Mapping[str, file.Section], path: Any, loss: Loss | None, threads: int | None
) -> dict[str, Any]:
    """Return the fields of the Recommender that a file holds, checked."""
    section = file.section_of(sections, "recommender")
    model = Model.of_section(file.section_of(sections, "model"), path, loss=loss, threads=threads)
    queries, targets = (
        SideEncoder.from_section(
            file.section_of(sections, name), lambda kind, about: restored_class(kind, about, str(path))
        )
        for name in ("queries", "targets")
    )
    encoder = Encoder(queries, targets, section.flag("history"))
    check_encoder(encoder, model)
    remembered = {name: v for name, v in section.part("settings").about.items() if name != "loss"}
    settings, lost = Settings.from_json(remembered, str(path))
    seen, weight = seen_pairs(section, (model.X.rows, model.Z.rows))
    return {
        "model": model,
        "encoder": encoder,
        "seen": seen,
        "weight": weight,
        "validation": tuple(
            file.Section({"validation": value}, {}).number("validation") for value in section.items("validation")
        ),
        "metric": section.text_or_none("metric"),
        "columns": columns_of(section.part("columns")),
        "settings": settings.replace(loss=model.loss),
        "lost": lost,
        "attributes": attributes_of(section, model.Z.rows),
    }


__all__ = ["recommender_fields", "recommender_section"]
