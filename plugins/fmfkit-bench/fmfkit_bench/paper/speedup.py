"""Scalability: speed-up against threads, and sigma and eta as they are."""

from __future__ import annotations

from fmfkit_bench.paper.cases import Case
from fmfkit_bench.paper.lab import PANEL, Curve, Lab, Training, method, parallel
from fmfkit_bench.results.sections import Cell, Figure, Line, Panel, Section, Table

ROUNDS = 2


def run(lab: Lab) -> Section:
    """Time rounds on 1, 2, ... threads; note sigma and eta of each set size."""
    teams = sorted({1, *(2**k for k in range(1, 10) if 2**k <= lab.threads), lab.threads})
    panels: list[Panel] = []
    rows: list[list[Cell]] = []
    for case in lab.tasks:
        timed = {by: _timed(lab, case, by, teams) for by in (parallel(case.sets[0]), PANEL)}
        panels.append(_panel(case, teams, timed))
        for by, seconds in timed.items():
            rows.append([case.title, by, *seconds, seconds[0] / seconds[-1]])
    columns = ["data", "method", *(f"s/round, {team} threads" if team > 1 else "s/round, 1 thread" for team in teams)]
    return Section(
        "speedup",
        "Scalability",
        "Seconds of a round against threads. Eta is the share of a lone step that parallel updates leave to a feature "
        "(1: none conflict; over the features of both sides), sigma the load of the busiest thread over the mean.",
        tables=[
            Table("Speed-up", [*columns, "speed-up"], rows),
            Table(
                "Eta and sigma",
                ["data", "method", "least eta", "lower quartile", "median", "sigma"],
                [_spread(lab, case, size) for case in lab.tasks for size in case.sets],
            ),
        ],
        figures=[Figure("speedup", "Speed-up of a round by threads, against one thread.", panels)],
    )


def _timed(lab: Lab, case: Case, by: str, teams: list[int]) -> list[float]:
    """Return the seconds of a round for each number of threads."""
    problem = lab.problem(case)
    seconds = []
    for team in teams:
        how = Training(problem=problem, solver=method(by), rounds=ROUNDS, seed=lab.seed, threads=team, judged=False)
        seconds.append(lab.train(case, how).seconds_per_round)
        lab.say(f"{case.title}, {by} on {team} threads: {seconds[-1]:.3f} s a round")
    return seconds


def _panel(case: Case, teams: list[int], timed: dict[str, list[float]]) -> Panel:
    x = [float(team) for team in teams]
    lines = [Line("linear", x, x)]
    lines += [Line(by, x, [seconds[0] / one for one in seconds]) for by, seconds in timed.items()]
    return Panel(case.title, "threads", "speed-up", lines)


def _spread(lab: Lab, case: Case, size: int) -> list[Cell]:
    by = parallel(size)
    curve: Curve = lab.curve(case, by)
    eta = curve.eta
    spread: list[Cell] = [None, None, None] if eta is None else [eta.minimum, eta.lower, eta.median]
    return [case.title, by, *spread, curve.sigma]


__all__ = ["run"]
