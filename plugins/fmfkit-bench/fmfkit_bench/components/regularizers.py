"""``fmfkit bench regularizers``: what a regularizer costs, beside the built-in one."""

from __future__ import annotations

from collections.abc import Callable

import attrs
import click
from fmfkit_bench import core, options
from fmfkit_bench.components import rounds
from fmfkit_bench.data import shapes
from fmfkit_bench.data.shapes import Shape
from fmfkit_bench.results.report import Report
from fmfkit_bench.results.sections import Section

from fmfkit import Penalty, get_registry
from fmfkit.regularizers import ElasticNet

BUILT_IN, SPARSE = "elastic_net", "elastic_net with l1"
L1 = 0.01


@attrs.frozen
class Options:
    """What the user asks for."""

    regularizers: tuple[str, ...]
    shapes: tuple[str, ...]
    scale: float
    rank: int
    seed: int
    rounds: int
    threads: tuple[int, ...]
    repeats: int


@click.command("regularizers")
@click.option(
    "--regularizer",
    "regularizers",
    multiple=True,
    callback=rounds.checked("regularizer"),
    help="A regularizer by name; may be given more than once. All that plugins offer by default.",
)
@options.shapes
@options.scale(0.1)
@options.rank
@options.seed
@options.rounds(4)
@options.many_threads(1, 2)
@options.repeats(3)
@options.reported(Options, "The cost of a regularizer")
def command(given: Options, report: Report) -> None:
    """Time rounds of the default solver with regularizers by name, beside the built-in elastic net."""
    names = given.regularizers or tuple(
        name for name in get_registry().names("regularizer") if not name.startswith("builtin:")
    )
    for shape in given.shapes:
        made = shapes.generate(shape, given.scale, given.seed)
        report.add(measure(made, attrs.evolve(given, regularizers=names), report.say))


def measure(shape: Shape, given: Options, say: Callable[[str], None]) -> Section:
    """Train with each in turn, and compare the rounds' seconds."""
    plain = shape.problem(given.rank)
    penalties = {BUILT_IN: core.elastic_net(shape.strength), SPARSE: Penalty(ElasticNet(l1=L1, l2=shape.strength))}
    problems = {name: plain.replace(penalty=penalty) for name, penalty in penalties.items()}
    problems |= {n: rounds.replaced(shape, plain, n, penalty=Penalty(n)) for n in given.regularizers}
    plan = rounds.Plan(given.rounds, given.repeats, given.threads)
    return Section(
        f"regularizers-{shape.name}",
        f"Regularizers on {shape.name} at {given.scale:g} of its size",
        f"Rank {given.rank}. Ratios are to the elastic net without l1, for which the default solver moves all features "
        f"at once; with l1 = {L1:g} it moves set after set. Others have their default parameters. {rounds.ABOUT}",
        tables=[rounds.table(f"{shape.name}: the time of a round", "regularizer", plan.race(problems, say), BUILT_IN)],
    )


__all__ = ["command", "measure"]
