"""PL2M versus L2M: test errors over seeds."""

from __future__ import annotations

import statistics

from fmfkit_bench.paper.cases import Case
from fmfkit_bench.paper.lab import Lab, parallel
from fmfkit_bench.results.sections import Cell, Claim, Section, Table

SEEDS = 4
WITHIN = 2.0
"""Standard errors of the difference."""


def run(lab: Lab) -> Section:
    """Train both from several starts, on the smaller tasks."""
    rows: list[list[Cell]] = []
    claims = []
    for case in lab.small:
        mine = _best(lab, case, parallel(case.sets[0]))
        theirs = _best(lab, case, "L2M")
        differences = [a - b for a, b in zip(mine, theirs, strict=True)]
        mean, error = statistics.mean(differences), statistics.stdev(differences) / len(differences) ** 0.5
        name = case.metrics[0]
        rows.append([case.title, name, statistics.mean(theirs), statistics.mean(mine), mean, error])
        worse = mean if case.kind == "ratings" else -mean
        claims.append(
            Claim(
                "PL2M's test error is L2M's, within noise over seeds, or better",
                case.title,
                worse <= WITHIN * error,
                f"{name}: {mean:+.5f} against L2M, standard error {error:.5f} over {len(mine)} seeds",
            )
        )
    return Section(
        "seeds",
        "PL2M versus L2M in test error",
        f"Both from {SEEDS} starts, each at its best round. The tasks are smaller than those above.",
        tables=[
            Table(
                "Mean of the best test values over seeds",
                ["data", "metric", "L2M", "PL2M", "difference", "standard error"],
                rows,
            )
        ],
        claims=claims,
    )


def _best(lab: Lab, case: Case, by: str) -> list[float]:
    curves = [lab.curve(case, by, seed=lab.seed + n) for n in range(SEEDS)]
    return [curve.metrics[case.metrics[0]][curve.best(case)] for curve in curves]


__all__ = ["run"]
