from types import SimpleNamespace
from typing import ClassVar

import attrs
import pytest
from problems import Case

from fmfkit import LearntPenalty, Penalty, RoundReport, Solver, fit, losses, schedulers, solvers, testing
from fmfkit.errors import IncompatibleError, UnknownNameError
from fmfkit.regularizers import ElasticNet
from fmfkit.solvers import SGD, Alternate, Sequence, Stage, compose, reference

PROBLEM = Case(queries=20, pairs=100).build()
PL2M = solvers.PL2M(scheduler=schedulers.RandomPartition(5))


def bits(model):
    return model.P.tobytes() + model.Q.tobytes()


def test_one_after_another_equals_fitting_one_after_another():
    composed = fit(PROBLEM, solver=Sequence(Stage(SGD(), rounds=2), PL2M), rounds=5, threads=1)
    by_hand = fit(PROBLEM, solver=PL2M, rounds=3, init=fit(PROBLEM, solver=SGD(), rounds=2, threads=1), threads=1)
    assert bits(composed) == bits(by_hand)


def test_until_a_condition_holds():
    start = fit(PROBLEM, solver=PL2M, rounds=1).history[0].objective
    sequence = Sequence(Stage(PL2M, until=lambda record: record.objective < 0.9 * start), SGD())
    model = fit(PROBLEM, solver=sequence, rounds=6, threads=1)
    switched = next(record.round for record in model.history if record.objective < 0.9 * start)
    half = fit(PROBLEM, solver=PL2M, rounds=switched, threads=1)
    assert bits(model) == bits(fit(PROBLEM, solver=SGD(), rounds=6 - switched, init=half, threads=1))


def test_alternating_takes_turns_round_by_round():
    composed = fit(PROBLEM, solver=Alternate(PL2M, SGD()), rounds=3, threads=1)
    model = fit(PROBLEM, solver=PL2M, rounds=1, threads=1)
    for solver in (SGD(), PL2M):
        model = fit(PROBLEM, solver=solver, rounds=1, init=model, threads=1)
    assert bits(composed) == bits(model)


class Named(Solver):
    """Writes its name down and changes nothing."""

    def __init__(self, name, written):
        self.name, self.written = name, written

    def prepare(self, problem, state):
        return None

    def round(self, problem, state, workspace):
        self.written.append(self.name)
        return RoundReport()


def named(build):
    """Return a composition of solvers A, B and C, and the list where they sign."""
    written = []
    return build(*(Named(name, written) for name in "ABC")), written


def stop_at(round):
    """Return a callback that stops at a round."""

    def stop(event):
        if event.record.round >= round:
            event.stop("enough")

    return stop


@pytest.mark.parametrize(
    ("build", "order"),
    [
        (lambda a, b, c: Sequence(Stage(a, rounds=2), Stage(b, rounds=3), c), "AABBBCCC"),
        (
            lambda a, b, c: Sequence(Stage(a, rounds=5, until=lambda record: record.round >= 2), Stage(b, rounds=3), c),
            "AABBBCCC",
        ),
        (lambda a, b, c: Sequence(Stage(a, rounds=3), Sequence(Stage(b, rounds=2), c)), "AAABBCCC"),
        (lambda a, b, c: Alternate(Sequence(Stage(a, rounds=2), b), c), "ACACBCBC"),
        (lambda a, b, c: Sequence(Stage(Alternate(a, b), rounds=3), c), "ABACCCCC"),
        (lambda a, b, c: Sequence(Sequence(Stage(a, rounds=2), Stage(b, rounds=1)), c), "AABCCCCC"),
        (lambda a, b, c: Alternate(Stage(a, rounds=2), b, Sequence(Stage(c, rounds=1))), "ABCABBBB"),
        (lambda a, b, c: Sequence(Stage(a, until=lambda record: record.round == 3), b), "AAABBBBB"),
        (lambda a, b, c: Sequence(Stage(a, callbacks=stop_at(3)), Stage(b, rounds=2), c), "AAABBCCC"),
    ],
)
def test_turns_are_taken_in_order_straight_through_and_resumed_anywhere(build, order):
    solver, written = named(build)
    fit(PROBLEM, solver=solver, rounds=8)
    assert "".join(written) == order
    for stop in range(1, 8):
        written.clear()
        half = fit(PROBLEM, solver=solver, rounds=stop)
        fit(PROBLEM, solver=solver, rounds=8 - stop, init=half)
        assert "".join(written) == order, stop


@pytest.mark.parametrize(
    ("build", "order"),
    [
        (lambda a, b, c: Stage(a, rounds=3), "AAA"),
        (lambda a, b, c: Sequence(Stage(a, rounds=2), Stage(b, rounds=1)), "AAB"),
        (lambda a, b, c: Sequence(a, Stage(b, rounds=1)), "AAAAAAAA"),
        (lambda a, b, c: Sequence(Stage(Sequence(Stage(a, rounds=1), Stage(b, rounds=9)), rounds=3)), "ABB"),
        (lambda a, b, c: Alternate(Stage(a, rounds=2), Stage(b, rounds=1)), "ABA"),
        (lambda a, b, c: Sequence(Stage(a, rounds=1), Stage(b, until=lambda record: record.round == 4)), "ABBB"),
    ],
)
def test_bounds_of_the_last_stage_end_the_fit_straight_through_and_resumed(build, order):
    solver, written = named(build)
    model = fit(PROBLEM, solver=solver, rounds=8)
    assert "".join(written) == order
    assert len(model.history) == len(order) + 1
    assert model.stopped == ("all stages are over" if len(order) < 8 else None)
    for stop in range(1, len(order) + 1):
        written.clear()
        half = fit(PROBLEM, solver=solver, rounds=stop)
        whole = fit(PROBLEM, solver=solver, rounds=9 - stop, init=half)
        assert "".join(written) == (order if len(order) < 8 else order + "A"), stop
        assert whole.state.round == len(written)


@pytest.mark.parametrize("solver", [Stage("panel"), Sequence(Stage("panel", rounds=2), PL2M), Alternate("panel", PL2M)])
def test_compositions_conform(solver):
    assert testing.check(solver).failed == ()


def test_a_stage_may_have_a_loss_and_a_penalty_of_its_own():
    logistic = Case(queries=20, pairs=100, loss="logistic").build()
    strong = Penalty(ElasticNet(l2=3.0))
    solver = Sequence(Stage(PL2M, rounds=2, loss="square", penalty=strong), Stage(PL2M, rounds=2))
    model = fit(logistic, solver=solver, rounds=4, threads=1)
    own = logistic.replace(loss="square", penalty=strong, offset=logistic.offset)
    by_hand = fit(own, solver=PL2M, rounds=2, threads=1)
    assert bits(fit(logistic, solver=PL2M, rounds=2, init=by_hand, threads=1)) == bits(model)
    for stop in (1, 2, 3):
        half = fit(logistic, solver=solver, rounds=stop, threads=2)
        assert bits(fit(logistic, solver=solver, rounds=4 - stop, init=half, threads=1)) == bits(model)
    # records are of the objective of the fit
    assert model.history[2].objective == pytest.approx(reference.objective(logistic, by_hand.state), rel=1e-9)
    assert not solver.monotone
    assert Sequence(Stage(PL2M, rounds=2), PL2M).monotone


def test_a_stage_ends_when_its_time_is_over_and_remembers_it(monkeypatch):
    clock = iter(range(1000))
    monkeypatch.setattr(compose, "time", SimpleNamespace(perf_counter=lambda: next(clock)))
    solver = Sequence(Stage(PL2M, seconds=2.5), Stage(SGD(), rounds=1))
    assert not solver.deterministic
    stages = [None, "1 PL2M", "1 PL2M", "1 PL2M", "2 SGD"]
    assert [record.stage for record in fit(PROBLEM, solver=solver, rounds=9).history] == stages
    half = fit(PROBLEM, solver=solver, rounds=2)
    assert half.state.spent == {(0,): 2}
    rest = fit(PROBLEM, solver=solver, rounds=9, init=half)
    assert [record.stage for record in rest.history[1:]] == stages[3:]


def test_strengths_are_learnt_by_compositions_of_solvers_that_learn_them():
    learnt = PROBLEM.replace(penalty=LearntPenalty(rounds=3))
    solver = Sequence(Stage("panel", rounds=2), Stage("panel:directions=3"))
    straight = fit(learnt, solver=solver, rounds=6, threads=2)
    for stop in (1, 2, 4):
        half = fit(learnt, solver=solver, rounds=stop, threads=1)
        assert bits(fit(learnt, solver=solver, rounds=6 - stop, init=half, threads=2)) == bits(straight)
    with pytest.raises(IncompatibleError, match="does not learn strengths"):
        fit(learnt, solver=Sequence("panel", "pl2m"))
    with pytest.raises(IncompatibleError, match="needs a penalty of its own where strengths are learnt"):
        fit(learnt, solver=Stage("panel", loss="square"))
    given = Stage("pl2m", rounds=2, penalty=ElasticNet(l2=0.1))
    assert fit(learnt, solver=Sequence(given, "panel"), rounds=4).state.strengths.rounds == 2


@pytest.mark.parametrize("first", ["panel", "gibbs"])
def test_samplers_compose_and_what_follows_them_begins_at_their_last_sample(first):
    learnt, second = PROBLEM.replace(penalty=LearntPenalty(rounds=2)), "panel" if first == "gibbs" else "gibbs"
    solver = Sequence(Stage(first, rounds=5), Stage(second, rounds=3))
    straight = fit(learnt, solver=solver, rounds=9, threads=2)
    assert (straight.state.mean is None) == (second == "panel")
    for stop in (3, 5, 6):
        half = fit(learnt, solver=solver, rounds=stop, threads=1)
        assert bits(fit(learnt, solver=solver, rounds=9 - stop, init=half, threads=2)) == bits(straight)
    by_hand = fit(learnt, solver=second, rounds=3, init=fit(learnt, solver=first, rounds=5))
    assert bits(by_hand) == bits(straight)


def test_another_composition_starts_from_its_beginning():
    solver, written = named(lambda a, b, c: Sequence(Stage(a, rounds=1), b))
    half = fit(PROBLEM, solver=solver, rounds=2)
    other, second = named(lambda a, b, c: Sequence(Stage(c, rounds=1), a))
    fit(PROBLEM, solver=other, rounds=2, init=half)
    assert (written, second) == (["A", "B"], ["C", "A"])


@pytest.mark.parametrize("solver", [Sequence(Stage(SGD(), rounds=2), PL2M), Alternate(SGD(), PL2M)])
def test_compositions_resume_bit_for_bit(solver):
    straight = fit(PROBLEM, solver=solver, rounds=6, threads=1)
    for stop in (1, 2, 3):
        half = fit(PROBLEM, solver=solver, rounds=stop, threads=1)
        assert bits(fit(PROBLEM, solver=solver, rounds=6 - stop, init=half, threads=1)) == bits(straight)


def test_compositions_nest_and_take_names():
    solver = Sequence(Stage(Alternate("sgd", "pl2m"), rounds=2), "l2m")
    assert len(fit(PROBLEM, solver=solver, rounds=4).history) == 5


def test_a_composition_is_monotone_and_deterministic_if_all_its_solvers_are():
    assert Sequence(PL2M, "l2m").monotone
    assert Sequence(PL2M, "l2m").deterministic
    assert not Sequence(Stage(SGD(), 1), PL2M).monotone
    assert not Alternate(SGD(), PL2M).deterministic


@pytest.mark.parametrize("kind", [Sequence, Alternate])
def test_an_empty_composition_is_refused(kind):
    with pytest.raises(ValueError, match="expected at least one"):
        kind()


def test_stages_refuse_what_is_no_solver_and_no_number_of_rounds():
    with pytest.raises(TypeError, match="solver: expected a Solver"):
        Stage(3)
    with pytest.raises(ValueError, match="rounds"):
        Stage(PL2M, rounds=0)
    with pytest.raises(ValueError, match="seconds"):
        Stage(PL2M, seconds=0)
    with pytest.raises(TypeError, match="strengths are learnt for a whole fit"):
        Stage(PL2M, penalty=LearntPenalty())
    with pytest.raises(TypeError, match="callbacks: expected callables"):
        Stage(PL2M, callbacks=[3])
    with pytest.raises(UnknownNameError, match="no callback is called 'tolerence'; did you mean 'tolerance'"):
        Stage(PL2M, callbacks="tolerence")


def test_a_loss_that_learns_is_not_a_stage_s_own():
    with pytest.raises(IncompatibleError, match="learns parameters of its own, which only the loss of a problem can"):
        fit(PROBLEM, solver=Stage(PL2M, loss=Learning()))


@attrs.frozen
class Learning(losses.Square):
    """A loss that learns, nothing."""

    learns: ClassVar[bool] = True

    def learnt(self, score, y, weight):
        return self


def test_the_rounds_of_a_sequence_are_those_of_its_stages_if_all_have_some():
    assert Sequence(Stage(PL2M, rounds=2), Stage(SGD(), rounds=3)).rounds == 5
    assert Sequence(Stage(PL2M, rounds=2), SGD()).rounds is None


def test_refusals_of_every_part_are_told():
    from components import Picky

    assert len(Sequence(Picky(), Alternate(Picky(), PL2M)).refusals(PROBLEM)) == 4
