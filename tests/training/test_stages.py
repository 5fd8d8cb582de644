"""The stages of a composed solver during a fit: their names, their ends, and their callbacks."""

from problems import Case

from fmfkit import fit, schedulers, solvers
from fmfkit.solvers import SGD, Alternate, Sequence, Stage

PROBLEM = Case(queries=20, pairs=100).build()
PL2M = solvers.PL2M(scheduler=schedulers.RandomPartition(5))


def bits(model):
    return model.P.tobytes() + model.Q.tobytes()


def stop_at(round):
    """Return a callback that stops at a round."""

    def stop(event):
        if event.record.round >= round:
            event.stop("enough")

    return stop


class Heard:
    """A callback that writes down what it is called with."""

    def __init__(self, name="", written=None):
        self.name, self.written = name, [] if written is None else written

    def __call__(self, event):
        self.written.append((self.name, event.moment, event.record.round))

    def end(self, event):
        self(event)


def test_records_name_their_stage():
    solver = Sequence(Stage(SGD(), rounds=1), Stage(Alternate(PL2M, "l2m"), rounds=2, name="turns"), "panel")
    model = fit(PROBLEM, solver=solver, rounds=5)
    names = [None, "1 SGD", "turns/1 PL2M", "turns/2 L2M", "3 Panel", "3 Panel"]
    assert [record.stage for record in model.history] == names
    resumed = fit(PROBLEM, solver=solver, rounds=2, init=fit(PROBLEM, solver=solver, rounds=2))
    assert [record.stage for record in resumed.history] == [None, "turns/2 L2M", "3 Panel"]
    assert {record.stage for record in fit(PROBLEM, rounds=2).history} == {None}


def test_a_stage_that_a_callback_stops_says_why_the_fit_is_over():
    stage = Stage(PL2M, name="fine", callbacks=stop_at(2))
    model = fit(PROBLEM, solver=Sequence(Stage(SGD(), rounds=1), stage), rounds=8)
    assert model.stopped == "all stages are over; fine: enough"
    assert model.state.round == 2
    model = fit(PROBLEM, solver=Sequence(stage, Stage(SGD(), rounds=1)), rounds=8)
    assert model.stopped == "all stages are over"  # the last one by its rounds
    assert model.state.round == 3


def test_a_stage_that_is_stopped_at_its_start_has_no_round():
    written = []
    first = Stage(PL2M, callbacks=[stop_at(0), Heard("first", written)])
    model = fit(PROBLEM, solver=Sequence(Stage(first), Stage("l2m", rounds=1)), rounds=5)
    assert [record.stage for record in model.history] == [None, "2 L2M"]
    assert written == [("first", "start", 0), ("first", "end", 0)]
    assert fit(PROBLEM, solver=Stage(PL2M, callbacks=stop_at(0)), rounds=5).state.round == 0


def test_callbacks_of_stages_hear_their_start_rounds_and_end():
    written = []
    outer, inner, last = (Heard(name, written) for name in ("outer", "inner", "last"))
    first = Stage(Sequence(Stage(SGD(), rounds=1, callbacks=inner), PL2M), rounds=2, callbacks=outer)
    fit(PROBLEM, solver=Sequence(first, Stage(PL2M, callbacks=last)), rounds=3)
    assert written == [
        ("outer", "start", 0),
        ("inner", "start", 0),
        ("outer", "round", 1),
        ("inner", "round", 1),
        ("inner", "end", 1),
        ("outer", "round", 2),
        ("outer", "end", 2),
        ("last", "start", 2),
        ("last", "round", 3),
        ("last", "end", 3),
    ]


def test_a_tolerance_ends_its_stage_and_not_the_fit_also_when_resumed():
    solver = Sequence(Stage(PL2M, callbacks="tolerance:relative=0.2"), "panel")
    straight = fit(PROBLEM, solver=solver, rounds=9, threads=1)
    switched = next(record.round for record in straight.history if record.stage == "2 Panel")
    assert 2 < switched < 9
    for stop in (1, switched - 1, switched):
        again = Sequence(Stage(PL2M, callbacks="tolerance:relative=0.2"), "panel")
        half = fit(PROBLEM, solver=again, rounds=stop, threads=1)
        assert bits(fit(PROBLEM, solver=again, rounds=9 - stop, init=half, threads=2)) == bits(straight)
