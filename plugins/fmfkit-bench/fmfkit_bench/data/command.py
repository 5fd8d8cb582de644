"""``fmfkit bench data``: what the generated data is like."""

from __future__ import annotations

import attrs
import click
from fmfkit_bench import options
from fmfkit_bench.data import shapes
from fmfkit_bench.data.shapes import Shape
from fmfkit_bench.results.report import Report
from fmfkit_bench.results.sections import Cell, Claim, Section, Table
from fmfkit_bench.speed.race import Run

from fmfkit import fit


@attrs.frozen
class Options:
    """What the user asks for."""

    shapes: tuple[str, ...]
    scale: float
    rank: int
    seed: int
    rounds: int


@click.command("data")
@options.shapes
@options.scale(0.1)
@options.rank
@options.seed
@options.rounds(12)
@options.reported(Options, "Generated data")
def command(given: Options, report: Report) -> None:
    """Show what the generated data is like, and how much its features help."""
    for name in given.shapes:
        report.add(section(shapes.generate(name, given.scale, given.seed), given))


def section(shape: Shape, given: Options) -> Section:
    """Return the sizes of a shape, and the best test error with features and without."""
    best = {features: _best_error(shape, given, features=features) for features in (False, True)}
    sizes: list[Cell] = [shape.queries, shape.targets, len(shape.train), len(shape.test)]
    blocks: list[list[Cell]] = [
        [side, name, matrix.shape[1], matrix.nnz]
        for side, named in (("queries", shape.X), ("targets", shape.Z))
        for name, matrix in (named or {}).items()
    ]
    return Section(
        shape.name,
        f"{shape.name} at {given.scale:g} of its size",
        f"The best test error of {given.rounds} rounds at rank {given.rank}, with all features and with ids only. It "
        f"is the {'root mean square error' if shape.loss == 'square' else 'mean logistic loss'}.",
        tables=[
            Table("Sizes", ["queries", "targets", "training pairs", "test pairs"], [sizes]),
            Table("Feature blocks", ["side", "block", "features", "values"], blocks),
            Table(
                "Test error",
                ["model", "best test error"],
                [["ids only", best[False]], ["ids and features", best[True]]],
            ),
        ],
        claims=[
            Claim("features help", shape.name, best[True] < best[False], f"{best[True]:.5f} against {best[False]:.5f}")
        ],
    )


def _best_error(shape: Shape, given: Options, *, features: bool) -> float:
    run = Run()
    problem = shape.problem(given.rank, features=features)
    fit(problem, rounds=given.rounds, seed=given.seed, callbacks=run.watch(shape))
    return min(run.test_error)


__all__ = ["command"]
