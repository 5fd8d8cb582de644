"""Solvers side by side: how each is run, and what is noted of every round."""

from __future__ import annotations

import statistics
from collections.abc import Callable

import attrs
import numpy as np
from fmfkit_bench import core
from fmfkit_bench.data.shapes import Shape
from fmfkit_bench.speed import machine

from fmfkit import Problem, RoundEvent, Solver, fit

SAMPLED_PAIRS = 100_000
"""Hogwild! is run on about this many pairs, where there are more, and its time multiplied."""


@attrs.frozen
class Contestant:
    """A solver as the benchmark runs it."""

    about: str
    make: Callable[[Shape], Solver]
    patience: int = 1
    """How many rounds it may take for each round of the others."""
    sets_error: bool = False
    """Whether the test error to reach is one that it reaches."""
    sampled: bool = False
    """Whether it is so slow that it is run on a part of the pairs."""


SOLVERS = {
    "panel": Contestant("the default: a panel of dimensions together", lambda shape: core.panel(), sets_error=True),
    "pl2m": Contestant("the paper's Algorithm 3, one dimension at a time", lambda shape: core.pl2m()),
    "l2m": Contestant("the paper's Algorithm 2, feature by feature", lambda shape: core.l2m()),
    "sgd": Contestant("grouped SGD", lambda shape: core.grouped_sgd(shape.rate, 0.8), patience=2, sets_error=True),
    "hogwild": Contestant("Hogwild! pair by pair", lambda shape: core.hogwild(shape.rate / 10), sampled=True),
}


@attrs.define
class Run:
    """One fit: a value per round, from the start on."""

    seconds: list[float] = attrs.field(factory=list)
    objective: list[float] = attrs.field(factory=list)
    test_error: list[float] = attrs.field(factory=list)
    peak: int | None = None
    sample: float = 1.0
    """The part of the pairs that it was trained on."""

    def watch(self, shape: Shape) -> Callable[[RoundEvent], None]:
        """Return the callback that notes each round; the test error is measured outside the time of the rounds."""

        def note(event: RoundEvent) -> None:
            self.seconds.append(event.record.seconds)
            self.objective.append(event.record.objective)
            self.test_error.append(shape.test_error(event.model()))

        return note

    def seconds_per_round(self) -> float:
        """Return the median, for all pairs."""
        return statistics.median(self.seconds[1:]) / self.sample

    def time_to(self, series: list[float], goal: float) -> float | None:
        """Return the seconds until a series first was at or below a goal, interpolated between rounds."""
        reached = np.flatnonzero(np.asarray(series) <= goal)
        if not reached.size or self.sample < 1:
            return None
        last, elapsed = int(reached[0]), np.cumsum(self.seconds)
        if last == 0:
            return 0.0
        share = (series[last - 1] - goal) / (series[last - 1] - series[last])
        return float(elapsed[last - 1] + share * self.seconds[last])


Runs = dict[tuple[str, int], list[Run]]
"""By solver and threads."""


@attrs.frozen(eq=False, kw_only=True)
class Course:
    """What solvers are raced on."""

    shape: Shape
    """Without what only training needs, to keep memory small."""
    scale: float
    problem: Problem
    sampled: Problem | None
    """A part of the pairs, for solvers that are run on a part."""
    part: float
    solvers: tuple[str, ...]
    threads: tuple[int, ...]
    rounds: int
    repeats: int
    seed: int

    def run(self, name: str, threads: int, seed: int) -> Run:
        """Fit once."""
        contestant = SOLVERS[name]
        problem = self.sampled if contestant.sampled and self.sampled is not None else self.problem
        result = Run(sample=1.0 if problem is self.problem else self.part)
        rounds = 1 if result.sample < 1 else self.rounds * contestant.patience
        measured = machine.reset_peak()
        solver = contestant.make(self.shape)
        fit(problem, solver=solver, rounds=rounds, threads=threads, seed=seed, callbacks=result.watch(self.shape))
        result.peak = machine.peak_bytes() if measured else None
        return result

    def race(self, say: Callable[[str], None]) -> Runs:
        """Run all solvers in turn, so that changes in the load of the machine affect all of them."""
        say(f"{self.problem!r}")
        runs: Runs = {}
        for repeat in range(self.repeats):
            for name in self.solvers:
                for team in self.threads:
                    one = self.run(name, team, self.seed + repeat)
                    runs.setdefault((name, team), []).append(one)
                    say(
                        f"{self.shape.name} {name} on {team} threads: {one.seconds_per_round():.3f} s a round, "
                        f"objective {one.objective[-1]:.6g}, test error {min(one.test_error):.5f}"
                    )
        return runs


__all__ = ["SOLVERS", "Contestant", "Course", "Run", "Runs"]
