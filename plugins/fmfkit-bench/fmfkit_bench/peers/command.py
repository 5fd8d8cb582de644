"""``fmfkit bench peers``."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import click
from fmfkit_bench import pages, real, sections, shapes
from fmfkit_bench.peers import hooks, race
from fmfkit_bench.peers.worker import Job
from fmfkit_bench.sections import Results, Section

import fmfkit


@click.command("peers")
@click.argument("files", nargs=-1, type=click.Path(exists=True, path_type=Path))
@click.option(
    "--shape", "names", multiple=True, type=click.Choice(["ml10m", "yahoo"]),
    help="Generated data beside the FILES; may be given more than once.",
)  # fmt: skip
@click.option(
    "--scale",
    default=0.1,
    show_default=True,
    type=click.FloatRange(0, 1, min_open=True),
    help="Size of generated data.",
)
@click.option("--peer", "wanted", multiple=True, help="Only these systems, and fmfkit; all by default.")
@click.option("--rank", default=64, show_default=True, type=click.IntRange(1), help="Latent dimensions.")
@click.option("--threads", type=click.IntRange(1, 1024), help="Threads; all processors by default.")
@click.option("--seed", default=0, show_default=True, type=click.IntRange(0), help="Seed of splits and training.")
@click.option("--rounds", default=50, show_default=True, type=click.IntRange(1), help="Rounds of a training, at most.")
@click.option("--trials", default=20, show_default=True, type=click.IntRange(1), help="Settings that each may try.")
@click.option(
    "--budget", default=120.0, show_default=True, type=click.FloatRange(0, min_open=True),
    help="Seconds that each may search.",
)  # fmt: skip
@click.option(
    "--limit", default=900.0, show_default=True, type=click.FloatRange(0, min_open=True),
    help="Seconds after which a process is ended.",
)  # fmt: skip
@click.option("--json", "path", type=click.Path(dir_okay=False, writable=True), help="Also write the results here.")
def command(
    files: tuple[Path, ...], names: tuple[str, ...], scale: float, wanted: tuple[str, ...], rank: int,
    threads: int | None, seed: int, rounds: int, trials: int, budget: float, limit: float, path: str | None,
) -> None:  # fmt: skip
    """Run fmfkit and other systems on FILES: error, time, memory, whether runs agree.

    FILES are .npz files, tables of pairs, .feature files of SVDFeature, or MovieLens folders. Every system searches its
    settings on the same validation part with the same budget, and then trains twice on all training pairs, in processes
    of its own. Install the others with ``fmfkit-bench[peers]``, or some of them; those that are absent are skipped.
    """
    if not files and not names:
        raise click.UsageError("give FILES, or generated data with --shape")
    peers = list(hooks.known())
    if unknown := sorted(set(wanted) - set(peers)):
        raise click.BadParameter(f"there is no {unknown[0]!r}; there are {peers}", param_hint="--peer")
    chosen = [name for name in peers if not wanted or name == "fmfkit" or name in wanted]
    job = Job(
        peer="", data="", rank=rank, threads=threads or fmfkit.build_info()["threads"], seed=seed, rounds=rounds,
        trials=trials, budget=budget,
    )  # fmt: skip
    began = time.perf_counter()
    data = [*(file.name for file in files), *(f"--shape {name} --scale {scale:g}" for name in names)]
    options = [f"--peer '{name}'" for name in wanted]
    options += [f"--rank {rank} --trials {trials} --budget {budget:g} --limit {limit:g} --seed {seed}"]
    found: list[Section] = []
    with tempfile.TemporaryDirectory() as folder:
        generated = [real.write(shapes.generate(name, scale, seed), Path(folder)) for name in names]
        for section in race.run([*files, *generated], chosen, job, limit, lambda line: click.echo(line, err=True)):
            found.append(section)
            click.echo(pages.terminal(section))
            if path:  # as it goes, so that nothing is lost; of a run that was ended, the command tells what it holds
                given = " ".join(["fmfkit bench peers", *data[: len(found)], *options])
                spent = round(time.perf_counter() - began)
                about = sections.about(given, threads=job.threads, rank=rank, seconds=spent)
                sections.write(Results("Beside other systems", about, found), path)


__all__ = ["command"]
