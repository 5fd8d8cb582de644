"""Rounds with one component and with another, timed in turn."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal

import attrs
import click
from fmfkit_bench.data.shapes import Shape
from fmfkit_bench.results.sections import Cell, Table

from fmfkit import Problem, RoundEvent, errors, fit, get_registry

COLUMNS = ["threads", "s/round", "spread", "ratio", "CPU s/round", "CPU spread", "CPU ratio"]
ABOUT = (
    "Medians over all rounds of all repeats, on the clock and in CPU time of all threads. The spread is the distance "
    "between the quartiles, as a part of the median."
)


@attrs.define
class Clock:
    """A callback that notes the seconds of each round, on the clock and of the processors."""

    wall: list[float] = attrs.field(factory=list)
    cpu: list[float] = attrs.field(factory=list)
    _before: float = 0.0

    def __call__(self, event: RoundEvent) -> None:
        """Note a round. The first event is the start."""
        now = time.process_time()
        if event.record.round > 0:
            self.wall.append(event.record.seconds)
            self.cpu.append(now - self._before)
        self._before = now


@attrs.frozen
class Plan:
    """How often and on how many threads rounds are timed."""

    rounds: int
    repeats: int
    threads: tuple[int, ...]

    def race(self, problems: Mapping[str, Problem], say: Callable[[str], None]) -> dict[tuple[str, int], Clock]:
        """Train all in turn, so that changes in the load of the machine affect all of them."""
        clocks: dict[tuple[str, int], Clock] = {}
        for _ in range(self.repeats):
            for team in self.threads:
                for name, problem in problems.items():
                    clock = clocks.setdefault((name, team), Clock())
                    model = fit(problem, rounds=self.rounds, threads=team, callbacks=clock)
                    seconds, objective = statistics.median(clock.wall), model.history[-1].objective
                    say(f"{name} on {team} threads: {seconds:.3f} s a round, {objective:.6g}")
        return clocks


def table(title: str, kind: str, clocks: Mapping[tuple[str, int], Clock], standard: str) -> Table:
    """Return the seconds of all, and their ratios to the one called ``standard``."""
    rows: list[list[Cell]] = []
    for (name, team), clock in clocks.items():
        other = clocks[standard, team]
        rows.append([name, team, *_cells(clock.wall, other.wall), *_cells(clock.cpu, other.cpu)])
    return Table(title, [kind, *COLUMNS], rows)


def _cells(seconds: list[float], others: list[float]) -> Iterator[Cell]:
    """Yield median, spread and ratio."""
    median = statistics.median(seconds)
    low, _, high = statistics.quantiles(seconds, method="inclusive") if len(seconds) > 1 else [median] * 3
    yield from (median, (high - low) / median, median / statistics.median(others))


def checked(
    kind: Literal["loss", "regularizer"],
) -> Callable[[click.Context, click.Parameter, tuple[str, ...]], tuple[str, ...]]:
    """Return a click callback that refuses names that no plugin offers."""

    def check(context: click.Context, parameter: click.Parameter, names: tuple[str, ...]) -> tuple[str, ...]:
        for name in names:
            try:
                get_registry().create(kind, name)
            except (errors.UnknownNameError, errors.PluginLoadError) as error:
                raise click.BadParameter(str(error)) from error
        return names

    return check


def replaced(shape: Shape, problem: Problem, name: str, **changes: Any) -> Problem:
    """Return a shape's problem with the component called ``name`` in place of its own."""
    try:
        return problem.replace(**changes)
    except ValueError as error:
        raise click.ClickException(f"{name} cannot be trained on {shape.name}: {error}; try another --shape") from error


__all__ = ["ABOUT", "Clock", "Plan", "checked", "replaced", "table"]
