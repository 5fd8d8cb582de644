"""A search for good settings: along one setting after another, then random steps from the best so far.

A *knob* is a setting that may be changed: a number or a choice. A search begins with the settings that the knobs name.
Numbers with a *stride* come first, one after another: the number is multiplied by the stride as long as that is better,
or else divided by it. Then come steps away from the best settings so far: one to three knobs are changed at a time,
numbers by a random factor, choices to any of their options. The factors become smaller from step to step::

    search = Search({"l2": Number(0.5, stride=2), "loss": Choice(("square", "logistic"))}, np.random.default_rng(0))
    for _ in range(40):
        settings = search.propose()
        search.tell(settings, error_of(settings))
    search.best.item

Values are compared by ``better``: NaN is worse than any number. This module imports NumPy and attrs only.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Generic, TypeVar

import attrs
import numpy as np

Item = TypeVar("Item")
Settings = dict[str, Any]
"""A value for each knob, by name."""


@attrs.frozen
class Number:
    """A setting that is a number of at least 0: a step multiplies it, and keeps it within its bounds."""

    start: float
    least: float = 0.0
    most: float = math.inf
    whole: bool = False
    """Whether it is rounded to a whole number."""
    stride: float | None = None
    """The factor by which it is changed first, before any random step."""

    def kept(self, value: float) -> float:
        """Return the value that is nearest within the bounds."""
        value = min(max(value, self.least), self.most)
        return round(value) if self.whole else float(value)


@attrs.frozen
class Choice:
    """A setting that is one of some options; a search begins with the first."""

    options: tuple[Any, ...] = attrs.field(validator=attrs.validators.min_len(1))


Knobs = Mapping[str, Number | Choice]


@attrs.frozen
class Pace:
    """How large steps are: the standard deviation of the logarithm of a factor."""

    widest: float = 1.5
    """Of the first step."""
    narrowest: float = 0.4
    """Of the last steps."""
    narrowing: float = 0.95
    """What it is multiplied by from one step to the next."""

    def spread(self, n: int) -> float:
        """Return the standard deviation of the n-th step."""
        return max(self.narrowest, self.widest * self.narrowing**n)


PACE = Pace()


def start(knobs: Knobs) -> Settings:
    """Return the settings that a search begins with.

    Args:
        knobs: what is searched.
    """
    return {
        name: knob.kept(knob.start) if isinstance(knob, Number) else knob.options[0] for name, knob in knobs.items()
    }


def step(knobs: Knobs, best: Settings, rng: np.random.Generator, n: int, pace: Pace = PACE) -> Settings:
    """Return settings one step away from the best: one to three knobs are changed.

    Args:
        knobs: what may be changed.
        best: the settings to step away from.
        rng: the source of random numbers; the same state gives the same step.
        n: the number of the step, which decides how large it is.
        pace: how large steps are.
    """
    spread = pace.spread(n)
    names = list(knobs)
    changed = dict(best)
    for name in map(str, rng.choice(names, min(len(names), int(rng.integers(1, 4))), replace=False)):
        knob = knobs[name]
        if isinstance(knob, Choice):
            changed[name] = knob.options[int(rng.integers(len(knob.options)))]
        else:
            changed[name] = knob.kept(best[name] * float(np.exp(spread * rng.normal())))
    return changed


def better(a: float, b: float, *, larger: bool) -> bool:
    """Return whether one value is better than another; NaN is worse than any number.

    Args:
        a: a value.
        b: another one.
        larger: whether larger ones are better.
    """
    if math.isnan(a) or math.isnan(b):
        return not math.isnan(a) and math.isnan(b)
    return a > b if larger else a < b


@attrs.define
class BestSoFar(Generic[Item]):
    """The best of the values seen so far, the first of equal ones, and what it belongs to."""

    larger: bool
    """Whether larger values are better."""
    value: float = math.nan
    item: Item | None = None
    place: int = -1
    """The number of the best value among those seen, from 0; -1 before the first."""
    seen: int = 0
    """How many values were seen."""

    def note(self, value: float, item: Item) -> bool:
        """Look at a further value, and return whether it is the best now. The first value always is.

        Args:
            value: how good it is.
            item: what it is.
        """
        self.seen += 1
        if self.seen > 1 and not better(value, self.value, larger=self.larger):
            return False
        self.value, self.item, self.place = value, item, self.seen - 1
        return True

    @property
    def since(self) -> int:
        """How many values were seen after the best one."""
        return self.seen - 1 - self.place


def best_place(values: Iterable[float], *, larger: bool) -> int:
    """Return the place of the best value, the first of equal ones.

    Args:
        values: some values.
        larger: whether larger ones are better.
    """
    best = BestSoFar[None](larger)
    for value in values:
        best.note(value, None)
    if best.place < 0:
        raise ValueError("best_place: expected at least one value")
    return best.place


@attrs.define
class Search:
    """Proposes settings, and learns how good they are."""

    knobs: Knobs
    rng: np.random.Generator
    larger: bool = False
    """Whether larger values are better."""
    pace: Pace = PACE
    best: BestSoFar[Settings] = attrs.field(init=False)
    _proposals: Iterator[Settings] = attrs.field(init=False, eq=False, repr=False)

    def __attrs_post_init__(self) -> None:
        """Begin without a best value."""
        self.best = BestSoFar(self.larger)
        self._proposals = self._all()

    def propose(self) -> Settings:
        """Return settings to try: the knobs' own, then along the knobs that have a stride, then random steps."""
        return next(self._proposals)

    def lines(self) -> Iterator[Settings]:
        """Return all proposals before the random steps; each must be told before the next is asked for."""
        yield start(self.knobs)
        for name, knob in self.knobs.items():
            if isinstance(knob, Number) and knob.stride is not None:
                yield from self._along(name, knob, knob.stride)

    def tell(self, settings: Settings, value: float) -> bool:
        """Say how good settings are, and return whether they are the best now; settings that failed are not told.

        Args:
            value: how good the settings are that were asked for last.
        """
        return self.best.note(value, settings)

    def _all(self) -> Iterator[Settings]:
        yield from self.lines()
        for n in itertools.count(1):
            yield step(self.knobs, self._from(), self.rng, n, self.pace)

    def _from(self) -> Settings:
        """Return the settings to step away from."""
        return start(self.knobs) if self.best.item is None else self.best.item

    def _along(self, name: str, knob: Number, stride: float) -> Iterator[Settings]:
        """Multiply or divide one number as long as it gets better."""
        for factor in (stride, 1 / stride):
            before = self._from()
            while (value := knob.kept(self._from()[name] * factor)) != self._from()[name]:
                yield (tried := self._from() | {name: value})
                if self.best.item != tried:
                    break
            if self._from() != before:
                return  # the other direction was left behind


__all__ = [
    "PACE",
    "BestSoFar",
    "Choice",
    "Knobs",
    "Number",
    "Pace",
    "Search",
    "Settings",
    "best_place",
    "better",
    "start",
    "step",
]
