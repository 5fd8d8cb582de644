"""``fmfkit bench mpi``: rounds on several ranks of fmfkit-mpi beside the ordinary fit on as many threads."""

from __future__ import annotations

import json
import shutil
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

import attrs
import click
from fmfkit_bench import options
from fmfkit_bench.results.report import Report
from fmfkit_bench.results.sections import Cell, Claim, Section, Table

COLUMNS = ["ranks", "s/round", "ordinary fit", "ratio", "of it sums", "MB sent", "by formula", "GB of memory"]
INSTALL = "fmfkit-mpi is not installed, or there is no mpiexec: pip install fmfkit-mpi mpich"


@attrs.frozen
class Options:
    """What the user asks for."""

    shapes: tuple[str, ...]
    scale: float
    rank: int
    rounds: int
    ranks: tuple[int, ...]
    shards: int
    threads: int
    repeats: int
    alone: bool


@click.command("mpi")
@options.shapes
@options.scale(0.1)
@options.rank
@options.rounds(4)
@click.option("--ranks", multiple=True, default=(1, 2), show_default=True, type=click.IntRange(1), help="Numbers of "
              "ranks on this machine; may be given more than once.")  # fmt: skip
@click.option("--shards", default=8, show_default=True, type=click.IntRange(1), help="Shards of the queries.")
@click.option("--threads", default=1, show_default=True, type=options.THREADS, help="Threads of each rank.")
@options.repeats(3)
@click.option("--alone", is_flag=True, help="Leave the ordinary fit out, whose data one process has.")
@options.reported(Options, "Several ranks")
def command(given: Options, report: Report) -> None:
    """Time rounds on several ranks and the ordinary fit on as many threads, in turn; count the bytes sent.

    `fmfkit mpi_bench --model` computes what more machines take.
    """
    for shape in given.shapes:
        report.add(measure(shape, given, report.say))


def measure(shape: str, given: Options, say: Any) -> Section:
    """Run both in turn, as processes of their own."""
    asked = ["--shape", shape, "--scale", given.scale, "--rank", given.rank, "--rounds", given.rounds]
    runs: dict[tuple[int, bool], list[dict[str, Any]]] = {}
    for _ in range(given.repeats):
        for ranks in given.ranks:
            for ordinary in (False,) if given.alone else (False, True):
                threads = given.threads * ranks if ordinary else given.threads
                kind = ["--ordinary"] if ordinary else []
                more = ["--threads", threads, "--shards", given.shards, *kind]
                found = _run(1 if ordinary else ranks, [*asked, *more])
                runs.setdefault((ranks, ordinary), []).append(found)
                who = f"ordinary, {threads} threads" if ordinary else f"{ranks} ranks"
                say(f"{shape}, {who}: {found['seconds']:.3f} s/round, {found['gigabytes']:.2f} GB")
    return _section(shape, given, runs)


def _run(ranks: int, arguments: list[Any]) -> dict[str, Any]:
    beside = Path(sys.executable).with_name("mpiexec")
    launcher = str(beside) if beside.exists() else shutil.which("mpiexec")
    if launcher is None:
        raise click.ClickException(INSTALL)
    command = [sys.executable, "-m", "fmfkit", "mpi_bench", "--json", *map(str, arguments)]
    whole = command if ranks == 1 else [launcher, "-n", str(ranks), *command]
    done = subprocess.run(whole, capture_output=True, text=True, check=False)
    if done.returncode:
        raise click.ClickException(f"{done.stderr.strip() or done.stdout.strip()}\n({INSTALL})")
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def _section(shape: str, given: Options, runs: dict[tuple[int, bool], list[dict[str, Any]]]) -> Section:
    rows: list[list[Cell]] = []
    for ranks in given.ranks:
        seconds, communication, gigabytes = (
            statistics.median(run[name] for run in runs[ranks, False])
            for name in ("seconds", "communication", "gigabytes")
        )
        beside: list[Cell] = [None, None]
        if not given.alone:
            ordinary = statistics.median(run["seconds"] for run in runs[ranks, True])
            beside = [ordinary, seconds / ordinary]
        last = runs[ranks, False][-1]
        rows.append([ranks, seconds, *beside, communication, last["sent"] / 1e6, last["formula"] / 1e6, gigabytes])
    objectives = {run["objective"] for (_, ordinary), some in runs.items() if not ordinary for run in some}
    claims = [
        Claim(
            "the objective is the same, bit for bit",
            f"{shape}, {given.ranks} ranks",
            len(objectives) == 1,
            str(objectives),
        )
    ]
    for ranks in given.ranks:
        last = runs[ranks, False][-1]
        if last["formula"]:
            off = last["sent"] / last["formula"] - 1
            claims.append(
                Claim("bytes are those of the formula", f"{shape}, {ranks} ranks", abs(off) < 0.01, f"{off:+.2%}")
            )
    beside_what = "" if given.alone else ", beside the ordinary fit on as many threads in one process"
    return Section(
        f"mpi-{shape}",
        f"{shape} x {given.scale:g}: {given.shards} shards on several ranks",
        f"Rank {given.rank}, {given.threads} threads a rank{beside_what}; medians of {given.repeats} runs in turn. "
        "The memory is the sum of all ranks' highest, data included. Generated data.",
        tables=[Table(f"{shape}: seconds a round by ranks", COLUMNS, rows)],
        claims=claims,
    )


__all__ = ["command", "measure"]
