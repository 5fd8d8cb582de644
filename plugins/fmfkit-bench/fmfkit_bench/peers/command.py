"""``fmfkit bench peers``."""

from __future__ import annotations

import tempfile
from pathlib import Path

import attrs
import click
from fmfkit_bench import core, options
from fmfkit_bench.data import real, shapes
from fmfkit_bench.peers.judging import DECIDES, ranking_metric
from fmfkit_bench.peers.race import Race
from fmfkit_bench.peers.registry import Registry
from fmfkit_bench.peers.search import Limits
from fmfkit_bench.peers.worker import Job
from fmfkit_bench.results.report import Report


@attrs.frozen(kw_only=True)
class Options:
    """What the user asks for."""

    files: tuple[Path, ...]
    shapes: tuple[str, ...]
    scale: float
    peers: tuple[str, ...]
    rank: int
    threads: int | None
    seed: int
    rounds: int
    trials: int
    budget: float
    limit: float
    decides: str

    def job(self) -> Job:
        """Return what is the same for all systems and data."""
        return Job(
            system="",
            data="",
            rank=self.rank,
            threads=self.threads or core.all_threads(),
            seed=self.seed,
            rounds=self.rounds,
            limits=Limits(self.trials, self.budget),
            decides=self.decides,
        )


def _ranking_metric(context: click.Context, parameter: click.Parameter, given: str) -> str:
    try:
        ranking_metric(given)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None
    return given


@click.command("peers")
@click.argument("files", nargs=-1, type=click.Path(exists=True, path_type=Path))
@click.option(
    "--shape",
    "shapes",
    multiple=True,
    type=click.Choice(["ml10m", "yahoo"]),
    help="Generated data besides the FILES; may be given more than once.",
)
@options.scale(0.1, "Size of generated data.")
@click.option("--peer", "peers", multiple=True, help="Only these systems, and fmfkit; all by default.")
@options.rank
@options.threads
@options.seed
@options.rounds(50, "Rounds of a training, at most.")
@click.option("--trials", default=20, show_default=True, type=click.IntRange(1), help="Settings that each may try.")
@click.option("--budget", default=120.0, show_default=True, type=options.POSITIVE, help="Seconds that each may search.")
@click.option(
    "--limit", default=900.0, show_default=True, type=options.POSITIVE, help="Seconds after which a process is ended."
)
@click.option(
    "--choose-by",
    "decides",
    default=DECIDES,
    show_default=True,
    callback=_ranking_metric,
    help="What decides between settings and rounds where targets are ranked.",
)
@options.reported(Options, "Beside other systems")
def command(given: Options, report: Report) -> None:
    """Run fmfkit and other systems on FILES: error, time, memory, and whether runs agree.

    FILES are .npz files, tables of pairs, .feature files of SVDFeature, or MovieLens folders. Every system searches its
    settings on the same validation part with the same budget, and then trains twice on all training pairs, in processes
    of its own. Install the others with ``fmfkit-bench[peers]``, or some of them; those that are absent are skipped.
    """
    if not given.files and not given.shapes:
        raise click.UsageError("give FILES, or generated data with --shape")
    registry = Registry()
    for failure in registry.failures:
        report.say(str(failure))
    names = list(registry.systems)
    if unknown := sorted(set(given.peers) - set(names)):
        raise click.BadParameter(f"there is no {unknown[0]!r}; there are {names}", param_hint="--peer")
    race = Race(
        systems=[
            system
            for name, system in registry.systems.items()
            if not given.peers or name == "fmfkit" or name in given.peers
        ],
        job=given.job(),
        limit=given.limit,
        left_out={str(failure.package): f"could not be loaded: {failure.reason}" for failure in registry.failures},
    )
    with tempfile.TemporaryDirectory() as folder:
        generated = [real.write(shapes.generate(name, given.scale, given.seed), Path(folder)) for name in given.shapes]
        for section in race.run([*given.files, *generated], report.say):
            report.command = _command(given, len(report.found) + 1)
            report.add(section)


def _command(given: Options, done: int) -> str:
    """Return the command that gives the first sections: a run that is interrupted has written only those."""
    names = given.shapes[: max(0, done - len(given.files))]
    scale = given.scale if names else None
    return options.command_line(click.get_current_context(), files=given.files[:done], shapes=names, scale=scale)


__all__ = ["command"]
