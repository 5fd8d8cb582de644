"""``fmfkit bench losses``: what a loss costs by the way it is written; the logistic loss in all of them."""

from __future__ import annotations

import importlib
import importlib.util
import statistics
from collections.abc import Callable

import attrs
import click
import numpy as np
from fmfkit_bench import core, options
from fmfkit_bench.components.logistic import InNumba, InNumPy
from fmfkit_bench.data import shapes
from fmfkit_bench.data.shapes import Shape
from fmfkit_bench.results.report import Report
from fmfkit_bench.results.sections import Cell, Section, Table

from fmfkit import Loss, Problem, fit

L2 = 0.05
BUILT_IN = "built in"


@attrs.frozen
class Options:
    """What the user asks for."""

    shapes: tuple[str, ...]
    scale: float
    rank: int
    seed: int
    rounds: int
    threads: tuple[int, ...]
    repeats: int


@click.command("losses")
@options.shapes
@options.scale(0.1)
@options.rank
@options.seed
@options.rounds(4)
@options.many_threads(1, 2)
@options.repeats(3)
@options.reported(Options, "The cost of a loss")
def command(given: Options, report: Report) -> None:
    """Train with the logistic loss built in, in C, compiled by numba, and in NumPy, side by side."""
    for name in given.shapes:
        report.add(measure(shapes.generate(name, given.scale, given.seed), given, report.say))


def ways(say: Callable[[str], None]) -> dict[str, Loss | str]:
    """Return the ways to write the loss that are available here."""
    found: dict[str, Loss | str] = {BUILT_IN: "logistic"}
    if importlib.util.find_spec("fmfkit_losses") is None:
        say("fmfkit-losses is not installed, so the loss in C is left out")
    else:
        found["C plugin"] = importlib.import_module("fmfkit_losses.classes").WeightedLogistic(positive=1.0)
    if importlib.util.find_spec("numba") is None:
        say("numba is not installed (python -m pip install numba), so it is left out")
    else:
        found["numba"] = InNumba()
    return found | {"NumPy": InNumPy()}


def measure(shape: Shape, given: Options, say: Callable[[str], None]) -> Section:
    """Train with each in turn, and compare the medians of the rounds' seconds."""
    problems = {way: problem(shape, given.rank, loss) for way, loss in ways(say).items()}
    seconds: dict[tuple[str, int], list[float]] = {}
    for _ in range(given.repeats):
        for team in given.threads:
            for way, made in problems.items():
                history = fit(made, rounds=given.rounds, threads=team).history[1:]
                seconds.setdefault((way, team), []).append(statistics.median(record.seconds for record in history))
                say(f"{way} on {team} threads: {seconds[way, team][-1]:.3f} s a round, {history[-1].objective:.6g}")
    medians = {key: statistics.median(times) for key, times in seconds.items()}
    rows: list[list[Cell]] = [
        [way, team, time, time / medians[BUILT_IN, team]] for (way, team), time in medians.items()
    ]
    return Section(
        f"losses-{shape.name}",
        f"Losses on {shape.name} at {given.scale:g} of its size",
        f"The logistic loss at rank {given.rank}; y is 1 for pairs above the mean. The ratio is to the built-in loss.",
        tables=[Table(f"{shape.name}: the time of a round", ["loss", "threads", "s/round", "ratio"], rows)],
    )


def problem(shape: Shape, rank: int, loss: Loss | str) -> Problem:
    """Return the shape's training pairs with a y of 0 and 1: below and above the mean."""
    y = (shape.train.y > shape.train.y.mean()).astype(np.float32)
    return core.Given(
        pairs=attrs.evolve(shape.train, y=y),
        shape=shape.size,
        X=shape.X,
        Z=shape.Z,
        loss=loss,
        penalty=core.elastic_net(L2),
        offset=0.0,
    ).problem(rank)


__all__ = ["command", "measure", "problem"]
