import io
import itertools

from problems import Case

from fmfkit import callbacks, fit


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
