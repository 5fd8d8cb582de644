"""What schedulers do to eta, sigma, the time of a round and the time to equal objective."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable

import attrs
from fmfkit_bench.shapes import Shape

from fmfkit import Model, PartitionScheduler, fit, schedulers, solvers


@attrs.frozen
class Outcome:
    """One scheduler on one shape."""

    shape: str
    scheduler: str
    eta: float
    """The median over features, in the last round."""
    least_eta: float
    sigma: float
    seconds_per_round: float
    seconds_to_objective: float | None
    """To the worst objective that any of them had at the end."""
    objective: float


def known(say: Callable[[str], None]) -> dict[str, PartitionScheduler]:
    """Return the schedulers that can be had here."""
    found: dict[str, PartitionScheduler] = {
        "random 50": schedulers.RandomPartition(50),
        "random 500": schedulers.RandomPartition(500),
        "random 5000": schedulers.RandomPartition(5000),
        "size balanced 500": schedulers.SizeBalanced(500),
    }
    if importlib.util.find_spec("fmfkit_schedulers") is None:
        say("fmfkit-schedulers is not installed: its schedulers are left out")
        return found
    conflict = importlib.import_module("fmfkit_schedulers.conflict")
    found["bounded conflict 4"] = conflict.BoundedConflict(4.0)
    found["conflict free"] = conflict.ConflictFree()
    found["apart 64"] = importlib.import_module("fmfkit_schedulers.cooccurrence").Apart(64)
    found["adaptive"] = importlib.import_module("fmfkit_schedulers.adaptive").Adaptive()
    return found


def measure(shape: Shape, rank: int, rounds: int, threads: int, seed: int, say: Callable[[str], None]) -> list[Outcome]:
    """Train with PL2M, one dimension at a time, with each scheduler."""
    problem = shape.problem(rank)
    models: dict[str, Model] = {}
    for name, scheduler in known(say).items():
        solver = solvers.PL2M(block=1, scheduler=scheduler)
        models[name] = fit(problem, solver=solver, rounds=rounds, threads=threads, seed=seed)
        say(f"{shape.name}, {name}: objective {models[name].history[-1].objective:.6g}")
    goal = max(model.history[-1].objective for model in models.values())
    return [_outcome(shape.name, name, model, goal) for name, model in models.items()]


def _outcome(shape: str, name: str, model: Model, goal: float) -> Outcome:
    spent, reached = 0.0, None
    for record in model.history[1:]:
        spent += record.seconds
        if reached is None and record.objective <= goal:
            reached = spent
    last = model.history[-1]
    return Outcome(
        shape=shape, scheduler=name, eta=last.eta.median if last.eta else 1.0,
        least_eta=last.eta.minimum if last.eta else 1.0, sigma=last.sigma or 1.0,
        seconds_per_round=spent / (len(model.history) - 1), seconds_to_objective=reached, objective=last.objective,
    )  # fmt: skip


def table(outcomes: list[Outcome]) -> str:
    """Return the outcomes for people."""
    lines = [
        f"{'shape':8}{'scheduler':20}{'eta':>8}{'least':>8}{'sigma':>8}{'s/round':>10}{'to equal':>10}{'objective':>12}"
    ]
    for o in outcomes:
        reached = "-" if o.seconds_to_objective is None else f"{o.seconds_to_objective:.2f}"
        lines.append(
            f"{o.shape:8}{o.scheduler:20}{o.eta:>8.3f}{o.least_eta:>8.3f}{o.sigma:>8.2f}{o.seconds_per_round:>10.3f}"
            f"{reached:>10}{o.objective:>12.6g}"
        )
    return "\n".join(lines)


__all__ = ["Outcome", "measure", "table"]
