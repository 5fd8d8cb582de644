"""The best targets of every query, beside implicit's on the same factors."""

from __future__ import annotations

import importlib
import importlib.util
import statistics
import time
from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
import scipy.sparse as sp
from fmfkit_bench import machine
from fmfkit_bench.shapes import Shape
from numpy.typing import NDArray

from fmfkit import Model, Problem, State


@attrs.frozen
class Outcome:
    """Seconds and memory of one recommendation for all queries."""

    queries: int
    targets: int
    rank: int
    k: int
    threads: int
    seconds: float
    extra_bytes: int | None
    """What it needed at its peak, beyond what was there before: the answer included."""
    implicit_seconds: float | None
    implicit_extra_bytes: int | None
    agree: float | None
    """The share of queries for which both give the same targets in the same order."""


def measure(
    shape: Shape, rank: int, k: int, threads: int, repeats: int, seed: int, say: Callable[[str], None]
) -> Outcome:
    """Recommend to all queries, training pairs left out, by turns with implicit."""
    model, known = _model(shape, rank, threads, seed), _known(shape)
    theirs = _implicit(model, rank, threads)
    if theirs is None:
        say("implicit is not installed (python -m pip install implicit): left out")
    seconds: dict[str, list[float]] = {"fmfkit": [], "implicit": []}
    extra: dict[str, int | None] = {}
    answers: dict[str, Any] = {}
    rows = np.arange(shape.queries)
    ways: dict[str, Callable[[], Any]] = {"fmfkit": lambda: model.recommend(k=k, exclude=known).targets}
    if theirs is not None:
        ways["implicit"] = lambda: _recommend(theirs, rows, known, k)
    for _ in range(repeats):
        for name, way in ways.items():
            machine.reset_peak()
            before = machine.peak_bytes()
            began = time.perf_counter()
            answers[name] = way()
            seconds[name].append(time.perf_counter() - began)
            peak = machine.peak_bytes()
            extra.setdefault(name, None if before is None or peak is None else peak - before)
            say(f"{name}: {seconds[name][-1]:.2f} s")
    same = None
    if theirs is not None:
        same = float((answers["fmfkit"] == answers["implicit"]).all(axis=1).mean())
    return Outcome(
        queries=shape.queries, targets=shape.targets, rank=rank, k=k, threads=threads,
        seconds=statistics.median(seconds["fmfkit"]), extra_bytes=extra["fmfkit"],
        implicit_seconds=statistics.median(seconds["implicit"]) if theirs is not None else None,
        implicit_extra_bytes=extra.get("implicit"), agree=same,
    )  # fmt: skip


def _recommend(theirs: Any, rows: NDArray[Any], known: sp.csr_matrix, k: int) -> Any:
    """Return implicit's answer, with BLAS on one thread beside its own, as it asks for."""
    limits = importlib.import_module("threadpoolctl").threadpool_limits
    with limits(1, "blas"):
        return theirs.recommend(rows, known, N=k, filter_already_liked_items=True)[0]


def _model(shape: Shape, rank: int, threads: int, seed: int) -> Model:
    """Return a model with random factors and no biases, as implicit has none."""
    problem = Problem.from_coo(
        shape.train.query[:1], shape.train.target[:1], shape.train.score[:1], shape=(shape.queries, shape.targets),
        rank=rank, query_bias=False, target_bias=False, offset=0.0, loss=shape.loss,
    )  # fmt: skip
    return Model.of(problem, State.initial(problem, seed=seed, threads=threads, scale=1.0))


def _known(shape: Shape) -> sp.csr_matrix:
    """Return the training pairs; implicit wants scipy's older kind of matrix."""
    ones = np.ones(len(shape.train.query), np.float32)
    return sp.csr_matrix((ones, (shape.train.query, shape.train.target)), shape=(shape.queries, shape.targets))


def _implicit(model: Model, rank: int, threads: int) -> Any:
    """Return implicit's model with the same factors, if it is installed."""
    if importlib.util.find_spec("implicit") is None:
        return None
    als = importlib.import_module("implicit.cpu.als")
    with importlib.import_module("threadpoolctl").threadpool_limits(1, "blas"):
        theirs = als.AlternatingLeastSquares(factors=rank, num_threads=threads)
    theirs.user_factors = np.ascontiguousarray(model.query_embedding)
    theirs.item_factors = np.ascontiguousarray(model.target_embedding)
    return theirs


__all__ = ["Outcome", "measure"]
