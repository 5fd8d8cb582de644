"""The table "PL2M versus Hogwild!", with the grouped SGD and the panel solver beside them."""

from __future__ import annotations

from collections.abc import Callable

import attrs
import numpy as np
from fmfkit_bench import core
from fmfkit_bench.data.pairs import Pairs
from fmfkit_bench.paper.cases import Case
from fmfkit_bench.paper.lab import PANEL, Curve, Lab, Training, parallel
from fmfkit_bench.results.sections import Cell, Claim, Section, Table

from fmfkit import Problem, RoundEvent, Solver, fit
from fmfkit.errors import DivergedError

RATES = (0.3, 1.0, 3.0, 10.0)
"""Learning rates to try, as multiples of the task's; a tenth of it for Hogwild!."""
TRIED_ROUNDS = 2
PATIENCE = 2.0
"""Stochastic solvers may take so many times the rounds."""

Maker = Callable[[float], Solver]


def run(lab: Lab) -> Section:
    """Train by each, on the smaller tasks, and note when the test error is best."""
    rows: list[list[Cell]] = []
    claims = []
    for case in lab.small:
        if case.name == "yahoo":  # the paper has none: Hogwild! could not run on it
            continue
        curves = _curves(lab, case)
        name, share = case.metrics[0], case.kind != "ratings"
        for by, curve in curves.items():
            best = curve.best(case)
            value = curve.metrics[name][best] * (100 if share else 1)
            metric = f"{name} (%)" if share else name
            rows.append([case.title, by, curve.seconds_per_round, best, sum(curve.seconds[: best + 1]), metric, value])
        claims.append(_claim(case, curves))
    return Section(
        "hogwild",
        "PL2M versus Hogwild!",
        f"All on {lab.threads} threads, on smaller tasks than those above: Hogwild! computes both embeddings again for "
        "every pair. The grouped SGD shares a query's embedding among its pairs. Learning rates are chosen on a part "
        "of the training pairs. A best round that is the last one may not be the best possible.",
        tables=[
            Table(
                "To the best test value",
                ["data", "method", "s/round", "rounds", "seconds", "metric", "test value"],
                rows,
            )
        ],
        claims=claims,
    )


def _curves(lab: Lab, case: Case) -> dict[str, Curve]:
    problem = lab.problem(case)
    rounds = lab.rounds or case.rounds
    curves = {by: lab.curve(case, by) for by in (parallel(case.sets[0]), PANEL)}
    makers: dict[str, Maker] = {
        "Hogwild!": lambda rate: core.hogwild(rate, decay=0.9),
        "grouped SGD": lambda rate: core.grouped_sgd(rate, decay=0.9),
    }
    for by, make in makers.items():
        rate = _rate(lab, case, make, case.rate / 10 if by == "Hogwild!" else case.rate)
        curves[by] = _trained(lab, case, problem, make, rate, round(PATIENCE * rounds))
    return curves


def _trained(lab: Lab, case: Case, problem: Problem, make: Maker, rate: float, rounds: int) -> Curve:
    """Train at a rate, or a lower one where that diverges after all."""
    while True:
        try:
            how = Training(problem=problem, solver=make(rate), rounds=rounds, seed=lab.seed)
            curve = lab.train(case, how)
        except DivergedError:
            if rate < 1e-6:  # the rate is not to blame
                raise
            rate /= 3
            continue
        lab.say(f"{case.title}, {make(rate)!r}: {curve.seconds_per_round:.3f} s a round")
        return curve


def _rate(lab: Lab, case: Case, make: Maker, first: float) -> float:
    """Return the learning rate with the least loss on a tenth of the training pairs after some rounds."""
    held_out = np.random.default_rng([lab.seed, 4]).random(len(case.train)) < 0.1
    part = attrs.evolve(case, train=case.train.only(~held_out))
    rest = case.train.only(held_out)
    problem = part.problem(lab.rank)
    losses = {first * factor: _loss(lab, problem, make(first * factor), rest) for factor in RATES}
    return min(losses, key=lambda rate: losses[rate])


def _loss(lab: Lab, problem: Problem, solver: Solver, rest: Pairs) -> float:
    """Return the mean loss on held-out pairs; infinite where the rate is too high."""
    found = [np.inf]

    def note(event: RoundEvent) -> None:
        score = event.model().score(rest.query, rest.target)
        y = rest.y.astype(score.dtype)
        found.append(float(np.mean(problem.loss.value(score, y))))

    try:
        fit(problem, solver=solver, rounds=TRIED_ROUNDS, seed=lab.seed, threads=lab.threads, callbacks=note)
    except DivergedError:
        return np.inf
    return found[-1]


def _claim(case: Case, curves: dict[str, Curve]) -> Claim:
    mine, theirs = curves[parallel(case.sets[0])], curves["Hogwild!"]
    seconds = [sum(curve.seconds[: curve.best(case) + 1]) for curve in (mine, theirs)]
    return Claim(
        "PL2M's rounds are faster than Hogwild!'s, and so is the way to its best",
        case.title,
        mine.seconds_per_round < theirs.seconds_per_round and seconds[0] < seconds[1],
        f"a round {theirs.seconds_per_round / mine.seconds_per_round:.1f}x, to the best test value "
        f"{seconds[1] / max(seconds[0], 1e-9):.1f}x",
    )


__all__ = ["run"]
