"""The doors of data: files of tables, frames of any columns, ids of any kind."""

from __future__ import annotations

import datetime
import decimal
import functools
import io
import os
import uuid
from typing import Any

import numpy as np
import polars as pl
import scipy.sparse as sp
from bookshop import PAIRS

from fmfkit import FMF, Dataset, load_data
from fmfkit.data import Categorical, Numeric, SideTable, Tags, Taxonomy, Text
from fmfkit.recommend.recommender import Recommender
from fuzzing.choices import REAL, TEXT, WHOLE, Choices
from fuzzing.corpus import folder, model_files
from fuzzing.law import finite, finite_scores

LINES = ["user,item,rating,weight,time", "a,1,3.5,1,10", "b,2,1,2,20", "a,2,4,1,30", "ü,1,2,0,40", '"x,y",3,5,1,50']
CELLS = [*TEXT, *map(str, WHOLE), *map(str, REAL), '"', "2020-01-01", " ", "1,5", "a;b", "\ufeff", "\r"]


def table_files(choices: Choices) -> None:
    """Train on a table in a file that was written by hand, or (but for Parquet) whose bytes were changed."""
    ending = choices.pick([".csv", ".csv", ".tsv", ".parquet", ".arrow", ".csv.gz", ".feather"])
    content = bytearray(_csv(choices) if ending in (".csv", ".tsv") else _binary(ending))
    for _ in range(0 if ending == ".parquet" else choices.below(4)):  # changed ones make polars abort
        place = choices.below(max(len(content), 1))
        content[place : place + choices.below(4)] = bytes(choices.below(256) for _ in range(choices.below(4)))
    path = folder() / f"table-{os.getpid()}{ending}"
    path.write_bytes(content)
    _train(choices, Dataset.of(path, **_named(choices)))


def _csv(choices: Choices) -> bytes:
    rows = [line.split(",") for line in LINES]
    for _ in range(choices.below(6)):
        row = rows[choices.below(len(rows))]
        kind = choices.below(4)
        if kind == 0:
            row.append(choices.pick(CELLS))
        elif kind == 1 and row:
            row.pop()
        elif row:
            row[choices.below(len(row))] = choices.pick(CELLS)
    if choices.chance(4):
        rows = rows[1:]  # no header
    if choices.chance(4):
        rows *= 5  # so that some bad rows are few
    separator = choices.pick([",", ",", ";", "\t", "|"])
    text = choices.pick(["\n", "\r\n", "\n\n"]).join(separator.join(row) for row in rows)
    if choices.chance(4):
        return text.encode(choices.pick(["utf-8-sig", "utf-16", "latin-1", "cp1252"]), "replace")
    return text.encode("utf-8", "surrogatepass")


@functools.cache
def _binary(ending: str) -> bytes:
    stream, frame = io.BytesIO(), pl.DataFrame(PAIRS)
    if ending == ".parquet":
        frame.write_parquet(stream, compression="uncompressed")
    elif ending == ".csv.gz":
        import gzip

        return gzip.compress(frame.write_csv().encode())
    else:
        frame.write_ipc(stream)
    return stream.getvalue()


def _named(choices: Choices) -> dict[str, Any]:
    """Return names of columns, right and wrong, and other options."""
    names = [None, None, None, "user", "item", "rating", "weight", "time", "nowhere"]
    given = {role: choices.pick(names) for role in ("query", "target", "rating", "weight", "time") if choices.chance(8)}
    if choices.chance(2):
        given["duplicates"] = choices.pick(["auto", "last", "last", "mean", "count", "error", "never"])
    if choices.chance(3):
        given["bad_rows"] = choices.pick(["error", "skip", "skip", "drop"])
    return given | ({"history": True} if choices.chance(4) else {})


KINDS = {
    "whole": lambda c: c.pick([*range(6), *WHOLE]),
    "few": lambda c: c.below(3),
    "real": lambda c: c.pick([*REAL, 1.5, 2.0, 3.0]),
    "text": lambda c: c.pick(TEXT).encode("utf-8", "replace").decode(),
    "raw": lambda c: c.pick(TEXT),
    "flag": lambda c: c.chance(2),
    "none": lambda c: None,
    "date": lambda c: datetime.date(2020, 1, 1 + c.below(9)),
    "datetime": lambda c: datetime.datetime(2020, 1, 1 + c.below(9)),
    "timedelta": lambda c: datetime.timedelta(c.below(9)),
    "bytes": lambda c: c.pick([b"", b"a", b"\xff"]),
    "uuid": lambda c: uuid.UUID(int=c.below(5)),
    "decimal": lambda c: decimal.Decimal(c.below(9)) / 2,
    "tuple": lambda c: tuple(c.below(3) for _ in range(c.below(3))),
    "list": lambda c: [c.pick(["a", "b", "c"]) for _ in range(c.below(3))],
    "nested": lambda c: [[c.below(3)] for _ in range(c.below(3))],
    "set": lambda c: {c.below(3) for _ in range(c.below(3))},
    "frozenset": lambda c: frozenset(c.below(3) for _ in range(c.below(3))),
    "dict": lambda c: {"a": c.below(3)},
    "object": lambda c: object(),
    "complex": lambda c: complex(c.below(3), 1),
    "any": lambda c: c.value(),
}
"""Kinds of columns, and how a value of each is made."""


def _column(choices: Choices, rows: int, usual: str) -> Any:
    kind = usual if not choices.chance(8) else choices.pick(list(KINDS))
    values = [None if choices.chance(40) else KINDS[kind](choices) for _ in range(rows)]
    form = choices.below(16)
    if form == 0 and kind in ("whole", "few", "real", "flag"):
        try:
            return np.array(values, choices.pick(["float32", "float64", "int8", "int64", "uint64", "object", "bool"]))
        except (OverflowError, TypeError, ValueError):
            return values
    if form == 1:
        return values[: choices.below(rows + 1)]
    return values


def frames(choices: Choices) -> None:
    """Train on columns of any kind, described by tables with columns of any kind."""
    rows = 1 + choices.below(12)
    pairs = {"user": _column(choices, rows, "few"), "item": _column(choices, rows, "few")}
    pairs |= {"rating": _column(choices, rows, "few")} if choices.chance(2) else {}
    pairs |= {"weight": _column(choices, rows, "few")} if choices.chance(4) else {}
    options = _named(choices)
    for side, key in (("queries", "user"), ("targets", "item")):
        if choices.chance(2):
            options[side] = _side(choices, key)
    _train(choices, Dataset.of(_form(choices, pairs), **options))


def _form(choices: Choices, pairs: dict[str, Any]) -> Any:
    """Return pairs as columns, as tuples, as an array, or others as a sparse matrix."""
    form = choices.below(8)
    if form == 0:
        return list(zip(*pairs.values(), strict=False))
    if form == 1:
        return [list(row) for row in zip(*pairs.values(), strict=False)][: choices.below(20)]
    if form == 2:
        return np.array([[choices.pick([*range(4), *REAL]) for _ in range(choices.below(5))]] * choices.below(4))
    if form == 3:
        shape = choices.below(4), choices.below(4)
        dense = [choices.pick([0, 0, 1, 2, *REAL]) for _ in range(shape[0] * shape[1])]
        return sp.csr_array(np.reshape(np.array(dense, float), shape))
    return pairs


def feature_files(choices: Choices) -> None:
    """Train on a file of libsvm, of SVDFeature or of MovieLens in which fields were changed."""
    name, lines, separator = choices.pick(
        [
            ("libsvm", ["5 0:1 3:1", "3 1:1 3:1", "1 2:1 4:1"], " "),
            ("libsvm:queries=2", ["5 0:1 3:0.5", "3 1:1 3:1", "1 0:1 4:1"], " "),
            ("svdfeature", ["5 0 2 1 0:1 9:0.5 7:1", "3 0 2 1 0:1 9:0.5 2:1", "1 0 2 1 1:1 9:1 7:1"], " "),
            ("movielens", ["1::10::5::100", "2::20::3::200", "1::20::4::300"], "::"),
        ]
    )
    rows = [line.split(separator) for line in lines]
    for _ in range(choices.below(5)):
        row = choices.pick(rows)
        cell = choices.pick([*CELLS, "0:1", "9:nan", "-1:2", "99999999999:1", "1:1e400", ":", "1:", ":1", "#", "1:2:3"])
        row[choices.below(len(row))] = cell
    place = folder() / f"features-{os.getpid()}"
    place.mkdir(exist_ok=True)
    path = place / "ratings.dat"
    path.write_bytes("\n".join(map(separator.join, rows)).encode("utf-8", "replace"))
    (place / "movies.dat").write_text("10::A::Action\n20::B::Western\n")
    _train(choices, load_data(place if name == "movielens" else path, name))


def _side(choices: Choices, key: str) -> Any:
    rows = 1 + choices.below(6)
    table = {key: list(range(rows)) if choices.chance(2) else _column(choices, rows, "few")}
    table |= {name: _column(choices, rows, choices.pick(list(KINDS))) for name in ("x", "name") if choices.chance(2)}
    if choices.chance(2):
        return table
    block = choices.pick(
        [Tags, Categorical, Text, Numeric, lambda name: Taxonomy([name]), lambda name: Numeric(name, 3)]
    )
    return SideTable(table, blocks=[block(choices.pick(["x", "name", key, "nowhere"]))], indicator=choices.chance(2))


def _train(choices: Choices, data: Dataset) -> None:
    loss = choices.pick(["square", "square", "logistic"])
    settings = FMF(rank=1 + choices.below(3), rounds=2, threads=1, loss=loss, l2=choices.pick(["auto", 0.0, 0.1]))
    made = settings.fit(data, validate=choices.pick([None, None, 0.5]))
    for W in (made.model.P, made.model.Q):
        finite("parameters", W)
    finite_scores(made.recommend(k=2))
    str(data.report())
    if choices.chance(4):
        path = folder() / f"trained-{os.getpid()}"
        made.save(path)
        again = Recommender.load(path, threads=1)
        assert again.recommend(k=2).equals(made.recommend(k=2))


@functools.cache
def _trained(name: str) -> Recommender:
    assert name in model_files()
    return Recommender.load(folder() / name, threads=1)


def ids(choices: Choices) -> None:
    """Ask for ids of any kind."""
    made = _trained(choices.pick(["described", "objects", "clicks"]))
    given = _ids(choices)
    kind = choices.below(8)
    if kind == 0:
        asked = {"targets": _ids(choices), "exclude": _ids(choices), "where": choices.plain(), "unknown": "skip"}
        some = {name: value for name, value in asked.items() if choices.chance(2)}
        finite_scores(made.recommend(given, choices.pick([1, 2, 10**6, 0, -1, 2**40, 1.5, "2", None]), **some))
    elif kind == 1:
        finite("predictions", made.predict(given, _ids(choices), unknown=choices.pick(["error", "features"])))
    elif kind == 2:
        finite_scores(made.similar(given))
    elif kind == 3:
        str(made.explain(given, _ids(choices)))
    elif kind == 4:
        text = [str(choices.pick([*TEXT, *WHOLE])) for _ in range(choices.below(3))]
        finite_scores(made.recommend(made.parse_queries(text) or None, 2))
    elif kind == 5:
        finite_scores(made.recommend_new(_columns(choices), 2, pairs=_columns(choices) if choices.chance(2) else None))
    elif kind == 6:
        made.predict_table(_columns(choices), interval=choices.pick([None, 0.5]))
    else:
        made.evaluate(made.pairs(_columns(choices)), choices.pick([None, "rmse", "ndcg@2", "nothing", "ndcg@0"]))


def _columns(choices: Choices) -> dict[str, Any]:
    rows = 1 + choices.below(4)
    known = {"user": ["ann", "bob", "eve", "ann"], "book": [3, 5, 7, 9], "rating": [1.0, 2.0, 3.0, 4.0]}
    names = ["user", "book", "rating", "x"]
    return {
        name: known[name][:rows] if name in known and not choices.chance(3) else _column(choices, rows, "few")
        for name in names
        if not choices.chance(4)
    }


def _ids(choices: Choices) -> Any:
    known = ["ann", "bob", 3, 5, uuid.UUID(int=1), (1, "a"), datetime.date(2020, 1, 1), True]
    one = choices.pick(known) if choices.chance(2) else KINDS[choices.pick(list(KINDS))](choices)
    form = choices.below(5)
    if form == 0:
        return one
    if form == 1:
        try:
            return np.array([one])
        except ValueError:
            return [one]
    return [one] * choices.below(4)


__all__ = ["feature_files", "frames", "ids", "table_files"]
