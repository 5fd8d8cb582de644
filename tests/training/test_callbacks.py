"""Ready-made callbacks: tolerance, progress, the best round."""

import io
import itertools
import json
import logging
from types import SimpleNamespace

import pytest
from fake_plugins import plugin, registry
from problems import Case

from fmfkit import Spec, callbacks, fit
from fmfkit.errors import UnknownNameError
from fmfkit.plugins import registry as registry_module
from fmfkit.solvers import Sequence, Stage


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


def test_progress_draws_a_bar_that_is_written_over_and_shows_what_others_measured():
    def measure(event):
        event.measured["rmse"] = 1.25

    stream = Terminal()
    fit(Case().build(), rounds=2, callbacks=[measure, callbacks.Progress("mine", stream)])
    shown = stream.getvalue()
    assert shown.count("\n") == 1
    assert "mine: 100%" in shown.rpartition("\r")[2]
    assert "2/2" in shown.rpartition("\r")[2]
    assert "rmse 1.2500" in shown.rpartition("\r")[2]


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


def test_a_composed_fit_goes_on_from_its_best_round_as_if_it_had_stopped_there():
    problem, values = Case().build(), iter([3.0, 1.0, 2.0, 2.0, 2.0])
    solver = Sequence(Stage("panel", rounds=2), "l2m")
    keep = callbacks.KeepBest(lambda model: next(values), False, "mine", patience=3)
    restored = keep.restore(problem, fit(problem, solver=solver, rounds=9, callbacks=keep))
    resumed = fit(problem, solver=solver, rounds=3, init=restored)
    assert [record.stage for record in resumed.history[1:]] == ["1 Panel", "2 L2M", "2 L2M"]
    assert resumed.P.tobytes() == fit(problem, solver=solver, rounds=4).P.tobytes()


def test_nothing_that_was_not_measured_is_restored():
    model = fit(Case().build(), rounds=1)
    with pytest.raises(ValueError, match="no round was measured"):
        callbacks.KeepBest(lambda model: 0.0, False).restore(Case().build(), model)


def test_a_line_on_a_terminal_ends_with_the_fit_whoever_stops_it():
    stream = Terminal()
    stop = [callbacks.Progress("mine", stream), lambda event: event.record.round == 1 and event.stop("enough")]
    fit(Case().build(), rounds=5, callbacks=stop)
    assert stream.getvalue().endswith("\n")


def test_a_time_budget_finishes_the_round_in_which_it_is_over(monkeypatch):
    clock = iter([10.0, 11.0, 12.5, 20.0, 21.0, 23.5])
    budget = callbacks.TimeBudget(2.5)
    monkeypatch.setattr(callbacks, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    for _ in range(2):  # each fit has its own
        model = fit(Case().build(), rounds=9, callbacks=budget)
        assert model.stopped == "its 2.5 seconds are over"
        assert model.state.round == 2


def lines(text):
    return [json.loads(line) for line in text.splitlines()]


def test_a_log_has_a_line_of_json_per_round(tmp_path):
    def measure(event):
        event.measured["rmse"] = 1.25

    file = tmp_path / "fit.jsonl"
    for _ in range(2):
        model = fit(Case().build(), rounds=2, callbacks=[measure, callbacks.Log(file)])
    told = lines(file.read_text())
    assert [(line["moment"], line["round"]) for line in told] == [
        ("start", 0),
        ("round", 1),
        ("round", 2),
        ("end", 2),
    ] * 2
    assert told[1]["objective"] == model.history[1].objective
    assert told[1]["rmse"] == 1.25
    assert told[1]["seconds"] > 0
    assert told[-1]["stopped"] is None
    assert "stopped" not in told[0]


def test_a_log_may_be_a_logger(caplog):
    logger = logging.getLogger("fmfkit.test")
    with caplog.at_level(logging.INFO, "fmfkit.test"):
        fit(Case().build(), rounds=1, callbacks=callbacks.Log(logger))
    assert [json.loads(record.message)["moment"] for record in caplog.records] == ["start", "round", "end"]


@pytest.mark.parametrize(
    ("to", "error", "message"),
    [("nowhere/fit.jsonl", ValueError, "there is no folder to write 'nowhere/fit.jsonl' to"), (3, TypeError, "got 3")],
)
def test_a_log_that_cannot_be_written_is_refused(to, error, message):
    with pytest.raises(error, match=message):
        callbacks.Log(to)


class Count:
    """A plugin's callback."""

    made = 0

    def __init__(self, most: int = 2):
        self.most = most
        Count.made += 1

    def __call__(self, event):
        if event.record.round >= self.most:
            event.stop("counted")


def test_callbacks_are_given_by_name_with_options_and_made_anew_for_each_fit(monkeypatch):
    mine = registry(mine=plugin(fmfkit_callbacks=[Spec("count", Count), Spec("odd", dict)]))
    monkeypatch.setattr(registry_module, "get_registry", lambda: mine)
    problem, before = Case().build(), Count.made
    for given in ("mine:count:most=1", ["count:most=1", "tolerance"]):
        assert fit(problem, rounds=5, callbacks=given).state.round == 1
    assert Count.made == before + 2
    with pytest.raises(TypeError, match=r"expected callables that take a RoundEvent, .* got {}, which 'odd' makes"):
        fit(problem, callbacks="odd")
    with pytest.raises(UnknownNameError, match="no callback is called 'cuont'; did you mean 'count'"):
        fit(problem, callbacks="cuont")
    with pytest.raises(ValueError, match="callback 'time_budget': it needs the option 'seconds'"):
        fit(problem, callbacks="time_budget")
