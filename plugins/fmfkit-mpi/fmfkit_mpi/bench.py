"""``fmfkit mpi_bench``: seconds a round, bytes and communication by ranks, on data of which each makes its part."""

from __future__ import annotations

import json
import statistics
from typing import Any

import attrs
import click
import numpy as np
import scipy.sparse as sp
from fmfkit_mpi.group import SHARDS, Group, GroupSums
from fmfkit_mpi.solver import Sharded
from numpy.typing import NDArray

from fmfkit import Objective, Observations, Penalty, Problem, State, fit
from fmfkit.regularizers import ElasticNet

PANEL = 8
LOTS = 2**22
"""From which targets are drawn, as often as they are popular."""
QUERIES = 5000
"""Whose pairs are drawn at a time, to limit memory."""


@attrs.frozen
class Shape:
    """How large data is, and which features it has."""

    queries: int
    targets: int
    pairs: int
    indicator: bool = True
    history: bool = False
    words: tuple[tuple[int, int], ...] = ()
    """Blocks of queries' features: how many there are, and how many a query has."""
    groups: tuple[tuple[int, int], ...] = ()
    """Blocks of targets' features, likewise."""
    loss: str = "square"

    def scaled(self, scale: float) -> Shape:
        """Return a part of it, as fmfkit-bench makes one."""
        fewer = scale**0.5
        words = tuple((max(round(count * fewer), 2) if count > 5000 else count, each) for count, each in self.words)
        return attrs.evolve(
            self,
            queries=max(round(self.queries * scale), 2),
            targets=max(round(self.targets * fewer), 2),
            pairs=max(round(self.pairs * scale), 2),
            words=words,
        )

    @property
    def shared(self) -> int:
        """The number of features that queries share."""
        return self.history * self.targets + sum(count for count, _ in self.words)

    @property
    def entries(self) -> float:
        """The number of values of these features."""
        return self.history * self.pairs + self.queries * sum(each for _, each in self.words)

    def bytes_a_round(self, rank: int, ranks: int, size: int = 4) -> float:
        """Return what a rank sends in a round by the formula, for numbers of so many bytes."""
        panels = -(-rank // PANEL)
        numbers = panels * (24 * self.shared + 48 * self.targets) + 24 * self.shared + 2 * self.targets
        return 2 * (ranks - 1) / ranks * size * numbers


SHAPES = {
    "ml10m": Shape(69_878, 10_677, 9_000_000, history=True),
    "yahoo": Shape(1_000_000, 600_000, 250_000_000, history=True, groups=((75_000, 1), (20_000, 1))),
    "weibo": Shape(2_000_000, 5_000, 93_000_000, words=((100_000, 24), (120, 3)), groups=((400, 15),), loss="logistic"),
    "flickr": Shape(650_000, 20_000, 39_000_000, indicator=False, words=((2_000, 694),), loss="logistic"),
}
"""The paper's data by its sizes."""
LARGE = {"1B x 10M": Shape(1_000_000_000, 10_000_000, 100_000_000_000, history=True)}
"""What is only computed, not run: 100 pairs for each of a thousand million queries."""


def _bag(rng: np.random.Generator, rows: int, count: int, each: int) -> sp.csr_array:
    """Return rows with about so many features each, value 1."""
    draws = round(-count * np.log1p(-each / count)) if 2 * each < count else count  # some come again
    ptr = np.arange(rows + 1, dtype=np.int64) * draws
    index = rng.integers(0, count, ptr[-1], dtype=np.int32)
    found = sp.csr_array((np.ones(len(index), np.float32), index, ptr), shape=(rows, count))
    found.sum_duplicates()
    found.data[:] = 1
    return found


def _pairs(rng: np.random.Generator, shape: Shape, queries: int, count: int) -> sp.csr_array:
    """Return about so many pairs, of which some queries and some targets have far more than others."""
    popular = np.random.default_rng(1).lognormal(0, 1.6, shape.targets)
    lots = np.searchsorted(np.cumsum(popular) / popular.sum(), (np.arange(LOTS) + 0.5) / LOTS).astype(np.int32)
    activity = rng.lognormal(0, 1.4, queries)
    for _ in range(5):  # no query takes more than half of the targets; the others make up for it
        activity = np.minimum(activity / activity.sum() * count, shape.targets / 2)
    wanted = np.maximum(np.round(activity), 1).astype(np.int64)
    drawn = [
        _some_pairs(rng, wanted[begin : begin + QUERIES], shape.targets, lots) for begin in range(0, queries, QUERIES)
    ]
    sizes, target = (np.concatenate(parts) for parts in zip(*drawn, strict=True))
    ptr = np.concatenate([[0], np.cumsum(sizes)])
    found = sp.csr_array((np.empty(len(target), np.float32), target, ptr), shape=(queries, shape.targets))
    found.data[:] = rng.integers(0, 2, found.nnz) if shape.loss == "logistic" else rng.integers(1, 6, found.nnz)
    return found


def _some_pairs(
    rng: np.random.Generator, wanted: NDArray[np.int64], targets: int, lots: NDArray[np.int32]
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return about as many different targets as wanted for each of some queries, and how many each has."""
    draws = np.ceil(wanted * (1.5 + 12 * wanted / targets)).astype(np.int64) + 2  # some come again
    row = np.repeat(np.arange(len(wanted)), draws)
    key = row * targets + lots[rng.integers(0, len(lots), len(row), np.int32)]
    key.sort()
    row, target = np.divmod(key[np.diff(key, prepend=-1) > 0], targets)
    found = np.bincount(row, minlength=len(wanted))
    kept = rng.random(len(row)) * found[row] < wanted[row]
    return np.bincount(row[kept], minlength=len(wanted)), target[kept].astype(np.int32)


def _shard(shape: Shape, number: int, shards: int) -> tuple[sp.csr_array, dict[str, sp.csr_array]]:
    """Return the pairs and the shared features of a shard, which depend on its number alone."""
    rng = np.random.default_rng([2, number])
    queries = shape.queries * (number + 1) // shards - shape.queries * number // shards
    Y = _pairs(rng, shape, queries, shape.pairs // shards)
    blocks = {f"words{n}": _bag(rng, queries, *words) for n, words in enumerate(shape.words)}
    if shape.history:
        sizes = np.diff(Y.indptr)
        value = np.repeat(1 / np.sqrt(np.maximum(sizes, 1)), sizes).astype(np.float32)
        blocks["history"] = sp.csr_array((value, Y.indices, Y.indptr), shape=Y.shape)
    return Y, blocks


def problem_of(group: Group, shape: Shape, rank: int, *, divided: bool = True) -> Problem:
    """Return the problem of the shards that are here."""
    parts = [_shard(shape, number, group.shards) for number in group.mine]
    cuts = np.cumsum([0, *(Y.shape[0] for Y, _ in parts)])
    Y = sp.vstack([Y for Y, _ in parts], format="csr")
    X = {name: sp.vstack([blocks[name] for _, blocks in parts], format="csr") for name in parts[0][1]}
    del parts
    if shape.indicator:
        X = {"indicator": sp.eye_array(Y.shape[0], dtype=np.float32, format="csr"), **X}
    rng = np.random.default_rng(3)
    Z = {"indicator": sp.eye_array(shape.targets, dtype=np.float32, format="csr")}
    Z |= {f"groups{n}": _bag(rng, shape.targets, *groups) for n, groups in enumerate(shape.groups)}
    row = np.repeat(np.arange(Y.shape[0], dtype=np.int32), np.diff(Y.indptr))
    division = group.division(cuts) if divided else None
    data = Observations.from_coo(row, Y.indices, Y.data, shape=Y.shape, X=X, Z=Z, division=division)
    return Problem(data, Objective(rank=rank, loss=shape.loss, penalty=Penalty(ElasticNet(l2=0.1))))


@attrs.frozen(kw_only=True)
class Measured:
    """What was measured of a fit."""

    shape: str
    ranks: int
    threads: int
    seconds: float
    """A round; the median of all but the first, if there are several."""
    communication: float
    """Seconds of it that sums between ranks took, waiting for others included."""
    sent: float
    """Bytes that rank 0 sent in a round."""
    formula: float
    gigabytes: float
    """The sum of the memory that each rank had at its highest, since it began."""
    objective: float


def _peak() -> float:
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9


def measure(group: Group, name: str, shape: Shape, *, rank: int, rounds: int, threads: int, ordinary: bool) -> Measured:
    """Train for some rounds, and say what they took."""
    problem = problem_of(group, shape, rank, divided=not ordinary)
    division = problem.observations.division
    sums: Any = None if division is None else division.sums
    marks: list[NDArray[np.float64]] = []

    def mark(event: Any) -> None:
        traffic = sums.traffic if isinstance(sums, GroupSums) else None
        found = (0.0, 0.0) if traffic is None else (float(traffic.sent), traffic.seconds)
        marks.append(np.array([event.record.seconds, *found]))

    begin = State.initial(problem, seed=0)
    solver = "panel" if ordinary else Sharded(shards=group.shards)
    model = fit(problem, solver=solver, rounds=rounds, threads=threads, init=begin, callbacks=mark)
    seconds = [one[0] for one in marks[2:]] or [marks[1][0]]
    last = marks[-1] - marks[-2]
    return Measured(
        shape=name,
        ranks=group.size,
        threads=threads,
        seconds=statistics.median(seconds),
        communication=float(last[2]),
        sent=float(last[1]),
        formula=shape.bytes_a_round(rank, group.size),
        gigabytes=sum(group.each(_peak())),
        objective=model.history[-1].objective,
    )


def model_table(rank: int, machine: float, gigabits: float, latency: float) -> list[list[Any]]:
    """Return seconds a round by the model: for each shape and number of machines, those of arithmetic and of sums.

    ``machine`` is how many pairs and values of features a machine takes in a second and panel, both sides together.
    """
    rows = []
    for name, shape in {**SHAPES, **LARGE}.items():
        work = (shape.pairs + shape.entries) * -(-rank // PANEL) / machine
        for ranks in (1, 2, 4, 8, 16, 32, 100, 1000):
            sent = shape.bytes_a_round(rank, ranks)
            sums = 0.0 if ranks == 1 else sent * 8 / (gigabits * 1e9) + 370 * latency
            rows.append([name, ranks, work / ranks, sent / 1e9, sums, work / ranks + sums])
    return rows


@click.command()
@click.option("--shape", default="ml10m", show_default=True, type=click.Choice(list(SHAPES)), help="Sizes of the data.")
@click.option("--scale", default=0.1, show_default=True, type=click.FloatRange(0, 1, min_open=True), help="Part of it.")
@click.option("--rank", default=64, show_default=True, type=click.IntRange(1), help="Latent dimensions.")
@click.option("--rounds", default=4, show_default=True, type=click.IntRange(1), help="Rounds.")
@click.option("--threads", default=1, show_default=True, type=click.IntRange(1), help="Threads of each rank.")
@click.option("--shards", default=SHARDS, show_default=True, type=click.IntRange(1), help="Shards.")
@click.option("--ordinary", is_flag=True, help="Time the ordinary fit on the same data, in one process, instead.")
@click.option("--model", is_flag=True, help="Show what the model says of more machines; nothing is run.")
@click.option("--machine", default=1e9, show_default=True, help="For --model: pairs and values of features that a "
              "machine takes in a second and panel.")  # fmt: skip
@click.option("--gigabits", default=10.0, show_default=True, help="For --model: what a network sends in a second.")
@click.option("--latency", default=5e-5, show_default=True, help="For --model: seconds, one way.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    shape: str, scale: float, model: bool, machine: float, gigabits: float, latency: float, as_json: bool, **given: Any
) -> None:
    """Time rounds on the ranks that a launcher started, and compare what they send with the formula."""
    if model:
        click.echo(f"{machine:g} a second, panel and machine; {gigabits:g} Gbit/s; latency {latency:g} s")
        click.echo(f"{'data':10}{'machines':>9}{'arithmetic':>12}{'GB sent':>10}{'sums':>10}{'s/round':>10}")
        for name, ranks, work, sent, sums, total in model_table(given["rank"], machine, gigabits, latency):
            click.echo(f"{name:10}{ranks:9}{work:12.3f}{sent:10.3f}{sums:10.3f}{total:10.3f}")
        return
    with Group(given.pop("shards")) as group:
        if given["ordinary"] and group.size > 1:
            raise ValueError("--ordinary: one process has all of an ordinary fit; run it without a launcher")
        found = measure(group, shape, SHAPES[shape].scaled(scale), **given)
        if group.rank == 0 and as_json:
            click.echo(json.dumps(attrs.asdict(found)))
        elif group.rank == 0:
            off = f"{found.sent / found.formula - 1:+.2%}" if found.formula else "none"
            click.echo(
                f"{shape} x {scale:g}, {found.ranks} ranks x {found.threads} threads: {found.seconds:.3f} s/round, "
                f"{found.communication:.3f} of it sums; {found.sent / 1e6:.3f} MB sent a round, by the formula "
                f"{found.formula / 1e6:.3f} ({off}); {found.gigabytes:.2f} GB of memory"
            )


__all__ = ["SHAPES", "Measured", "Shape", "command", "measure", "model_table", "problem_of"]
