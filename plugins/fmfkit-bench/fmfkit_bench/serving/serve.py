"""``fmfkit bench serve``: a model that answers queries, one at a time and in batches, beside implicit."""

from __future__ import annotations

import contextlib
import statistics
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import attrs
import click
import numpy as np
import scipy.sparse as sp
from fmfkit_bench import core, options
from fmfkit_bench.data.draws import different
from fmfkit_bench.data.pairs import Pairs
from fmfkit_bench.results.report import Report
from fmfkit_bench.results.sections import Cell, Claim, Section, Table
from fmfkit_bench.serving import factors, loading
from numpy.typing import NDArray

from fmfkit import Model, Recommender

BY_ROW, ALL_TARGETS, BY_ID = "fmfkit, by row number", "fmfkit, by row number, nothing left out", "fmfkit, by id"
IMPLICIT = "implicit"
VECTOR, NEW = "its vector alone, embed_new", "its best targets, recommend_new"
WARM_UP = 3
"""Requests before the time is taken."""
Rows = NDArray[np.int32]


@attrs.frozen(kw_only=True)
class Options:
    """What the user asks for."""

    targets: int
    queries: int
    pairs: int
    rank: int
    k: int
    requests: int
    liked: int
    batch: int
    repeats: int
    threads: int | None
    seed: int


@click.command("serve")
@click.option("--targets", default=10_000, show_default=True, type=click.IntRange(10), help="Targets of the model.")
@click.option("--queries", default=100_000, show_default=True, type=click.IntRange(10), help="Queries of the model.")
@click.option(
    "--pairs", default=10_000_000, show_default=True, type=click.IntRange(1), help="Training pairs, which are left out."
)
@options.rank
@click.option("-k", default=10, show_default=True, type=click.IntRange(1), help="How many targets for each query.")
@click.option("--requests", default=200, show_default=True, type=click.IntRange(1), help="Single queries to time.")
@click.option("--liked", default=20, show_default=True, type=click.IntRange(1), help="Targets that a new query likes.")
@click.option("--batch", default=1000, show_default=True, type=click.IntRange(1), help="Queries of a batch.")
@options.repeats(5)
@options.threads
@options.seed
@options.reported(Options, "Serving")
def command(given: Options, report: Report) -> None:
    """Time single queries, known and new, batches and the loading of a model, and measure the memory of a loaded model.

    The model has random factors, so that nothing is trained. Training pairs are left out of the answers.
    """
    if given.pairs > given.queries * given.targets // 2:
        raise click.BadParameter("there may be at most half as many as queries times targets", param_hint="--pairs")
    served = Served.make(given, report.say)
    report.add(single_queries(served, given, report.say))
    report.add(new_queries(served, given, report.say))
    report.add(batches(served, given, report.say))
    report.add(loaded(served, given, report.say))


@attrs.frozen(eq=False)
class Served:
    """A model in all forms that are timed."""

    model: Model
    by_id: Recommender
    known: sp.csr_matrix
    """The training pairs."""
    ids: list[str]
    """Of the queries."""
    implicit: Any
    """None where it is not installed."""

    @classmethod
    def make(cls, given: Options, say: Callable[[str], None]) -> Served:
        """Draw factors and training pairs."""
        threads = given.threads or core.all_threads()
        shape = (given.queries, given.targets)
        model = core.untrained(shape, given.rank, given.seed, threads)
        known = factors.known(_drawn(given), shape)
        ids = [f"user-{row}" for row in range(given.queries)]
        by_id = core.with_ids(model, sp.csr_array(known), ids, [f"item-{row}" for row in range(given.targets)])
        theirs = factors.in_implicit(model, threads)
        if theirs is None:
            say(factors.INSTALL)
        return cls(model, by_id, known, ids, theirs)

    def ways(self, k: int) -> dict[str, Callable[[Rows], Any]]:
        """Return the ways to ask for the best targets of some queries."""
        found: dict[str, Callable[[Rows], Any]] = {
            BY_ROW: lambda rows: self.model.recommend(rows, k, exclude=self.known).targets,
            ALL_TARGETS: lambda rows: self.model.recommend(rows, k).targets,
            BY_ID: lambda rows: self.by_id.recommend([self.ids[row] for row in rows], k),
        }
        if self.implicit is not None:
            found[IMPLICIT] = lambda rows: factors.recommend(self.implicit, rows, self.known[rows], k)
        return found

    def surroundings(self, way: str) -> contextlib.AbstractContextManager[Any]:
        """Return what a way runs in."""
        return factors.one_blas_thread() if way == IMPLICIT else contextlib.nullcontext()


def _drawn(given: Options) -> Pairs:
    """Draw different pairs, some targets far more popular than others."""
    rng = np.random.default_rng(given.seed)
    keys = np.zeros(0, np.int64)
    while len(keys) < given.pairs:
        query = rng.integers(0, given.queries, given.pairs)
        target = (given.targets * rng.random(given.pairs) ** 1.5).astype(np.int64)
        keys = different(np.append(keys, query * given.targets + target))
    query, target = np.divmod(np.sort(rng.permutation(keys)[: given.pairs]), given.targets)
    return Pairs(query.astype(np.int32), target.astype(np.int32), np.ones(given.pairs, np.float32))


def _seconds(way: Callable[[Any], Any], asked: Iterable[Any]) -> list[float]:
    """Return how long each request takes."""
    seconds = []
    for one in asked:
        began = time.perf_counter()
        way(one)
        seconds.append(time.perf_counter() - began)
    return seconds


def single_queries(served: Served, given: Options, say: Callable[[str], None]) -> Section:
    """Ask for one query at a time."""
    rng = np.random.default_rng([given.seed, 1])
    asked = rng.integers(0, given.queries, (WARM_UP + given.requests, 1)).astype(np.int32)
    rows: list[list[Cell]] = []
    medians = {}
    for name, way in served.ways(given.k).items():
        with served.surroundings(name):
            micros = 1e6 * np.array(_seconds(way, asked)[WARM_UP:])
        medians[name] = float(np.median(micros))
        rows.append([name, medians[name], float(np.percentile(micros, 99))])
        say(f"{name}: {medians[name]:.0f} µs a query")
    return Section(
        "serve-single",
        "One query at a time",
        f"The best {given.k} of {given.targets:,} targets at rank {given.rank}; {given.pairs:,} training pairs of "
        f"{given.queries:,} queries; {given.requests} requests.",
        tables=[Table("Microseconds for one query", ["way", "median µs", "99th percentile µs"], rows)],
        claims=[*_fast(medians), *_same(served, given, asked[: min(len(asked), 100), 0])],
    )


def _fast(medians: dict[str, float]) -> list[Claim]:
    if IMPLICIT not in medians:
        return []
    found = f"fmfkit {medians[BY_ROW]:.0f} µs, implicit {medians[IMPLICIT]:.0f} µs"
    holds = medians[BY_ROW] <= medians[IMPLICIT]
    return [Claim("one query by row number takes no longer than implicit's", "random factors", holds, found)]


def _same(served: Served, given: Options, rows: Rows) -> list[Claim]:
    """Check that all ways give the same targets."""
    ways = served.ways(given.k)
    mine = ways[BY_ROW](rows)
    names = np.array([f"item-{row}" for row in mine.ravel() if row >= 0])
    by_id = np.array_equal(names, ways[BY_ID](rows)["target"].to_numpy())
    claims = [Claim("ids and row numbers give the same targets", "random factors", by_id, f"{len(rows)} queries")]
    if served.implicit is not None:
        with served.surroundings(IMPLICIT):
            same = float((mine == ways[IMPLICIT](rows)).all(axis=1).mean())
        found = f"the same list for {same:.0%} of {len(rows)} queries"
        claims.append(Claim("fmfkit and implicit give the same lists", "random factors", same > 0.95, found))
    return claims


def new_queries(served: Served, given: Options, say: Callable[[str], None]) -> Section:
    """Fold queries in that training has not seen, one at a time, by the targets they like."""
    rng = np.random.default_rng([given.seed, 3])
    liked = min(given.liked, given.targets // 2)
    asked = [
        [f"item-{row}" for row in rng.choice(given.targets, liked, replace=False)]
        for _ in range(WARM_UP + given.requests)
    ]
    ways: dict[str, Callable[[list[str]], Any]] = {
        VECTOR: lambda pairs: served.by_id.embed_new(pairs=pairs),
        NEW: lambda pairs: served.by_id.recommend_new(k=given.k, pairs=pairs),
    }
    rows: list[list[Cell]] = []
    for name, way in ways.items():
        micros = 1e6 * np.array(_seconds(way, asked)[WARM_UP:])
        rows.append([name, float(np.median(micros)), float(np.percentile(micros, 99))])
        say(f"a new query, {name}: {np.median(micros):.0f} µs")
    return Section(
        "serve-new",
        "One new query at a time",
        f"Folded in by {liked} targets it likes, in the same model; {given.requests} requests.",
        tables=[Table("Microseconds for one new query", ["answer", "median µs", "99th percentile µs"], rows)],
    )


def batches(served: Served, given: Options, say: Callable[[str], None]) -> Section:
    """Ask for many queries at once."""
    rng = np.random.default_rng([given.seed, 2])
    size = min(given.batch, given.queries)
    asked = [rng.choice(given.queries, size, replace=False).astype(np.int32) for _ in range(1 + given.repeats)]
    rows: list[list[Cell]] = []
    for name, way in served.ways(given.k).items():
        with served.surroundings(name):
            seconds = statistics.median(_seconds(way, asked)[1:])
        rows.append([name, 1e3 * seconds, 1e6 * seconds / size])
        say(f"{name}: {1e3 * seconds:.1f} ms for {size} queries")
    return Section(
        "serve-batches",
        f"Batches of {size:,} queries",
        f"The same model; medians of {given.repeats} batches.",
        tables=[Table("Time of a batch", ["way", "ms for a batch", "µs for a query"], rows)],
    )


def loaded(served: Served, given: Options, say: Callable[[str], None]) -> Section:
    """Load the model in new processes, and look at their memory."""
    rows: list[list[Cell]] = []
    with tempfile.TemporaryDirectory() as folder:
        files = {"fmfkit": loading.save(served.by_id, Path(folder))}
        if served.implicit is not None:
            files[IMPLICIT] = loading.save_implicit(served.implicit, served.known, Path(folder))
        for name, paths in files.items():
            found = [loading.measure(name, paths) for _ in range(given.repeats)]
            seconds = statistics.median(one.seconds for one in found)
            sizes = [one.bytes for one in found if one.bytes is not None]
            memory = statistics.median(sizes) / 1e6 if sizes else None
            rows.append([name, sum(path.stat().st_size for path in paths) / 1e6, seconds, memory])
            say(f"{name}: loaded in {seconds:.2f} s")
    return Section(
        "serve-loading",
        "Loading",
        "A new process loads the factors and the training pairs, and for fmfkit the ids; the memory is what the "
        f"process has after loading beyond what it had before. Medians of {given.repeats}.",
        tables=[Table("A loaded model", ["system", "MB in files", "s to load", "MB in memory"], rows)],
    )


__all__ = ["command"]
