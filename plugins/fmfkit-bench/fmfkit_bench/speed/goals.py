"""The goals that fmfkit sets itself for speed and memory, and how far they are met."""

from __future__ import annotations

import attrs
from fmfkit_bench.results.sections import Cell, Claim, Section, Table
from fmfkit_bench.speed.plain import Race
from fmfkit_bench.speed.records import Record

SOLVERS = ("panel", "pl2m", "sgd", "hogwild")
"""The solvers that the goals compare."""
SIZES = {"ml10m": 1.0, "weibo": 0.1, "flickr": 0.05}
"""The shapes, and the parts of their full size, for which there are goals."""


@attrs.frozen
class Goal:
    """What is measured, what it must be, and what it should be."""

    what: str
    measured: float
    must: float | None = None
    aim: float | None = None
    unit: str = "x"
    more: bool = True
    """Whether more is better."""

    def shown(self, value: float | None) -> str | None:
        """Return a value with its unit."""
        return None if value is None else f"{value:.3g}{self.unit}" if value < 100 else f"{value:.0f}{self.unit}"

    @property
    def verdict(self) -> str:
        """Whether it is met: "aim", "must" or "missed"; nothing where no goal applies."""
        if self.must is None or self.aim is None:
            return ""
        sign = 1 if self.more else -1
        if sign * self.measured >= sign * self.aim:
            return "aim"
        return "must" if sign * self.measured >= sign * self.must else "missed"


def of_records(records: list[Record], full: bool) -> list[Goal]:
    """Return what follows from records: ratios at the largest number of threads, and between 1 and 2 threads.

    The goals apply only where the shapes have the size that ``SIZES`` names, ``full``.
    """
    goals = []
    for shape in dict.fromkeys(record.shape for record in records):
        here = [record for record in records if record.shape == shape]
        team = max(record.threads for record in here)
        at = {record.solver: record for record in here if record.threads == team}
        applies = full and shape == "ml10m"
        for solver, field, what, must, aim in (
            ("pl2m", "seconds_per_round", "seconds per round against PL2M", 2.5, 4.0),
            ("pl2m", "seconds_to_objective", "seconds to equal objective against PL2M", 2.5, 4.0),
            ("sgd", "seconds_to_test_error", "seconds to equal test error against grouped SGD", 1.8, 2.5),
        ):
            ratio = _ratio(at, solver, field)
            if ratio is not None:
                goals.append(Goal(f"{shape}: {what}", ratio, must if applies else None, aim if applies else None))
        ratio = _ratio(at, "hogwild", "seconds_per_round")
        if ratio is not None:
            limits = (50.0, 100.0) if full else (None, None)
            goals.append(Goal(f"{shape}: seconds per round against Hogwild!", ratio, *limits))
        goals += _threads(here, applies)
    return goals


def _ratio(at: dict[str, Record], solver: str, field: str) -> float | None:
    if solver not in at or "panel" not in at:
        return None
    theirs, ours = getattr(at[solver], field), getattr(at["panel"], field)
    return theirs / ours if theirs is not None and ours else None


def _threads(records: list[Record], applies: bool) -> list[Goal]:
    limits = {"panel": (1.85, 1.95), "pl2m": (1.7, 1.9)}
    found = []
    for solver in limits:
        seconds = {record.threads: record.seconds_per_round for record in records if record.solver == solver}
        if {1, 2} <= set(seconds):
            must, aim = limits[solver] if applies else (None, None)
            name = "" if solver == "panel" else f", {solver.upper()}"
            found.append(Goal(f"{records[0].shape}: two threads against one{name}", seconds[1] / seconds[2], must, aim))
    return found


def of_busy(seconds: dict[int, float], full: bool) -> Goal:
    """Return the goal for two threads where another process keeps a core busy."""
    must, aim = (1.0, 1.2) if full else (None, None)
    return Goal("ml10m: two threads against one, a core busy elsewhere", seconds[1] / seconds[2], must, aim)


def of_before(ratios: dict[int, float], full: bool) -> list[Goal]:
    """Return the goals for the version that the targets were set with."""
    must, aim = (1.3, 1.7) if full else (None, None)
    return [
        Goal(f"ml10m: seconds per round against the version before, {threads} threads", ratio, must, aim)
        for threads, ratio in ratios.items()
    ]


def of_limit(share: float, full: bool) -> Goal:
    """Return the goal for the machine's limit."""
    must, aim = (1 / 3, 1 / 2) if full else (None, None)
    return Goal("ml10m: share of the machine's limit", share, must, aim, unit="")


def of_growth(exponents: dict[str, float]) -> list[Goal]:
    """Return the goals for growth."""
    return [
        Goal(f"growth of a round's time with {quantity}, exponent", slope, 1.1, 1.0, unit="", more=False)
        for quantity, slope in exponents.items()
    ]


def of_footprint(peak: int, full: bool) -> Goal:
    """Return the goal for memory."""
    must, aim = (480.0, 450.0) if full else (None, None)
    return Goal("ml10m: peak memory of a process that trains", peak / 1e6, must, aim, unit=" MB", more=False)


def of_race(race: Race, full: bool) -> list[Goal]:
    """Return the goals for plain matrix factorization."""
    limits = (1.3, 1.5) if full else (None, None)
    best = (1.0, 1.0) if full else (None, None)
    return [
        Goal("plain ml10m: seconds to equal test error against LIBMF", race.libmf_seconds / race.seconds, *limits),
        Goal(
            "plain ml10m: LIBMF's best test error against ours, strengths learnt",
            race.libmf_best / race.learnt_best,
            *best,
        ),
    ]


def section(goals: list[Goal]) -> Section:
    """Return the table of the goals, and a claim for each that applies."""
    rows: list[list[Cell]] = [
        [goal.what, goal.shown(goal.measured), goal.shown(goal.must), goal.shown(goal.aim), goal.verdict or None]
        for goal in goals
    ]
    return Section(
        "goals",
        "Goals for speed and memory",
        "A ratio says how many times as long the other solver takes. The goals apply where the data has its full size.",
        tables=[Table("Goals", ["goal", "measured", "must", "aim", "verdict"], rows)],
        claims=[
            Claim(
                goal.what,
                "all data",
                goal.verdict != "missed",
                f"{goal.shown(goal.measured)}, must be {goal.shown(goal.must)}, should be {goal.shown(goal.aim)}",
            )
            for goal in goals
            if goal.verdict
        ],
    )


__all__ = [
    "SIZES",
    "Goal",
    "of_before",
    "of_busy",
    "of_footprint",
    "of_growth",
    "of_limit",
    "of_race",
    "of_records",
    "section",
]
