"""``fmfkit bench``."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import attrs
import click
from fmfkit_bench import (
    accuracy,
    footprint,
    growth,
    losses,
    machine,
    pages,
    plain,
    real,
    scheduling,
    sections,
    shapes,
    speed,
    tables,
    targets,
    top,
)
from fmfkit_bench.paper.command import command as paper_command
from fmfkit_bench.peers.command import command as peers_command

import fmfkit


@click.group()
def bench() -> None:
    """Measure fmfkit: solvers on generated data, models on real data."""


bench.add_command(paper_command)
bench.add_command(peers_command)


_shape = click.option(
    "--shape", "names", multiple=True, default=["ml10m"], show_default=True, type=click.Choice(sorted(shapes.SHAPES)),
    help="Shape of the data; may be given more than once.",
)  # fmt: skip
_scale = click.option(
    "--scale", default=0.1, show_default=True, type=click.FloatRange(0, 1, min_open=True), help="Size."
)
_rank = click.option("--rank", default=64, show_default=True, type=click.IntRange(1), help="Latent dimensions.")
_seed = click.option("--seed", default=0, show_default=True, type=click.IntRange(0), help="Seed of data and training.")


@bench.command("speed")
@_shape
@click.option(
    "--scale", type=click.FloatRange(0, 1, min_open=True),
    help="Size of the data, 0.1 by default; with --targets, of the sizes that they name, 1 by default.",
)  # fmt: skip
@_rank
@_seed
@click.option(
    "--solver", "solvers", multiple=True, type=click.Choice(list(speed.SOLVERS)), default=["block", "dimension", "sgd"],
    show_default=True, help="Solver to run; may be given more than once.",
)  # fmt: skip
@click.option(
    "--rounds", default=6, show_default=True, type=click.IntRange(1), help="Rounds of each fit; sgd has twice."
)
@click.option("--threads", multiple=True, type=click.IntRange(1, 1024), help="Threads; may be given more than once.")
@click.option(
    "--repeats", default=1, show_default=True, type=click.IntRange(1), help="Fits of each; medians are shown."
)
@click.option(
    "--targets", "everything", is_flag=True,
    help="All that the table of targets needs: its shapes and solvers on 1 and 2 threads, plain factorization beside "
    "LIBMF, growth, and memory.",
)  # fmt: skip
@click.option("--json", "path", type=click.Path(dir_okay=False, writable=True), help="Also write the records here.")
def speed_command(
    names: tuple[str, ...], scale: float | None, rank: int, seed: int, solvers: tuple[str, ...], rounds: int,
    threads: tuple[int, ...], repeats: int, everything: bool, path: str | None,
) -> None:  # fmt: skip
    """Run solvers side by side: seconds per round, to equal objective, to equal test error.

    Goals are the objective that all coordinate descent solvers had at the end, and the test error that the default one
    and grouped SGD both had at their best. Hogwild! is run on a part of the pairs, and its time multiplied.
    """
    if everything:
        sizes = {name: size * (scale or 1.0) for name, size in targets.SIZES.items()}
        solvers, threads = tuple(speed.SOLVERS), threads or (1, 2)
    else:
        sizes = dict.fromkeys(names, scale or 0.1)
        threads = threads or (fmfkit.build_info()["threads"],)
    limits = {team: (machine.bandwidth(team), machine.arithmetic(team)) for team in threads}
    full = scale in (None, 1.0) and everything
    records: list[speed.Record] = []
    others: list[targets.Target] = []
    for name, size in sizes.items():
        began = time.perf_counter()
        shape = shapes.generate(name, size, seed)
        _say(f"{name} at {size:g} of its size, made in {time.perf_counter() - began:.1f} s")
        part = min(1.0, speed.SAMPLED_PAIRS / len(shape.train.query))
        sampled = shape.problem(rank, sample=part) if "hogwild" in solvers else None
        problem, raw = shape.problem(rank), shape if everything and name == "ml10m" else None
        shape = shape.for_testing()  # the training data is in the problem now
        measured = _side_by_side(shape, size, problem, sampled, part, solvers, threads, rounds, repeats, seed)
        _show(measured, limits)
        records += measured
        if raw is not None:
            others += _whole_process(raw, rank, max(threads), rounds, repeats, full)
            smaller = shapes.generate(name, 0.2 * size, seed)
            others += targets.of_growth(growth.exponents(growth.sizes(smaller), max(threads), rounds, _say))
    reached = targets.of_records(records, full) + others
    click.echo(f"\n{targets.table(reached)}")
    if path:
        _write(path, limits, records, reached)


def _say(line: str) -> None:
    click.echo(line, err=True)


def _whole_process(
    shape: shapes.Shape, rank: int, threads: int, rounds: int, repeats: int, full: bool
) -> list[targets.Target]:
    """Measure what needs the training data as it is: memory, and plain factorization."""
    lines = []
    peak = footprint.measure(shape, rank, threads)
    if peak is not None:
        lines.append(targets.of_footprint(peak, full))
    race = plain.race(shape, rank, threads, rounds, repeats, _say)
    if race is None:
        _say("plain: LIBMF is not installed (python -m pip install libmf): left out")
        return lines
    click.echo(
        f"plain {shape.name}: test error {race.goal:.5f} after {race.seconds:.2f} s, LIBMF {race.libmf_seconds:.2f} s; "
        f"a round {race.seconds_per_round:.3f} s, an iteration of LIBMF {race.libmf_seconds_per_iteration:.3f} s; "
        f"best {race.best:.5f}, LIBMF {race.libmf_best:.5f}"
    )
    return [*lines, targets.of_race(race, full)]


def _side_by_side(
    shape: shapes.Shape, size: float, problem: fmfkit.Problem, sampled: fmfkit.Problem | None, part: float,
    solvers: tuple[str, ...], threads: tuple[int, ...], rounds: int, repeats: int, seed: int,
) -> list[speed.Record]:  # fmt: skip
    """Run the solvers in turn; Hogwild! on ``sampled``, which has a ``part`` of the pairs."""
    _say(f"{problem!r}")
    runs: dict[tuple[str, int], list[speed.Run]] = {}
    for repeat in range(repeats):  # all solvers in turn, so that none has the quiet hour for itself
        for solver in solvers:
            for team in threads:
                hogwild = solver == "hogwild" and sampled is not None
                used, sample = (sampled or problem, part) if hogwild else (problem, 1.0)
                one = speed.run(shape, used, solver, team, rounds, seed + repeat, sample)
                runs.setdefault((solver, team), []).append(one)
                _say(
                    f"{shape.name} {solver} on {team} threads: {one.seconds_per_round():.3f} s a round, "
                    f"objective {one.objective[-1]:.6g}, test error {min(one.test_error):.5f}"
                )
    return speed.compare(runs, shape, size, problem)


def _write(
    path: str, limits: dict[int, tuple[float, float]], records: list[speed.Record], reached: list[targets.Target]
) -> None:
    teams = [{"threads": t, "bytes_per_second": b, "flops_per_second": f} for t, (b, f) in limits.items()]
    written = {
        "machine": {"processors": os.cpu_count(), "limits": teams},
        "records": [attrs.asdict(record) for record in records],
        "targets": [attrs.asdict(target) | {"verdict": target.verdict} for target in reached],
    }
    with open(path, "w", encoding="utf-8") as file:
        json.dump(written, file, indent=2)


def _show(records: list[speed.Record], limits: dict[int, tuple[float, float]]) -> None:
    first = records[0]
    click.echo(f"\n{first.shape}, scale {first.scale:g}, {first.rounds} rounds")
    click.echo(
        f"{'solver':12}{'threads':>8}{'s/round':>10}{'to objective':>14}{'to test error':>15}{'best error':>12}"
        f"{'GB/s':>8}{'GFLOP/s':>9}{'peak MB':>9}"
    )
    for record in records:
        click.echo(
            f"{record.solver:12}{record.threads:>8}{record.seconds_per_round:>10.4f}"
            f"{_seconds(record.seconds_to_objective):>14}{_seconds(record.seconds_to_test_error):>15}"
            f"{_number(record.test_error):>12}"
            f"{record.bytes_per_second / 1e9:>8.2f}{record.flops_per_second / 1e9:>9.2f}"
            f"{'-' if record.peak_rss_bytes is None else round(record.peak_rss_bytes / 1e6):>9}"
            f"{'' if record.sample == 1 else f'  from {record.sample:.2%} of the pairs'}"
        )
    for team, (moved, flops) in limits.items():
        click.echo(f"{'(machine)':12}{team:>8}{'':>51}{moved / 1e9:>8.2f}{flops / 1e9:>9.2f}")


def _seconds(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.5f}"


@bench.command("data")
@_shape
@_scale
@_rank
@_seed
@click.option("--rounds", default=12, show_default=True, type=click.IntRange(1), help="Rounds of each fit.")
def data_command(names: tuple[str, ...], scale: float, rank: int, seed: int, rounds: int) -> None:
    """Show what the generated data is like, and how much its features help."""
    for name in names:
        shape = shapes.generate(name, scale, seed)
        click.echo(f"{shape.problem(rank)!r}, {len(shape.test.query)} pairs held out")
        for label, features in (("ids only", False), ("ids and features", True)):
            run = speed.Run()
            fmfkit.fit(shape.problem(rank, features=features), rounds=rounds, seed=seed, callbacks=run.watch(shape))
            click.echo(f"  {label:18} best test error {min(run.test_error):.5f}")


@bench.command("accuracy")
@click.argument("files", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False))
@_rank
@_seed
@click.option("--trials", default=40, show_default=True, type=click.IntRange(1), help="Settings to try for each model.")
@click.option("--rounds", default=50, show_default=True, type=click.IntRange(1), help="Rounds of each trial, at most.")
@click.option(
    "--ratio", default=100.0, show_default=True, type=click.FloatRange(0, min_open=True),
    help="Negatives for each pair of data with positives only.",
)  # fmt: skip
@click.option("--threads", type=click.IntRange(1, 1024), help="Threads; all processors by default.")
@click.option("--json", "path", type=click.Path(dir_okay=False, writable=True), help="Also write the outcomes here.")
def accuracy_command(
    files: tuple[str, ...], rank: int, seed: int, trials: int, rounds: int, ratio: float, threads: int | None,
    path: str | None,
) -> None:  # fmt: skip
    """Search settings on a part of the training pairs of .npz FILES, train, and measure on their test pairs.

    With features and without. Ratings are judged by the RMSE; positives only, by how often the best target is right.
    """
    outcomes: list[accuracy.Outcome] = []
    for file in files:
        outcomes += accuracy.measure(
            real.load(file), rank=rank, trials=trials, rounds=rounds, ratio=ratio, seed=seed, threads=threads, say=_say
        )
    click.echo(accuracy.table(outcomes))
    if path:
        with open(path, "w", encoding="utf-8") as written:
            json.dump([attrs.asdict(outcome) for outcome in outcomes], written, indent=2, default=repr)


@bench.command("top")
@_shape
@click.option("--scale", default=1.0, show_default=True, type=click.FloatRange(0, 1, min_open=True), help="Size.")
@_rank
@_seed
@click.option("-k", default=100, show_default=True, type=click.IntRange(1), help="How many targets for each query.")
@click.option("--threads", multiple=True, type=click.IntRange(1, 1024), help="Threads; may be given more than once.")
@click.option("--repeats", default=3, show_default=True, type=click.IntRange(1), help="Medians are shown.")
def top_command(
    names: tuple[str, ...], scale: float, rank: int, seed: int, k: int, threads: tuple[int, ...], repeats: int
) -> None:
    """Recommend to every query, training pairs left out, side by side with implicit on the same factors."""
    for name in names:
        shape = shapes.generate(name, scale, seed)
        for team in threads or (fmfkit.build_info()["threads"],):
            one = top.measure(shape, rank, k, team, repeats, seed, _say)
            click.echo(
                f"{name}: top {k} of {one.targets} targets for {one.queries} queries, rank {rank}, {team} threads: "
                f"{one.seconds:.2f} s, {_megabytes(one.extra_bytes)} extra"
            )
            if one.implicit_seconds is not None and one.agree is not None:
                click.echo(
                    f"  implicit {one.implicit_seconds:.2f} s, {_megabytes(one.implicit_extra_bytes)} extra; "
                    f"{one.implicit_seconds / one.seconds:.2f}x as long; same list for {one.agree:.2%} of the queries"
                )


def _megabytes(value: int | None) -> str:
    return "-" if value is None else f"{value / 1e6:.0f} MB"


@bench.command("tables")
@click.option("--rows", default=10_000_000, show_default=True, type=click.IntRange(100), help="Rows of the file.")
@click.option("--repeats", default=3, show_default=True, type=click.IntRange(1), help="Medians are shown.")
@_seed
def tables_command(rows: int, repeats: int, seed: int) -> None:
    """Make a data set of a CSV file with text ids, side by side with polars reading it."""
    one = tables.measure(rows, repeats, seed, _say)
    click.echo(
        f"{one.rows} rows, {one.file_bytes / 1e6:.0f} MB: polars reads it in {one.polars_seconds:.2f} s, "
        f"Dataset.of takes {one.dataset_seconds:.2f} s, {one.ratio:.2f} times as long"
    )


@bench.command("losses")
@_shape
@_scale
@_rank
@_seed
@click.option("--rounds", default=4, show_default=True, type=click.IntRange(1), help="Rounds of each fit.")
@click.option("--threads", multiple=True, type=click.IntRange(1, 1024), help="Threads; 1 and 2 by default.")
@click.option("--repeats", default=3, show_default=True, type=click.IntRange(1), help="Medians are shown.")
def losses_command(
    names: tuple[str, ...], scale: float, rank: int, seed: int, rounds: int, threads: tuple[int, ...], repeats: int
) -> None:
    """Train with the logistic loss built in, in C, compiled by numba, and in NumPy, side by side."""
    for name in names:
        click.echo(
            losses.table(
                losses.measure(shapes.generate(name, scale, seed), rank, threads or (1, 2), rounds, repeats, _say)
            )
        )


@bench.command("schedulers")
@_shape
@_scale
@_rank
@_seed
@click.option("--rounds", default=6, show_default=True, type=click.IntRange(1), help="Rounds of each fit.")
@click.option("--threads", default=2, show_default=True, type=click.IntRange(1, 1024), help="Threads.")
def schedulers_command(names: tuple[str, ...], scale: float, rank: int, seed: int, rounds: int, threads: int) -> None:
    """Show what schedulers do to eta, sigma, seconds per round and the time to equal objective."""
    for name in names:
        click.echo(
            scheduling.table(scheduling.measure(shapes.generate(name, scale, seed), rank, rounds, threads, seed, _say))
        )


@bench.command("results")
@click.argument("files", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False))
@click.option(
    "--out", required=True, type=click.Path(dir_okay=False, writable=True), help="The Markdown page to write."
)
def results_command(files: tuple[str, ...], out: str) -> None:
    """Make a page of results of FILES, which ``bench paper`` and ``bench peers`` wrote as JSON."""
    try:
        read = [sections.read(file) for file in files]
    except ValueError as error:
        raise click.ClickException(str(error)) from error
    Path(out).write_text(pages.markdown(read), encoding="utf-8")
    click.echo(out)
