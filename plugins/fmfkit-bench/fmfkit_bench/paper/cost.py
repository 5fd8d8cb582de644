"""The cost of a round: how it grows with pairs, features' values and rank, each alone."""

from __future__ import annotations

import numpy as np
from fmfkit_bench.paper.cases import Case
from fmfkit_bench.paper.lab import Lab
from fmfkit_bench.results.sections import Cell, Claim, Section, Table
from fmfkit_bench.speed import growth

ROUNDS = 2
MOST = 1.1
"""The largest slope of log time over log size that counts as linear; noise included."""


def run(lab: Lab) -> Section:
    """Measure exponents on each task."""
    rows: list[list[Cell]] = []
    claims = []
    for case in lab.tasks:
        slopes = growth.exponents(_sizes(lab, case), lab.threads, ROUNDS, lab.say)
        rows.append([case.title, *slopes.values()])
        found = ", ".join(f"{quantity} {slope:.2f}" for quantity, slope in slopes.items())
        claims.append(
            Claim(
                "cost is at most linear",
                case.title,
                max(slopes.values()) <= MOST,
                f"exponents of a round's time: {found}",
            )
        )
    return Section(
        "cost",
        "Cost of a round",
        "The slope of log time over log size, where one thing grows alone: pairs |O|, values of the queries' features "
        "‖X‖₀, rank d. One is linear; less, where part of the cost is something else.",
        tables=[Table("Exponents", ["data", *growth.QUANTITIES], rows)],
        claims=claims,
    )


def _sizes(lab: Lab, case: Case) -> growth.Sizes:
    draws = np.random.default_rng(lab.seed).random(len(case.train), np.float32)
    return growth.sizes(case, draws, (lab.rank // 4, lab.rank // 2, lab.rank), lab.rank)


__all__ = ["run"]
