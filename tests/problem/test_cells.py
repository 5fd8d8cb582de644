"""The term over all cells: what it is, and what a problem makes of it."""

import numpy as np
import pytest
from problems import Case

from fmfkit import AllCells, Objective, Penalty, Problem

PAIRS = {"queries": [0, 0, 1], "targets": [0, 1, 1], "y": [1.0, 1.0, 1.0]}


def build(**options):
    return Problem.from_coo(**PAIRS, **{"shape": (3, 3), "rank": 2, "dtype": "float64", **options})


def test_instances_without_pairs_have_no_cells_unless_weights_say_so():
    problem = build(cells=AllCells(0.1))
    assert problem.query.cells.tolist() == [1, 1, 0]
    assert problem.target.cells.tolist() == [1, 1, 0]
    assert build(cells=AllCells(0.1, queries=[1, 2, 3])).query.cells.tolist() == [1, 2, 3]


def test_the_offset_is_the_cells_value_unless_one_is_given():
    assert build(cells=AllCells(0.1)).offset == 0
    assert build(cells=AllCells(0.1, value=-0.5)).offset == -0.5
    assert build(cells=AllCells(0.1), offset=0.25).offset == 0.25
    assert build().offset == 1


def test_a_cell_counts_as_an_observation_of_its_weight():
    strength = build(cells=AllCells(0.1, queries=[1, 2, 0]), penalty=Penalty()).query.factors.strength
    np.testing.assert_allclose(strength, [1 + 2 + 0.1 * 2, 1 + 1 + 0.1 * 2 * 2, 1])


def test_cells_can_be_put_into_a_problem_and_taken_out_again():
    problem = build()
    with_cells = problem.replace(cells=AllCells(0.1))
    assert with_cells.cells == AllCells(0.1)
    assert with_cells.observations is problem.observations
    assert with_cells.replace(cells=None).query.cells is None


def test_cells_are_equal_where_their_weights_are():
    assert AllCells(0.1, queries=[1, 2]) == AllCells(0.1, queries=np.array([1.0, 2.0]))
    assert AllCells(0.1, queries=[1, 2]) != AllCells(0.1, queries=[1, 3])
    assert AllCells(0.1, queries=[1, 2]) != AllCells(0.1)
    assert Objective(rank=2, cells=AllCells(0.1)) != Objective(rank=2)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"weight": -1}, "weight: expected a finite number of at least 0, got -1"),
        ({"weight": 1, "value": np.inf}, "value: expected a finite number, got inf"),
        ({"weight": 1, "queries": [1, -1]}, "weight: expected no negative weight"),
    ],
)
def test_bad_cells_are_refused(given, message):
    with pytest.raises(ValueError, match=message):
        AllCells(**given)


def test_weights_for_another_number_of_rows_are_refused():
    with pytest.raises(ValueError, match="cells: 2 weights for 3 targets"):
        build(cells=AllCells(1, targets=[1, 2]))


def test_cells_must_be_all_cells():
    with pytest.raises(TypeError, match="cells"):
        build(cells=0.1)


def test_the_memory_of_the_term_is_counted():
    case = Case(queries=3000, targets=800, pairs=20_000, plain=True, rank=20)
    plain, with_cells = case.build().memory(), case.build(cells=AllCells(0.1)).memory()
    assert with_cells.data == plain.data + 8 * (3000 + 800)
    assert with_cells.work > plain.work + 8 * (3000 + 800)
