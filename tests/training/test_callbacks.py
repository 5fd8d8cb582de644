"""Ready-made callbacks: tolerance, progress, the best round."""

import io
import itertools

import pytest
from problems import Case

from fmfkit import (
    callbacks,
    fit,
)


def test_tolerance_stops_when_progress_is_small():
    model = fit(Case(dtype="float64").build(), rounds=500, callbacks=[callbacks.Tolerance(1e-3)])
    objectives = [record.objective for record in model.history]
    assert model.stopped == "the objective fell by less than 0.001 of itself"
    assert objectives[-2] - objectives[-1] < 1e-3 * objectives[-2]
    assert all(a - b >= 1e-3 * a for a, b in itertools.pairwise(objectives[:-1]))


def test_progress_prints_a_line_per_round_in_a_log():
    stream = io.StringIO()
    fit(Case().build(), rounds=2, callbacks=[callbacks.Progress("mine", stream)])
    lines = stream.getvalue().splitlines()
    assert [line.split("  objective")[0] for line in lines] == [f"mine  round {k}/2" for k in range(3)]


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_progress_writes_over_its_line_on_a_terminal():
    stream = Terminal()
    fit(Case().build(), rounds=2, callbacks=[callbacks.Progress("mine", stream)])
    assert stream.getvalue().count("\n") == 1
    assert stream.getvalue().count("\r") == 3


def test_progress_shows_a_bar_and_what_others_measured():
    def measure(event):
        event.measured["rmse"] = 1.25

    stream = Terminal()
    fit(Case().build(), rounds=2, callbacks=[measure, callbacks.Progress("mine", stream)])
    shown = stream.getvalue().split("\r\x1b[K")[1:]
    assert [line.partition("  ")[0] for line in shown] == ["░" * 16, "█" * 8 + "░" * 8, "█" * 16]
    assert all("rmse 1.2500" in line for line in shown)
    assert "s left" in shown[1]


@pytest.mark.parametrize("larger", [False, True])
def test_the_best_round_is_kept_and_a_fit_without_a_better_one_stops(larger):
    problem = Case().build()
    values = iter([3.0, 1.0, 5.0, 3.0, 4.0, 2.0, 2.0])
    keep = callbacks.KeepBest(lambda model: next(values), larger, "mine", patience=3)
    model = fit(problem, rounds=20, callbacks=keep)
    best = 2 if larger else 1
    assert keep.best.place == best
    assert len(keep.values) == best + 4
    assert model.stopped == "mine on the validation part has not improved for 3 rounds"
    restored = keep.restore(problem, model)
    assert restored.P.tobytes() == fit(problem, rounds=best).P.tobytes()
    assert (len(restored.history), restored.state.round) == (best + 1, best)


def test_nothing_that_was_not_measured_is_restored():
    model = fit(Case().build(), rounds=1)
    with pytest.raises(ValueError, match="no round was measured"):
        callbacks.KeepBest(lambda model: 0.0, False).restore(Case().build(), model)
