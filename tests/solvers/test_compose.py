import pytest
from problems import Case

from fmfkit import RoundReport, Solver, fit, schedulers, solvers
from fmfkit.solvers import SGD, Alternate, Sequence, Stage

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


def test_refusals_of_every_part_are_told():
    from components import Picky

    assert len(Sequence(Picky(), Alternate(Picky(), PL2M)).refusals(PROBLEM)) == 4
