"""Training takes the memory that the formula says."""

import tracemalloc

import numpy as np
import pytest
from problems import Case

from fmfkit import fit, solvers

CASES = {
    "plain": Case(queries=3000, targets=800, pairs=120_000, plain=True, rank=20),
    "shared": Case(queries=3000, targets=800, pairs=120_000, query_features=60, rank=20),
    "sparse": Case(queries=3000, targets=800, pairs=120_000, query_features=60, rank=20, l1=0.01),
    "even": Case(queries=3000, targets=800, pairs=120_000, query_features=60, even=True, rank=20, dtype="float32"),
}


@pytest.mark.parametrize("block", [1, 8])
@pytest.mark.parametrize("case", CASES)
def test_a_fit_takes_what_the_formula_says(case, block):
    problem = CASES[case].build()
    solver = solvers.PL2M(block=block)
    fit(problem, solver=solver, rounds=1, threads=2)  # caches are filled
    tracemalloc.start()
    fit(problem, solver=solver, rounds=2, threads=2)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    told = problem.memory(block=block, threads=2)
    change = 100 * sum(side.features.rows + side.features.cols for side in problem.sides)
    assert 0.95 * (told.model + told.work) < peak < 1.02 * (told.model + told.work) + change


def test_data_is_what_the_problem_holds():
    problem = CASES["plain"].build(dtype="float32")
    pairs = 2 * problem.pairs * (4 + 4)
    indicators = 2 * 2 * (3000 + 800) * 4  # by row and by column, no values
    small = problem.memory().data - pairs - indicators
    assert 0 < small < 60 * (3000 + 800)


def test_another_rank_is_asked_for_without_building_the_problem_again():
    small, large = CASES["shared"].build(rank=5), CASES["shared"].build(rank=50)
    assert small.memory(rank=50, threads=2) == large.memory(threads=2)
    assert large.memory().total == sum(np.array([large.memory().data, large.memory().model, large.memory().work]))


def test_blocks_of_other_sizes_are_refused():
    with pytest.raises(ValueError, match="block: expected 1 or 8, got 3"):
        CASES["plain"].build().memory(block=3)
