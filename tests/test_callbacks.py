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
