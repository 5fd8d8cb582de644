"""Where a round of the default solver spends its time, phase by phase, beside what the machine can do.

For each kind of phase: the bytes that it streams, the lines of 64 bytes that it gathers, and its floating-point
operations, none of which it can do without, with perfect caches. Each has a rate that the machine was measured to reach
at most, gathering from the nearest cache; the one that takes longest at that rate is the phase's limit.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable
from typing import Any

import attrs
from fmfkit_bench import core
from fmfkit_bench.results.sections import Cell, Section, Table
from fmfkit_bench.speed import machine

from fmfkit import Problem, fit
from fmfkit.kernels import PANEL, PhaseTime, watched_phases

LINE = 64
MATRIX = PANEL * (PANEL // 2 + 1)
"""Numbers that hold a row's A."""
DIRECTIONS = 2
COLUMNS = ["phase", "seconds", "of the round", "GB", "million lines", "GFLOP", "limit", "share of the limit"]


@attrs.frozen
class Work:
    """What has to be moved and done."""

    bytes: float = 0.0
    lines: float = 0.0
    flops: float = 0.0

    def __add__(self, other: Work) -> Work:
        """Return both together."""
        return Work(self.bytes + other.bytes, self.lines + other.lines, self.flops + other.flops)

    def __rmul__(self, times: float) -> Work:
        """Return so many times the work."""
        return Work(times * self.bytes, times * self.lines, times * self.flops)

    def at_best(self, able: machine.Rates) -> tuple[str, float]:
        """Return what limits it, and the least seconds that it can take."""
        least = {
            "bytes": self.bytes / able.bytes,
            "gathering": self.lines / able.lines,
            "arithmetic": self.flops / able.flops,
        }
        limit = max(least, key=lambda name: least[name])
        return limit, least[limit]


def work(problem: Problem) -> dict[str, Work]:
    """Return the work of a round, by kind of phase; kinds that are not here take next to nothing."""
    total: dict[str, Work] = {}
    for side in problem.sides:
        for name, one in _of_side(problem, side).items():
            total[name] = total.get(name, Work()) + one
    return total


def _of_side(problem: Problem, side: Any) -> dict[str, Work]:
    X, pairs, real = side.features, problem.pairs, problem.dtype.itemsize
    rows, rank = X.rows, problem.rank
    updates = math.ceil(rank / PANEL) + (side.bias_slot is not None)
    of_V = math.ceil((rank + 2) * real / LINE)
    panel = PANEL * real
    if not X.shared.any():
        own = Work(
            pairs * (4 + 2 * real) + 2 * rows * rank * real,
            pairs * of_V,
            pairs * rank * (2 + 2 + 2 + PANEL + 1),
        )
        return {"rows_of_chunk": own}
    shared = X.nonzeros - int((X.own >= 0).sum())
    valued = real if X.row_value is not None else 0
    strips = math.ceil((rank + 1) * real / LINE)
    read = Work(shared * (4 + valued), shared * panel / LINE)
    strip = Work(shared * (4 + valued), shared)
    moved = 2 * PANEL * pairs
    return {
        "panel_pass": updates
        * Work(
            pairs * (4 + 3 * real) + rows * (PANEL + MATRIX) * real,
            pairs * 2 * panel / LINE,
            moved + 2 * PANEL * pairs + pairs * PANEL * (PANEL + 1),
        )
        + Work(lines=pairs * of_V, flops=2 * pairs * rank),
        "view_features": updates * (read + Work(lines=shared * panel / LINE, flops=4 * PANEL * shared)),
        "push_and_take": updates * (DIRECTIONS - 1) * (read + Work(flops=2 * PANEL * shared)),
        "embed_scaled": updates
        * DIRECTIONS
        * (read + Work(rows * (2 * panel + MATRIX * real), flops=2 * PANEL * shared + 2 * rows * PANEL**2)),
        "show_direction": updates
        * DIRECTIONS
        * Work(rows * (6 * panel + MATRIX * real), flops=rows * (2 * PANEL**2 + 8 * PANEL)),
        "move_along": updates * Work(rows * (8 * panel + MATRIX * real), flops=rows * (PANEL**3 / 3 + 4 * PANEL**2)),
        "embed_rows": strips * (strip + Work(rows * LINE, flops=2 * shared * LINE / real)),
    }


def measure(problem: Problem, threads: int, rounds: int) -> tuple[list[PhaseTime], float]:
    """Fit, and return the seconds of a round by kind of phase, and of a whole round."""
    with watched_phases() as first:  # what is done once, and a round
        fit(problem, solver=core.panel(), rounds=1, threads=threads)
    with watched_phases() as times:
        model = fit(problem, solver=core.panel(), rounds=1 + rounds, threads=threads)
    start = {time.name: time.seconds for time in first}
    seconds = statistics.fmean(record.seconds for record in model.history[2:])
    each = [attrs.evolve(time, seconds=(time.seconds - start.get(time.name, 0.0)) / rounds) for time in times]
    return sorted(each, key=lambda time: -time.seconds), seconds


def section(
    shape: str, problem: Problem, threads: int, rounds: int, say: Callable[[str], None]
) -> tuple[Section, float]:
    """Return the table of the phases, and the share of the machine's limit that a round reaches."""
    able = machine.rates(threads)
    say(f"{shape}: phases on {threads} threads")
    times, seconds = measure(problem, threads, rounds)
    needed = work(problem)
    rows: list[list[Cell]] = []
    least = 0.0
    for time in times:
        if time.seconds < 0.002 * seconds:
            continue
        one = needed.get(time.name)
        row: list[Cell] = [time.name, time.seconds, time.seconds / seconds]
        if one is None:
            rows.append(row + [None] * 5)
            continue
        limit, best = one.at_best(able)
        least += best
        rows.append([*row, one.bytes / 1e9, one.lines / 1e6, one.flops / 1e9, limit, best / time.seconds])
    rows.append(["round", seconds, 1.0, None, None, None, None, least / seconds])
    about = (
        f"One round of the default solver on {threads} threads. Bytes are streamed, lines of 64 bytes gathered from "
        f"all over memory. This machine streams {able.bytes / 1e9:.1f} GB/s, gathers {able.lines / 1e6:.0f} million "
        f"lines a second from the nearest cache, and does {able.flops / 1e9:.0f} GFLOP/s."
    )
    table = Table(f"{shape}: phases on {threads} threads", COLUMNS, rows)
    return Section(
        f"phases-{shape}-{threads}", f"{shape}: where a round's time goes", about, tables=[table]
    ), least / seconds


__all__ = ["Work", "measure", "section", "work"]
