from types import SimpleNamespace

import numpy as np
import pytest
from fmfkit_bench.peers.interface import Factors, Number
from fmfkit_bench.peers.judging import Judge, Watch
from fmfkit_bench.peers.search import Limits, search


class Steps:
    """A system whose error is given beforehand."""

    def __init__(self, errors, clock):
        self.errors, self.clock = errors, clock

    def knobs(self, task):
        return {"a": Number(1.0)}

    def train(self, task, settings, note):
        for error in self.errors:
            self.clock.now += 1
            if note(lambda error=error: Factors(np.zeros((1, 1)), np.zeros((1, 1)), error)):
                return


@pytest.fixture
def clock(monkeypatch):
    """A clock that only tests advance."""
    told = SimpleNamespace(now=0.0)
    for module in ("judging", "search"):
        fake = SimpleNamespace(perf_counter=lambda: told.now)
        monkeypatch.setattr(f"fmfkit_bench.peers.{module}.time", fake)
    return told


@pytest.fixture
def judged(npz, clock, task_of):
    task, judge = task_of(npz())

    class Slow(Judge):
        def value(self, trained):
            clock.now += 100
            return trained.query_bias

    return task, Slow(judge.test, judge.known, False, judge.queries)


def test_training_stops_after_rounds_without_a_better_one_and_judging_is_not_counted(judged, clock):
    task, judge = judged
    watch = Watch(judge, patience=3)
    Steps([3.0, 2.0, 2.5, 2.5, 2.5, 1.0], clock).train(task, {}, watch.note)
    assert watch.values == [3.0, 2.0, 2.5, 2.5, 2.5]
    assert watch.best == 2
    assert watch.seconds == [1.0, 2.0, 3.0, 4.0, 5.0]
    found = search(Steps([3.0, 2.0, 2.5], clock), task, judge, Limits(2, 1000.0))
    assert (found.rounds, found.value, found.trials, found.seconds) == (2, 2.0, 2, 606.0)


@pytest.mark.parametrize(("budget", "trials", "rounds"), [(1.0, 1, 1), (250.0, 2, 2)])
def test_a_search_ends_with_its_budget_but_has_one_trial(judged, clock, budget, trials, rounds):
    task, judge = judged
    found = search(Steps([3.0, 2.0], clock), task, judge, Limits(99, budget))
    assert (found.trials, found.rounds) == (trials, rounds)


class Fails(Steps):
    """A system that works with its first settings only, or with none."""

    def train(self, task, settings, note):
        if settings["a"] != self.errors:
            raise ValueError("senseless settings")
        note(lambda: Factors(np.zeros((1, 1)), np.zeros((1, 1)), 1.0))


def test_settings_that_fail_are_a_trial_and_a_system_fails_if_all_do(judged, clock):
    task, judge = judged
    found = search(Fails(1.0, clock), task, judge, Limits(4, 1e6))
    assert (found.trials, found.settings) == (4, {"a": 1.0})
    with pytest.raises(ValueError, match="senseless settings"):
        search(Fails(-1.0, clock), task, judge, Limits(2, 1e6))
