"""``fmfkit bench schedulers``: what schedulers do to eta, sigma, the time of a round and to equal objective."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable

import attrs
import click
from fmfkit_bench import core, options
from fmfkit_bench.data import shapes
from fmfkit_bench.data.shapes import Shape
from fmfkit_bench.results.report import Report
from fmfkit_bench.results.sections import Cell, Section, Table

from fmfkit import Model, PartitionScheduler, fit, schedulers

COLUMNS = ["scheduler", "median eta", "least eta", "sigma", "s/round", "s to equal objective", "objective"]


@attrs.frozen
class Options:
    """What the user asks for."""

    shapes: tuple[str, ...]
    scale: float
    rank: int
    seed: int
    rounds: int
    threads: int


@click.command("schedulers")
@options.shapes
@options.scale(0.1)
@options.rank
@options.seed
@options.rounds(6)
@click.option("--threads", default=2, show_default=True, type=options.THREADS, help="Threads.")
@options.reported(Options, "Schedulers side by side")
def command(given: Options, report: Report) -> None:
    """Show what schedulers do to eta, sigma, seconds per round and the time to equal objective."""
    for name in given.shapes:
        report.add(measure(shapes.generate(name, given.scale, given.seed), given, report.say))


def known(say: Callable[[str], None]) -> dict[str, PartitionScheduler]:
    """Return the schedulers that are available here."""
    found: dict[str, PartitionScheduler] = {
        "random 50": schedulers.RandomPartition(50),
        "random 500": schedulers.RandomPartition(500),
        "random 5000": schedulers.RandomPartition(5000),
        "size balanced 500": schedulers.SizeBalanced(500),
    }
    if importlib.util.find_spec("fmfkit_schedulers") is None:
        say("fmfkit-schedulers is not installed, so its schedulers are left out")
        return found
    conflict = importlib.import_module("fmfkit_schedulers.conflict")
    found["bounded conflict 4"] = conflict.BoundedConflict(4.0)
    found["conflict free"] = conflict.ConflictFree()
    found["apart 64"] = importlib.import_module("fmfkit_schedulers.cooccurrence").Apart(64)
    found["adaptive"] = importlib.import_module("fmfkit_schedulers.adaptive").Adaptive()
    return found


def measure(shape: Shape, given: Options, say: Callable[[str], None]) -> Section:
    """Train with PL2M, one dimension at a time, with each scheduler."""
    problem = shape.problem(given.rank)
    models: dict[str, Model] = {}
    for name, scheduler in known(say).items():
        solver = core.pl2m(scheduler)
        models[name] = fit(problem, solver=solver, rounds=given.rounds, threads=given.threads, seed=given.seed)
        say(f"{shape.name}, {name}: objective {models[name].history[-1].objective:.6g}")
    goal = max(model.history[-1].objective for model in models.values())
    return Section(
        f"schedulers-{shape.name}",
        f"Schedulers on {shape.name} at {given.scale:g} of its size",
        "Eta is the share of a lone step that parallel updates leave to a feature (1: none conflict), in the last "
        "round. Sigma is the load of the busiest thread over the mean. The objective to reach is the worst that any of "
        "them had at the end.",
        tables=[Table(f"{shape.name}: PL2M", COLUMNS, [_row(name, model, goal) for name, model in models.items()])],
    )


def _row(name: str, model: Model, goal: float) -> list[Cell]:
    spent, reached = 0.0, None
    for record in model.history[1:]:
        spent += record.seconds
        if reached is None and record.objective <= goal:
            reached = spent
    last = model.history[-1]
    eta = (1.0, 1.0) if last.eta is None else (last.eta.median, last.eta.minimum)
    return [name, *eta, last.sigma or 1.0, spent / (len(model.history) - 1), reached, last.objective]


__all__ = ["command", "measure"]
