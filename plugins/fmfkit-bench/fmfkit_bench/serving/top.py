"""``fmfkit bench top``: the best targets of every query, beside implicit's on the same factors."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import attrs
import click
import numpy as np
from fmfkit_bench import core, options
from fmfkit_bench.data import shapes
from fmfkit_bench.data.shapes import Shape
from fmfkit_bench.results.report import Report
from fmfkit_bench.results.sections import Cell, Claim, Section, Table
from fmfkit_bench.serving import factors
from fmfkit_bench.speed import machine

COLUMNS = ["system", "s", "extra MB", "times as long as fmfkit"]


@attrs.frozen
class Options:
    """What the user asks for."""

    shapes: tuple[str, ...]
    scale: float
    rank: int
    seed: int
    k: int
    threads: tuple[int, ...]
    repeats: int


@click.command("top")
@options.shapes
@options.scale(1.0)
@options.rank
@options.seed
@click.option("-k", default=100, show_default=True, type=click.IntRange(1), help="How many targets for each query.")
@options.many_threads()
@options.repeats(3)
@options.reported(Options, "Recommending to every query")
def command(given: Options, report: Report) -> None:
    """Recommend to every query, training pairs left out, side by side with implicit on the same factors."""
    for name in given.shapes:
        shape = shapes.generate(name, given.scale, given.seed)
        for team in given.threads or (core.all_threads(),):
            report.add(measure(shape, given, team, report.say))


@attrs.define
class Timed:
    """How long one system took, and what it answered."""

    seconds: list[float] = attrs.field(factory=list)
    extra: int | None = None
    """Memory at its peak beyond what was there before, the answer included."""
    answer: Any = None

    def run(self, way: Callable[[], Any]) -> None:
        """Do it once more."""
        machine.reset_peak()
        before = machine.peak_bytes()
        began = time.perf_counter()
        self.answer = way()
        self.seconds.append(time.perf_counter() - began)
        peak = machine.peak_bytes()
        if len(self.seconds) == 1 and before is not None and peak is not None:
            self.extra = peak - before


def measure(shape: Shape, given: Options, threads: int, say: Callable[[str], None]) -> Section:
    """Recommend to all queries, training pairs left out, in turn with implicit."""
    model = core.untrained(shape.size, given.rank, given.seed, threads)
    known, rows = factors.known(shape.train, shape.size), np.arange(shape.queries)
    theirs = factors.in_implicit(model, threads)
    ways: dict[str, Callable[[], Any]] = {"fmfkit": lambda: model.recommend(k=given.k, exclude=known).targets}
    if theirs is None:
        say(factors.INSTALL)
    else:
        ways["implicit"] = lambda: factors.recommend(theirs, rows, known, given.k)
    timed = {name: Timed() for name in ways}
    for _ in range(given.repeats):
        for name, way in ways.items():
            if name == "implicit":
                with factors.one_blas_thread():
                    timed[name].run(way)
            else:
                timed[name].run(way)
            say(f"{name}: {timed[name].seconds[-1]:.2f} s")
    return _section(shape, given, threads, timed)


def _section(shape: Shape, given: Options, threads: int, timed: dict[str, Timed]) -> Section:
    medians = {name: statistics.median(one.seconds) for name, one in timed.items()}
    rows: list[list[Cell]] = [
        [name, medians[name], None if one.extra is None else one.extra / 1e6, medians[name] / medians["fmfkit"]]
        for name, one in timed.items()
    ]
    claims = []
    if "implicit" in timed:
        same = float((timed["fmfkit"].answer == timed["implicit"].answer).all(axis=1).mean())
        found = f"the same list for {same:.2%} of the queries"
        claims.append(Claim("fmfkit and implicit give the same lists", shape.name, same > 0.99, found))
    return Section(
        f"top-{shape.name}-{threads}",
        f"{shape.name}: top {given.k} of {shape.targets:,} targets for {shape.queries:,} queries",
        f"Rank {given.rank}, {threads} threads, random factors; the training pairs are left out. Extra memory is at "
        "the peak, the answer included.",
        tables=[Table(f"{shape.name}: all queries, {threads} threads", COLUMNS, rows)],
        claims=claims,
    )


__all__ = ["command", "measure"]
