"""Training takes the memory that its solver says."""

import tracemalloc

import pytest
from problems import Case

from fmfkit import RoundReport, Solver, fit, solvers

SIZES = {"queries": 3000, "targets": 800, "pairs": 120_000, "rank": 20}
CASES = {
    "plain": Case(plain=True, **SIZES),
    "shared": Case(query_features=60, **SIZES),
    "sparse": Case(query_features=60, l1=0.01, **SIZES),
    "even": Case(query_features=60, even=True, dtype="float32", **SIZES),
}


def assert_takes_what_it_says(problem, solver):
    fit(problem, solver=solver, rounds=1, threads=2)  # caches are filled
    tracemalloc.start()
    fit(problem, solver=solver, rounds=2, threads=2)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    promised = problem.memory(solver, threads=2)
    change = 100 * sum(side.features.rows + side.features.cols for side in problem.sides)
    assert 0.95 * (promised.model + promised.work) < peak < 1.02 * (promised.model + promised.work) + change


@pytest.mark.parametrize("solver", [solvers.Panel(), solvers.PL2M()], ids=str)
@pytest.mark.parametrize("case", CASES)
def test_a_fit_takes_what_the_solver_says(case, solver):
    assert_takes_what_it_says(CASES[case].build(), solver)


def test_data_is_what_the_problem_holds():
    problem = CASES["plain"].build(dtype="float32")
    pairs = 2 * problem.pairs * (4 + 4)
    indicators = 2 * 2 * (3000 + 800) * 4  # by row and by column, no values
    small = problem.memory().data - pairs - indicators
    assert 0 < small < 60 * (3000 + 800)


def test_another_rank_is_asked_for_without_laying_the_problem_out_again():
    small, large = CASES["shared"].build(rank=5), CASES["shared"].build(rank=50)
    assert small.replace(rank=50).memory(threads=2) == large.memory(threads=2)
    assert small.memory().total < large.memory().total


class Silent(Solver):
    def prepare(self, problem, state):
        return None

    def round(self, problem, state, workspace):
        return RoundReport()


def test_a_solver_that_does_not_say_what_it_needs_is_an_error():
    with pytest.raises(ValueError, match="does not say what it needs"):
        CASES["plain"].build().memory(Silent())
