"""``fmfkit bench paper``."""

from __future__ import annotations

from collections.abc import Callable

import attrs
import click
from fmfkit_bench import core, options
from fmfkit_bench.paper import cases, convergence, cost, features, hogwild, seeds, speedup
from fmfkit_bench.paper.cases import Case
from fmfkit_bench.paper.lab import Lab
from fmfkit_bench.results import drawing
from fmfkit_bench.results.report import Report
from fmfkit_bench.results.sections import Section

EXPERIMENTS: dict[str, Callable[[Lab], Section]] = {
    "features": features.run,
    "convergence": convergence.run,
    "seeds": seeds.run,
    "hogwild": hogwild.run,
    "speedup": speedup.run,
    "cost": cost.run,
}
TIMES = {"yahoo": 0.5, "ml10m": 4.0}
"""Of the scale: MovieLens-10M has a tenth or less of the others' pairs, and Yahoo! Music several times as many."""
SMALL = {"yahoo": 0.1, "weibo": 0.2, "flickr": 0.07, "ml10m": 0.15}
"""The smaller form of a task, as a part of it."""


@attrs.frozen(kw_only=True)
class Options:
    """What the user asks for."""

    experiments: tuple[str, ...]
    scale: float
    data: tuple[str, ...]
    shapes: tuple[str, ...]
    rank: int
    rounds: int | None
    seed: int
    threads: int | None


@click.command("paper")
@click.argument("experiments", nargs=-1, type=click.Choice(list(EXPERIMENTS)))
@options.scale(
    0.05, "Size of the generated data, as a part of the paper's; Yahoo! Music at half, MovieLens at 4 times."
)
@click.option(
    "--data",
    multiple=True,
    type=click.Path(exists=True),
    help="Real data instead: an .npz or .feature file, a table of pairs, or a MovieLens folder; may be given again.",
)
@click.option(
    "--shape", "shapes", multiple=True, type=click.Choice(list(cases.MAKERS)), help="Only these shapes; all by default."
)
@click.option("--rank", default=64, show_default=True, type=click.IntRange(4), help="Latent dimensions.")
@click.option("--rounds", type=click.IntRange(1), help="Rounds of each fit; by default 5 to 12, by data.")
@options.seed
@options.threads
@options.reported(Options, "The paper's experiments", out="fmfkit-paper")
def command(given: Options, report: Report) -> None:
    """Repeat the paper's EXPERIMENTS, all by default, and check its claims.

    features: models with features against models without. convergence: L2M and PL2M round by round. seeds: their test
    errors. hogwild: PL2M against Hogwild! and grouped SGD. speedup: threads, eta, sigma. cost: the growth of a
    round's time.
    """
    if not drawing.available():
        raise click.ClickException("figures need matplotlib: python -m pip install matplotlib, or fmfkit-bench[paper]")
    tasks, small = _tasks(given)
    threads = given.threads or core.all_threads()
    lab = Lab(tasks, small, given.rank, given.seed, threads, given.rounds, report.say)
    if given.data:  # which has the size it has
        report.command = options.command_line(click.get_current_context(), scale=None)
    for name in given.experiments or EXPERIMENTS:
        report.add(EXPERIMENTS[name](lab))
    click.echo(f"\n{report.out}/report.html")


def _tasks(given: Options) -> tuple[list[Case], list[Case]]:
    """Return the tasks, and their smaller forms."""
    if given.data:
        real = [cases.of_file(path, given.seed) for path in given.data]
        return real, real
    sizes = {name: min(1.0, given.scale * TIMES.get(name, 1.0)) for name in given.shapes or cases.MAKERS}
    tasks = [cases.generated(name, size, given.seed) for name, size in sizes.items()]
    return tasks, [cases.generated(name, size * SMALL[name], given.seed) for name, size in sizes.items()]


__all__ = ["EXPERIMENTS", "command"]
