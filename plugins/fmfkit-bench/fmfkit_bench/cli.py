"""``fmfkit bench``."""

from __future__ import annotations

import json
import os
import time

import attrs
import click
from fmfkit_bench import machine, shapes, speed

import fmfkit


@click.group()
def bench() -> None:
    """Measure solvers on generated data."""


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
@_scale
@_rank
@_seed
@click.option(
    "--solver", "solvers", multiple=True, type=click.Choice(list(speed.SOLVERS)), default=["block", "dimension", "sgd"],
    show_default=True, help="Solver to run; may be given more than once.",
)  # fmt: skip
@click.option("--rounds", default=10, show_default=True, type=click.IntRange(1), help="Rounds of each fit.")
@click.option("--threads", multiple=True, type=click.IntRange(1, 1024), help="Threads; may be given more than once.")
@click.option(
    "--repeats", default=1, show_default=True, type=click.IntRange(1), help="Fits of each; medians are shown."
)
@click.option("--json", "path", type=click.Path(dir_okay=False, writable=True), help="Also write the records here.")
def speed_command(
    names: tuple[str, ...], scale: float, rank: int, seed: int, solvers: tuple[str, ...], rounds: int,
    threads: tuple[int, ...], repeats: int, path: str | None,
) -> None:  # fmt: skip
    """Run solvers side by side: seconds per round, to equal objective, to equal test error.

    Goals are what every solver reached: the objective that all coordinate descent solvers had at the end, and the test
    error that all had at their best.
    """
    threads = threads or (fmfkit.build_info()["threads"],)
    limits = {team: (machine.bandwidth(team), machine.arithmetic(team)) for team in threads}
    records: list[speed.Record] = []
    for name in names:
        began = time.perf_counter()
        shape = shapes.generate(name, scale, seed)
        problem = shape.problem(rank)
        click.echo(f"{problem!r}, made in {time.perf_counter() - began:.1f} s", err=True)
        runs: dict[tuple[str, int], list[speed.Run]] = {}
        for repeat in range(repeats):  # all solvers in turn, so that none has the quiet hour for itself
            for solver in solvers:
                for team in threads:
                    one = speed.run(shape, problem, solver, team, rounds, seed + repeat)
                    runs.setdefault((solver, team), []).append(one)
                    click.echo(
                        f"{name} {solver} on {team} threads: {sum(one.seconds):.2f} s for {rounds} rounds, "
                        f"objective {one.objective[-1]:.6g}, test error {min(one.test_error):.5f}",
                        err=True,
                    )
        part = speed.compare(runs, shape, scale, problem)
        _show(part, limits)
        records += part
    if path:
        with open(path, "w", encoding="utf-8") as file:
            machine_record = {
                "processors": os.cpu_count(),
                "limits": [
                    {"threads": t, "bytes_per_second": b, "flops_per_second": f} for t, (b, f) in limits.items()
                ],
            }
            json.dump({"machine": machine_record, "records": [attrs.asdict(r) for r in records]}, file, indent=2)


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
            f"{record.test_error:>12.5f}{record.bytes_per_second / 1e9:>8.2f}{record.flops_per_second / 1e9:>9.2f}"
            f"{'-' if record.peak_rss_bytes is None else round(record.peak_rss_bytes / 1e6):>9}"
        )
    for team, (moved, flops) in limits.items():
        click.echo(f"{'(machine)':12}{team:>8}{'':>51}{moved / 1e9:>8.2f}{flops / 1e9:>9.2f}")
    _ratios(records)


def _ratios(records: list[speed.Record]) -> None:
    """Show how many times the others' time the default solver's goes into."""
    for team in dict.fromkeys(record.threads for record in records):
        here = {record.solver: record for record in records if record.threads == team}
        ours = here.get("block")
        for name, other in here.items():
            if ours is None or name == "block":
                continue
            shown = [
                f"{label} {theirs / mine:.2f}x"
                for label, theirs, mine in (
                    ("per round", other.seconds_per_round, ours.seconds_per_round),
                    ("to objective", other.seconds_to_objective, ours.seconds_to_objective),
                    ("to test error", other.seconds_to_test_error, ours.seconds_to_test_error),
                )
                if theirs is not None and mine
            ]
            click.echo(f"{name} takes, on {team} threads, against block: {', '.join(shown)}")
    for name in dict.fromkeys(record.solver for record in records):
        by_team = {record.threads: record.seconds_per_round for record in records if record.solver == name}
        for team, seconds in by_team.items():
            if team != 1 and 1 in by_team:
                click.echo(f"{name}: {team} threads against 1: {by_team[1] / seconds:.2f}x")


def _seconds(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


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
