"""The search for settings, the same for every system: random steps from the best so far, on a validation part."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
import scipy.sparse as sp
from fmfkit_bench import machine
from fmfkit_bench.peers.interface import Choice, Knobs, Number, Peer, Rows, Settings, Task, Trained

from fmfkit import Dataset, metrics

PATIENCE = 4
WIDEST, NARROWEST, NARROWING = 1.5, 0.4, 0.95
"""The spread of a step, in powers of e: at first, at last, and from one to the next."""
JUDGED_QUERIES = 2000
"""Rankings are judged by so many queries while settings are searched."""


@attrs.frozen(eq=False)
class Judge:
    """Held-out pairs, and the metric that decides: the RMSE, or MAP@10."""

    test: Dataset
    known: sp.csr_matrix
    """The training pairs, which are not ranked."""
    ranking: bool
    queries: Rows

    @classmethod
    def of(cls, task: Task, test: Dataset, queries: int | None = None) -> Judge:
        """Judge by the pairs of ``test``; rankings by some of its queries, or all."""
        rows = np.unique(test.query)
        if queries is not None and len(rows) > queries:
            rows = np.sort(np.random.default_rng(0).choice(rows, queries, replace=False))
        return cls(test, task.matrix, task.ranking, rows)

    def value(self, trained: Trained) -> float:
        """Return the metric that decides."""
        if not self.ranking:
            return metrics.rmse(self.test.score, trained.score(self.test.query, self.test.target))
        return self._ranking(trained, 10).map(10)

    def everything(self, trained: Trained) -> dict[str, float]:
        """Return all metrics that are told."""
        if not self.ranking:
            return {"RMSE": self.value(trained)}
        ranking = self._ranking(trained, self.test.shape[1])
        return {"P@1": ranking.precision(1), "MAP": ranking.map(), "MAP@5": ranking.map(5)}

    def _ranking(self, trained: Trained, k: int) -> metrics.Ranking:
        relevant = self.test.matrix[self.queries]
        return metrics.Ranking.of(trained.top(self.queries, min(k, relevant.shape[1]), self.known), relevant)

    def better(self, a: float, b: float) -> bool:
        """Tell whether one value is better than another; NaN is worse than any."""
        return bool(np.isnan(b) and not np.isnan(a)) or (a > b if self.ranking else a < b)


@attrs.define
class Watch:
    """What is seen of a training: the deciding metric and the seconds of training after each round."""

    judge: Judge
    patience: int | None = None
    """Stop after so many rounds without a better value."""
    deadline: float = np.inf
    """Stop at this time."""
    values: list[float] = attrs.field(factory=list)
    seconds: list[float] = attrs.field(factory=list)
    last: Trained | None = None
    peak: int | None = None
    """The most memory that training has had, judging left out."""
    _began: float = attrs.field(factory=lambda: time.perf_counter())

    def note(self, give: Callable[[], Trained]) -> bool:
        """Judge the model of a round; see ``interface.Note``."""
        spent = time.perf_counter() - self._began
        self.seconds.append((self.seconds[-1] if self.seconds else 0.0) + spent)
        now = machine.peak_bytes()
        self.peak = now if self.peak is None or now is None else max(self.peak, now)
        self.last = give()
        self.values.append(self.judge.value(self.last))
        stop = self.patience is not None and len(self.values) - self.best >= self.patience
        machine.reset_peak()
        self._began = time.perf_counter()
        return stop or self._began > self.deadline

    @property
    def best(self) -> int:
        """The best round, from 1."""
        best = 0
        for k, value in enumerate(self.values):
            if self.judge.better(value, self.values[best]):
                best = k
        return best + 1


@attrs.frozen
class Found:
    """The outcome of a search."""

    settings: Settings
    rounds: int
    value: float
    """The deciding metric on the validation part."""
    trials: int
    seconds: float


def search(peer: Peer, task: Task, judge: Judge, trials: int, budget: float, seed: int) -> Found:
    """Try settings until there were ``trials``, or ``budget`` seconds are over; at least one.

    Seconds are those of the clock, judging included; the last trial is cut short at twice the budget.
    """
    rng = np.random.default_rng([seed, 7])
    knobs = peer.knobs(task)
    began = time.perf_counter()
    best: Found | None = None
    failed: Exception | None = None
    n = 0
    while n < trials and (n == 0 or time.perf_counter() - began < budget):
        settings = start(knobs) if n == 0 else step(knobs, start(knobs) if best is None else best.settings, rng, n)
        watch = Watch(judge, PATIENCE, deadline=began + 2 * budget)
        n += 1
        try:
            peer.train(task, settings, watch.note)
        except Exception as error:  # settings that do not work are a trial like any other
            failed = error
            continue
        value = watch.values[watch.best - 1]
        if best is None or judge.better(value, best.value):
            best = Found(settings, watch.best, value, n, 0.0)
    if best is None:
        assert failed is not None
        raise failed
    return attrs.evolve(best, trials=n, seconds=time.perf_counter() - began)


def start(knobs: Knobs) -> Settings:
    """Return the settings to begin with."""
    return {
        name: _kept(knob, knob.start) if isinstance(knob, Number) else knob.options[0] for name, knob in knobs.items()
    }


def step(knobs: Knobs, best: Settings, rng: np.random.Generator, n: int) -> Settings:
    """Change one to three settings: numbers by a factor, choices to any of theirs."""
    spread = max(NARROWEST, WIDEST * NARROWING**n)
    names = list(knobs)
    changed: Settings = dict(best)
    for name in rng.choice(names, min(len(names), int(rng.integers(1, 4))), replace=False):
        knob = knobs[str(name)]
        if isinstance(knob, Choice):
            changed[str(name)] = knob.options[int(rng.integers(len(knob.options)))]
        else:
            changed[str(name)] = _kept(knob, best[str(name)] * float(np.exp(spread * rng.normal())))
    return changed


def _kept(knob: Number, value: float) -> Any:
    """Return a number within its bounds."""
    value = min(max(value, knob.least), knob.most)
    return round(value) if knob.whole else float(value)


__all__ = ["Found", "Judge", "Watch", "search"]
