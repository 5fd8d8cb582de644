"""``fmfkit bench losses``: what a loss costs, beside the built-in one."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable

import attrs
import click
import numpy as np
from fmfkit_bench import core, options
from fmfkit_bench.components import rounds
from fmfkit_bench.components.logistic import InNumba, InNumPy
from fmfkit_bench.data import shapes
from fmfkit_bench.data.shapes import Shape
from fmfkit_bench.results.report import Report
from fmfkit_bench.results.sections import Section

from fmfkit import Loss, Problem

L2 = 0.05
BUILT_IN = "built in"


@attrs.frozen
class Options:
    """What the user asks for."""

    losses: tuple[str, ...]
    shapes: tuple[str, ...]
    scale: float
    rank: int
    seed: int
    rounds: int
    threads: tuple[int, ...]
    repeats: int


@click.command("losses")
@click.option(
    "--loss",
    "losses",
    multiple=True,
    callback=rounds.checked("loss"),
    help="A loss by name, to be compared with the built-in one that suits the shape; may be given more than once.",
)
@options.shapes
@options.scale(0.1)
@options.rank
@options.seed
@options.rounds(4)
@options.many_threads(1, 2)
@options.repeats(3)
@options.reported(Options, "The cost of a loss")
def command(given: Options, report: Report) -> None:
    """Time rounds with losses by name; without --loss, the logistic loss built in, in C, by numba and in NumPy."""
    for name in given.shapes:
        shape = shapes.generate(name, given.scale, given.seed)
        report.add(measure(shape, given, report.say))


def measure(shape: Shape, given: Options, say: Callable[[str], None]) -> Section:
    """Train with each in turn, and compare the rounds' seconds."""
    if given.losses:
        plain = shape.problem(given.rank)
        problems = {shape.loss: plain} | {n: rounds.replaced(shape, plain, n, loss=n) for n in given.losses}
        standard, about = shape.loss, "The pairs have the shape's own y."
    else:
        problems = {way: problem(shape, given.rank, loss) for way, loss in ways(say).items()}
        standard, about = BUILT_IN, "The logistic loss; y is 1 for pairs above the mean."
    plan = rounds.Plan(given.rounds, given.repeats, given.threads)
    return Section(
        f"losses-{shape.name}",
        f"Losses on {shape.name} at {given.scale:g} of its size",
        f"Rank {given.rank}. {about} Ratios are to the loss {standard}. {rounds.ABOUT}",
        tables=[rounds.table(f"{shape.name}: the time of a round", "loss", plan.race(problems, say), standard)],
    )


def ways(say: Callable[[str], None]) -> dict[str, Loss | str]:
    """Return the ways to write the logistic loss that are available here."""
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
