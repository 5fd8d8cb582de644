"""The targets that fmfkit sets itself for speed and memory, and how far they are met."""

from __future__ import annotations

from collections.abc import Iterable

import attrs
from fmfkit_bench.plain import Race
from fmfkit_bench.speed import Record

SIZES = {"ml10m": 1.0, "weibo": 0.1, "flickr": 0.05}
"""The shapes, and the parts of their full size, for which there are targets."""


@attrs.frozen
class Target:
    """A line of the table."""

    what: str
    measured: float
    must: float | None = None
    aim: float | None = None
    unit: str = "x"
    more: bool = True
    """Whether more is better."""

    @property
    def verdict(self) -> str:
        """Say whether it is met."""
        if self.must is None or self.aim is None:
            return ""
        sign = 1 if self.more else -1
        if sign * self.measured >= sign * self.aim:
            return "aim"
        return "must" if sign * self.measured >= sign * self.must else "missed"


def of_records(records: list[Record], full: bool) -> list[Target]:
    """Return what can be told from records: ratios at the largest number of threads, and between 1 and 2 threads.

    Goals count only where the shapes have the size that the targets name, ``full``.
    """
    targets = []
    for shape in dict.fromkeys(record.shape for record in records):
        here = [record for record in records if record.shape == shape]
        team = max(record.threads for record in here)
        at = {record.solver: record for record in here if record.threads == team}
        goals = full and shape == "ml10m"
        for solver, field, what, must, aim in (
            ("dimension", "seconds_per_round", "seconds per round against B = 1", 2.5, 4.0),
            ("dimension", "seconds_to_objective", "seconds to equal objective against B = 1", 2.5, 4.0),
            ("sgd", "seconds_to_test_error", "seconds to equal test error against grouped SGD", 1.3, 2.5),
        ):
            ratio = _ratio(at, solver, field)
            if ratio is not None:
                targets.append(Target(f"{shape}: {what}", ratio, must if goals else None, aim if goals else None))
        ratio = _ratio(at, "hogwild", "seconds_per_round")
        if ratio is not None:
            goal = (20.0, 50.0) if full else (None, None)
            targets.append(Target(f"{shape}: seconds per round against Hogwild!", ratio, *goal))
        targets += _threads(here, goals)
    return targets


def _ratio(at: dict[str, Record], solver: str, field: str) -> float | None:
    if solver not in at or "block" not in at:
        return None
    theirs, ours = getattr(at[solver], field), getattr(at["block"], field)
    return theirs / ours if theirs is not None and ours else None


def _threads(records: Iterable[Record], goals: bool) -> list[Target]:
    seconds = {record.threads: record.seconds_per_round for record in records if record.solver == "block"}
    if not {1, 2} <= set(seconds):
        return []
    shape = next(record.shape for record in records)
    ratio = seconds[1] / seconds[2]
    return [Target(f"{shape}: two threads against one", ratio, *((1.7, 1.9) if goals else (None, None)))]


def of_growth(exponents: dict[str, float]) -> list[Target]:
    """Return the lines for growth."""
    return [
        Target(f"growth of a round's time with {quantity}, exponent", slope, 1.1, 1.0, unit="", more=False)
        for quantity, slope in exponents.items()
    ]


def of_footprint(peak: int, full: bool) -> Target:
    """Return the line for memory."""
    must, aim = (700.0, 450.0) if full else (None, None)
    return Target("ml10m: peak memory of a process that trains", peak / 1e6, must, aim, unit=" MB", more=False)


def of_race(race: Race, full: bool) -> Target:
    """Return the line for plain matrix factorization."""
    goal = (0.7, 1.5) if full else (None, None)
    return Target("plain ml10m: seconds to equal test error against LIBMF", race.libmf_seconds / race.seconds, *goal)


def table(targets: list[Target]) -> str:
    """Return the table as text."""
    lines = [f"{'target':62}{'measured':>11}{'must':>8}{'aim':>8}"]
    for target in targets:
        goals = ["" if goal is None else f"{goal:g}{target.unit.strip()}" for goal in (target.must, target.aim)]
        measured = (
            f"{target.measured:.2f}{target.unit}" if target.measured < 100 else f"{target.measured:.0f}{target.unit}"
        )
        lines.append(f"{target.what:62}{measured:>11}{goals[0]:>8}{goals[1]:>8}  {target.verdict}".rstrip())
    return "\n".join(lines)
