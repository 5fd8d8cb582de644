"""The seeds: small models of every kind, as files, made by code."""

from __future__ import annotations

import atexit
import datetime
import functools
import shutil
import tempfile
import uuid
from pathlib import Path

import numpy as np
from bookshop import BOOKS, PAIRS
from problems import Case

from fmfkit import FMF, Dataset, LearntPenalty, Model, fit, solvers
from fmfkit.data import Categorical, Neighbours, Numeric, Precomputed, SideTable, Tags, Taxonomy, Text
from fmfkit.recommend.recommender import Recommender

LINKS = {"user": ["ann", "bob", "eve"], "friend": ["bob", "eve", "ann"]}


@functools.cache
def folder() -> Path:
    """A folder of this process, for files that are tried; it goes with the process."""
    made = Path(tempfile.mkdtemp(prefix="fmfkit-fuzz-"))
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return made


@functools.cache
def model_files() -> dict[str, bytes]:
    """Models by row numbers, and recommenders, as the bytes of their files."""
    made: dict[str, Model | Recommender] = {**_models(), **_recommenders()}
    content = {}
    for name, model in made.items():
        model.save(folder() / name)
        content[name] = (folder() / name).read_bytes()
    return content


def _models() -> dict[str, Model]:
    learnt = LearntPenalty(rounds=1)
    return {
        "plain": fit(Case(queries=9, targets=7, pairs=30).build(), rounds=1, threads=1),
        "even": fit(Case(even=True, dtype="float32", loss="logistic").build(), rounds=1, threads=1),
        "learnt": fit(Case(dtype="float32").build(penalty=learnt), rounds=2, threads=1),
        "sampled": fit(
            Case().build(penalty=learnt), solver=solvers.Gibbs(samples=2, burn_in=1, keep=1), rounds=3, threads=1
        ),
    }


def _recommenders() -> dict[str, Recommender]:
    described = Dataset.of(
        PAIRS,
        queries=SideTable(blocks=[Neighbours(LINKS), Precomputed(np.eye(2), ids=["ann", "bob"], name="taste")]),
        targets=SideTable(
            BOOKS,
            blocks=[
                Tags("genres"),
                Numeric("year", bins=2),
                Numeric("year", name="age"),
                Text("title"),
                Taxonomy(["author", "country"]),
                Categorical("country", name="land"),
            ],
        ),
        history=True,
    )
    days = [datetime.date(2020, 1, day) for day in (1, 2, 3)]
    objects = Dataset.of({"user": [uuid.UUID(int=n) for n in (1, 2, 1)], "item": days, "rating": [1.0, 2.0, 4.0]})
    clicks = Dataset.of({"user": [(1, "a"), (2, "b"), (1, "a")], "item": [True, False, False]})
    return {
        "described": FMF(rank=2, rounds=2, threads=1, data="ratings").fit(described),
        "validated": FMF(rank=2, rounds=2, threads=1, data="ratings", l2=0.1).fit(described, validate=0.3),
        "objects": FMF(rank=1, rounds=1, threads=1).fit(objects),
        "clicks": FMF(rank=1, rounds=1, threads=1, l2=0.1).fit(clicks),
    }


__all__ = ["folder", "model_files"]
