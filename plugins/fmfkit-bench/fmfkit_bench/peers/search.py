"""The search for a system's settings on a validation part, the same for every system."""

from __future__ import annotations

import time

import attrs
import numpy as np
from fmfkit_bench.peers.interface import Peer, Task
from fmfkit_bench.peers.judging import Judge, Watch

from fmfkit.search import Search, Settings, start

PATIENCE = 4
"""A trial stops after so many rounds without a better one."""


@attrs.frozen
class Limits:
    """When a search ends."""

    trials: int
    seconds: float


@attrs.frozen
class Found:
    """The outcome of a search."""

    settings: Settings
    rounds: int
    value: float
    """The deciding metric on the validation part."""
    trials: int
    seconds: float
    begin: Settings = attrs.field(factory=dict)
    """The settings that it began with: what users get who give none."""
    begin_rounds: int = 0
    """The rounds that were best with them; 0 where they do not work."""

    @property
    def without_search(self) -> Found | None:
        """What would have been found by the first trial alone."""
        return attrs.evolve(self, settings=self.begin, rounds=self.begin_rounds) if self.begin_rounds else None


def search(peer: Peer, task: Task, judge: Judge, limits: Limits) -> Found:
    """Try settings until the trials or the seconds are used up; at least one, and one alone where there are no knobs.

    Seconds are those of the clock, judging included; the last trial is cut short at twice the limit.
    """
    named = peer.knobs(task)
    most = limits.trials if named else 1
    knobs = Search(named, np.random.default_rng([task.seed, 7]), larger=judge.ranking)
    rounds, begin, begin_rounds = 0, start(named), 0
    began = time.perf_counter()
    failed: Exception | None = None
    n = 0
    while n < most and (n == 0 or time.perf_counter() - began < limits.seconds):
        n += 1
        settings = knobs.propose()
        watch = Watch(judge, PATIENCE, deadline=began + 2 * limits.seconds)
        try:
            peer.train(task, settings, watch.note)
        except Exception as error:  # settings that do not work are a trial like any other
            failed = error
            continue
        value = watch.values[watch.best - 1]
        begin_rounds = watch.best if n == 1 else begin_rounds
        if knobs.tell(settings, value):
            rounds = watch.best
    if knobs.best.item is None:
        assert failed is not None
        raise failed
    seconds = time.perf_counter() - began
    return Found(knobs.best.item, rounds, knobs.best.value, n, seconds, begin, begin_rounds)


__all__ = ["Found", "Limits", "search"]
