"""Training-loss convergence of L2M, of PL2M at several |S|, and of the panel solver."""

from __future__ import annotations

from fmfkit_bench.paper.cases import Case
from fmfkit_bench.paper.lab import PANEL, Curve, Lab, parallel
from fmfkit_bench.results.sections import Claim, Figure, Line, Panel, Section, Table

FIRST = 3
"""The rounds that are the paper's "beginning"."""


def run(lab: Lab) -> Section:
    """Train from the same start by each method, and compare objectives round by round."""
    panels, tables, claims = [], [], []
    for case in lab.tasks:
        curves = {by: lab.curve(case, by) for by in _methods(case)}
        panels.append(_panel(case, curves))
        tables.append(_table(case, curves))
        claims += _claims(case, curves)
    return Section(
        "convergence",
        "Training loss by round",
        "All methods start from the same values. The objective is the training loss with its penalty, which the proof "
        "is about; it never rises. |S| is the paper's for the kind of data.",
        tables=tables,
        figures=[Figure("convergence", "The objective after each round, per training pair.", panels)],
        claims=claims,
    )


def _methods(case: Case) -> list[str]:
    return ["L2M", *(parallel(size) for size in case.sets), PANEL]


def _panel(case: Case, curves: dict[str, Curve]) -> Panel:
    pairs = len(case.train)
    lines = [
        Line(by, [float(k) for k in range(1, len(curve.objective))], [value / pairs for value in curve.objective[1:]])
        for by, curve in curves.items()
    ]
    return Panel(case.title, "round", "objective per pair", lines)


def _table(case: Case, curves: dict[str, Curve]) -> Table:
    rounds = len(next(iter(curves.values())).objective) - 1
    shown = sorted({1, 2, 3, 5, rounds} & set(range(1, rounds + 1)))
    return Table(
        f"{case.title}: objective after some rounds",
        ["method", *(f"round {k}" for k in shown), "s/round"],
        [[by, *(curve.objective[k] for k in shown), curve.seconds_per_round] for by, curve in curves.items()],
    )


def _claims(case: Case, curves: dict[str, Curve]) -> list[Claim]:
    small, large = (curves[parallel(size)].objective for size in case.sets)
    lone = curves["L2M"].objective
    first = min(FIRST, len(lone) - 1)
    above = {
        parallel(size): [parts[k] / lone[k] - 1 for k in range(1, first + 1)]
        for size, parts in zip(case.sets, (small, large), strict=True)
    }
    found = "; ".join(f"{by} {', '.join(f'{part:+.2%}' for part in parts)}" for by, parts in above.items())
    names = [parallel(size) for size in case.sets]
    lower = sum(a < b for a, b in zip(small[1:], large[1:], strict=True))
    return [
        Claim(
            "PL2M follows L2M's loss from above in the first rounds",
            case.title,
            all(part >= 0 for parts in above.values() for part in parts),
            f"against L2M, rounds 1 to {first}: {found}",
        ),
        Claim(
            "smaller |S| converges faster per round",
            case.title,
            small[-1] < large[-1] and lower > len(small[1:]) / 2,
            f"{names[0]} is below {names[1]} in {lower} of {len(small) - 1} rounds, by {1 - small[-1] / large[-1]:.2%} "
            "in the last",
        ),
    ]


__all__ = ["run"]
