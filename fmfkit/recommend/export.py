"""Vectors of a recommender for other systems: those of queries and targets, whose inner product gives the order.

Biases are columns of the vectors, beside a 1 on the other side: a score is the offset and the inner product of two, so
that a search for the largest inner product finds what ``recommend`` recommends, in its order.
"""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, get_args

import numpy as np
import polars as pl

from fmfkit.errors import WriteError
from fmfkit.files import replacing
from fmfkit.typing import Reals, SideName

if TYPE_CHECKING:
    from fmfkit.recommend.recommender import Recommender

Form = Literal["parquet", "npy", "usearch", "faiss"]
"""What vectors can be written as."""
FORMS: tuple[Form, ...] = get_args(Form)


def vectors(of: Recommender, side: SideName) -> Reals:
    """Return the vectors of one side, a row for each instance."""
    return of.model.embedded(side)[:, : of.model.rank + sum(of.model.biases)]


def export(of: Recommender, folder: str | os.PathLike[str], to: Form) -> list[Path]:
    """Write the vectors of both sides, and what they stand for, to a folder; return the files. See docs/serving.md."""
    if to not in FORMS:
        raise ValueError(f"to: expected one of {list(FORMS)}, got {to!r}")
    index = _index(to)
    place = Path(folder)
    if place.exists() and not place.is_dir():
        raise WriteError(f"{folder}: it is no folder; export writes several files")
    place.mkdir(parents=True, exist_ok=True)
    written = []

    def put(name: str, write: Callable[[BinaryIO], Any]) -> None:
        with replacing(place / name) as file:
            write(file)
        written.append(place / name)

    for name, vector, encoder in (
        ("queries", vectors(of, "query"), of.encoder.queries),
        ("targets", vectors(of, "target"), of.encoder.targets),
    ):
        found = np.ascontiguousarray(vector, np.float32)
        ids = pl.DataFrame([encoder.ids.column(np.arange(len(encoder.ids))), encoder.labels.alias("label")])
        if to == "parquet":
            frame = ids.with_columns(vector=pl.Series(found, dtype=pl.Array(pl.Float32, found.shape[1])))
            put(f"{name}.parquet", frame.write_parquet)
            continue
        put(f"{name}.csv", ids.write_csv)
        put(f"{name}.npy", functools.partial(_write_array, found))
        if index is not None and name == "targets":
            put(f"targets.{to}", functools.partial(_write, index(found)))
    about = {"offset": of.model.offset, "rank": of.model.rank, "biases": of.model.biases, "metric": "inner product"}
    put("about.json", functools.partial(_write, json.dumps(about).encode()))
    return written


def _write(content: bytes, file: BinaryIO) -> None:
    file.write(content)


def _write_array(array: Reals, file: BinaryIO) -> None:
    np.save(file, array)


def _index(to: Form) -> Callable[[Reals], bytes] | None:
    """Return what makes an index of vectors, as bytes; refuse what is not installed."""
    if to in ("parquet", "npy"):
        return None
    try:
        return _usearch() if to == "usearch" else _faiss()
    except ImportError:
        raise ModuleNotFoundError(f"{to} is not installed: python -m pip install fmfkit[{to}]") from None


def _usearch() -> Callable[[Reals], bytes]:
    from usearch.index import Index

    def made(found: Reals) -> bytes:
        index = Index(ndim=found.shape[1], metric="ip", dtype="f32")
        index.add(np.arange(len(found), dtype=np.uint64), found)
        return bytes(index.save() or b"")

    return made


def _faiss() -> Callable[[Reals], bytes]:
    import faiss

    def made(found: Reals) -> bytes:
        index = faiss.IndexFlatIP(found.shape[1])
        index.add(found)
        return bytes(faiss.serialize_index(index))

    return made


__all__ = ["FORMS", "Form", "export", "vectors"]
