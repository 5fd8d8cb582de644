"""``fmfkit bench paper``."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import click
from fmfkit_bench import drawing, pages, sections
from fmfkit_bench.paper import cases, convergence, cost, features, hogwild, seeds, speedup
from fmfkit_bench.paper.cases import Case
from fmfkit_bench.paper.lab import Lab
from fmfkit_bench.sections import Results, Section

import fmfkit

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


@click.command("paper")
@click.argument("experiments", nargs=-1, type=click.Choice(list(EXPERIMENTS)))
@click.option(
    "--scale", default=0.05, show_default=True, type=click.FloatRange(0, 1, min_open=True),
    help="Size of the generated data, as a part of the paper's; Yahoo! Music at half, MovieLens at four times that.",
)  # fmt: skip
@click.option(
    "--data", multiple=True, type=click.Path(exists=True),
    help="Real data instead: an .npz or .feature file, a table of pairs, or a MovieLens folder; may be given again.",
)  # fmt: skip
@click.option(
    "--shape", "names", multiple=True, type=click.Choice(list(cases.MAKERS)), help="Only these shapes; all by default."
)
@click.option("--rank", default=64, show_default=True, type=click.IntRange(4), help="Latent dimensions.")
@click.option("--rounds", type=click.IntRange(1), help="Rounds of each fit; by default 5 to 12, by data.")
@click.option("--seed", default=0, show_default=True, type=click.IntRange(0), help="Seed of data and training.")
@click.option("--threads", type=click.IntRange(1, 1024), help="Threads; all processors by default.")
@click.option(
    "--out", default="fmfkit-paper", show_default=True, type=click.Path(file_okay=False, path_type=Path),
    help="Folder for the report, its figures and results.json.",
)  # fmt: skip
def command(
    experiments: tuple[str, ...], scale: float, data: tuple[str, ...], names: tuple[str, ...], rank: int,
    rounds: int | None, seed: int, threads: int | None, out: Path,
) -> None:  # fmt: skip
    """Repeat the paper's EXPERIMENTS, all by default, and check its claims.

    features: models with features against without. convergence: L2M and PL2M round by round. seeds: their test errors.
    hogwild: PL2M against Hogwild! and grouped SGD. speedup: threads, eta, sigma. cost: growth of a round's time.
    """
    if not drawing.available():
        raise click.ClickException("figures need matplotlib: python -m pip install matplotlib, or fmfkit-bench[paper]")
    began = time.perf_counter()
    out.mkdir(parents=True, exist_ok=True)
    threads = threads or fmfkit.build_info()["threads"]
    tasks, small = _tasks(data, names, scale, seed)
    lab = Lab(tasks, small, rank, seed, threads, rounds, lambda line: click.echo(line, err=True))
    found: list[Section] = []
    given = " ".join(["fmfkit bench paper", *experiments, *_told(data, names, scale), f"--rank {rank} --seed {seed}"])
    given += f" --rounds {rounds}" if rounds else ""
    for name in experiments or EXPERIMENTS:
        found.append(EXPERIMENTS[name](lab))
        click.echo(pages.terminal(found[-1]))
        about = sections.about(given, threads=threads, rank=rank, seconds=round(time.perf_counter() - began))
        report = _write(Results("The paper's experiments", about, found), out)  # so that nothing is lost on the way
    click.echo(f"\n{report}")


def _told(data: tuple[str, ...], names: tuple[str, ...], scale: float) -> list[str]:
    if data:
        return [f"--data {Path(path).name}" for path in data]
    return [f"--scale {scale:g}", *(f"--shape {name}" for name in names)]


def _tasks(data: tuple[str, ...], names: tuple[str, ...], scale: float, seed: int) -> tuple[list[Case], list[Case]]:
    """Return the tasks, and their smaller forms."""
    if data:
        real = [cases.of_file(path, seed) for path in data]
        return real, real
    sizes = {name: min(1.0, scale * TIMES.get(name, 1.0)) for name in names or cases.MAKERS}
    tasks = [cases.generated(name, size, seed) for name, size in sizes.items()]
    return tasks, [cases.generated(name, size * SMALL[name], seed) for name, size in sizes.items()]


def _write(results: Results, out: Path) -> Path:
    for section in results.sections:
        for figure in section.figures:
            drawing.draw(figure, out)
    sections.write(results, out / "results.json")
    report = out / "report.html"
    report.write_text(pages.page(results, out), encoding="utf-8")
    return report


__all__ = ["command"]
