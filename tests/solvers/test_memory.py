"""Training takes the memory that the formula says."""

import gc
import tracemalloc
from pathlib import Path

import attrs
import pytest
from numpy_plugins import NumpyLogistic, PseudoHuber
from problems import Case
from zoo.regularizers_rows import GoodRows

from fmfkit import LearntPenalty, fit, solvers
from fmfkit._kernels.components import PYTHON_CHUNK

CASES = {
    "plain": Case(queries=3000, targets=800, pairs=120_000, plain=True, rank=20),
    "shared": Case(queries=3000, targets=800, pairs=120_000, query_features=60, rank=20),
    "sparse": Case(queries=3000, targets=800, pairs=120_000, query_features=60, rank=20, l1=0.01),
    "even": Case(queries=3000, targets=800, pairs=120_000, query_features=60, even=True, rank=20, dtype="float32"),
}


SOLVERS = [solvers.Panel(), solvers.PL2M(), solvers.L2M(), solvers.Naive()]


def assert_takes_what_is_promised(problem, solver, loss_arrays=0, more=0):
    """``loss_arrays``: how many arrays of a batch a loss in NumPy makes, for each thread; ``more``: further bytes."""
    fit(problem, solver=solver, rounds=1, threads=2)  # caches are filled
    tracemalloc.start()
    fit(problem, solver=solver, rounds=2, threads=2)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    promised = problem.memory(solver, threads=2)
    change = 100 * sum(side.features.rows + side.features.cols for side in problem.sides)
    change += loss_arrays * 2 * PYTHON_CHUNK * problem.dtype.itemsize
    assert 0.95 * (promised.model + promised.work) < peak < 1.02 * (promised.model + promised.work) + change + more


@pytest.mark.parametrize("solver", SOLVERS[:2], ids=repr)
@pytest.mark.parametrize("case", CASES)
def test_a_fit_takes_what_is_promised(case, solver):
    assert_takes_what_is_promised(CASES[case].build(), solver)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("l1", [0.0, 0.01])
@pytest.mark.parametrize("solver", SOLVERS, ids=repr)
def test_a_fit_takes_what_is_promised_by_every_solver(solver, l1, dtype):
    case = Case(queries=1000, targets=300, pairs=40_000, query_features=30, rank=12, l1=l1, dtype=dtype)
    assert_takes_what_is_promised(case.build(), solver)


@pytest.mark.parametrize("cells", ["none", "plain"])
def test_a_fit_takes_what_is_promised_where_whole_rows_are_penalised(cells):
    case = Case(queries=300, targets=200, pairs=50_000, query_features=30, rank=12, cells=cells)
    problem = case.build(penalty=GoodRows())
    of_regularizer = 10 * max(side.features.cols for side in problem.sides) * 13 * 8  # what it makes in NumPy
    assert_takes_what_is_promised(problem, solvers.Panel(), more=of_regularizer)


@pytest.mark.parametrize("solver", [solvers.Gibbs(), solvers.Gibbs(exact=True, keep=5)], ids=repr)
@pytest.mark.parametrize("case", ["plain", "even"])
def test_a_sampler_takes_no_more_than_is_promised(case, solver):
    problem = CASES[case].build(penalty=LearntPenalty(rounds=1))
    fit(problem, solver=solver, rounds=2, threads=2)
    tracemalloc.start()
    fit(problem, solver=solver, rounds=9, threads=2)  # eight samples: a mean and as many as are added to it
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    promised = problem.memory(solver, threads=2)
    assert 0.7 * (promised.model + promised.work) < peak < 1.05 * (promised.model + promised.work)


@pytest.mark.parametrize("solver", SOLVERS[:3], ids=repr)
@pytest.mark.parametrize("loss", [NumpyLogistic(), PseudoHuber()], ids=repr)
def test_a_fit_takes_what_is_promised_with_a_loss_in_numpy(loss, solver):
    case = attrs.evolve(CASES["shared"], loss="logistic", pairs=200_000)
    assert_takes_what_is_promised(case.build(loss=loss), solver, loss_arrays=5)


def test_a_solver_that_cannot_tell_says_so():
    with pytest.raises(ValueError, match="does not say what it needs"):
        CASES["plain"].build().memory("reference")


@pytest.mark.parametrize("solver", ["sgd", "hogwild"])
def test_stochastic_solvers_need_little(solver):
    problem = CASES["shared"].build()
    assert problem.memory(solver, threads=2).work < problem.memory("panel", threads=2).work / 2


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


def resident():
    """Return the bytes of memory that this process holds."""
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="the system does not tell in /proc")
def test_two_hundred_and_forty_fits_do_not_make_memory_grow(record_property):
    problem = Case(queries=3000, targets=2000, pairs=9000, rank=16).build()
    model = 8 * 5000 * 16

    def fits(count):
        for number in range(count):
            fit(problem, solver=SOLVERS[number % len(SOLVERS)], rounds=1, threads=2)

    fits(40)  # libraries have taken what they keep
    before = resident()
    fits(240)
    assert resident() < before + 5 * model
    record_property("fits", 240)
