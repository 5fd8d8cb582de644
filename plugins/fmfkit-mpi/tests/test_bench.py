import json

import pytest
from click.testing import CliRunner
from fmfkit_mpi import Group
from fmfkit_mpi.bench import SHAPES, model_table, problem_of

from fmfkit import State, kernels
from fmfkit.cli import main


def run(*arguments, code=0):
    done = CliRunner().invoke(main, ["mpi_bench", *map(str, arguments)])
    assert done.exit_code == code, done.output
    return done.output


def test_the_formula_is_what_two_machines_were_seen_to_send():
    assert SHAPES["ml10m"].bytes_a_round(64, 2) == 25_710_216
    assert SHAPES["ml10m"].bytes_a_round(64, 1) == 0


@pytest.mark.parametrize("shape", SHAPES)
def test_data_is_as_large_as_its_shape_says(shape):
    small = SHAPES[shape].scaled(0.01)
    problem = problem_of(Group(3), small, 8)
    assert problem.pairs == pytest.approx(small.pairs, rel=0.02)
    assert problem.X.nonzeros - small.queries * small.indicator == pytest.approx(small.entries, rel=0.02)
    assert problem.observations.shape == (small.queries, small.targets)


def test_two_ranks_send_what_the_formula_says(mpiexec):
    done = mpiexec(2, "fmfkit", "mpi_bench", "--scale", 0.002, "--rank", 16, "--rounds", 2, "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["ranks"] == 2
    # beside the sums of the formula there are small ones
    assert found["formula"] <= found["sent"] <= 1.2 * found["formula"]
    assert 0 < found["communication"] < found["seconds"] * 2


@pytest.mark.parametrize("shape", SHAPES)
def test_the_ordinary_fit_is_timed_on_the_same_problem(shape):
    group, small = Group(4), SHAPES[shape].scaled(0.0005)
    parts, whole = (problem_of(group, small, 8, divided=divided) for divided in (True, False))
    state = State.initial(parts, seed=0)
    found = kernels.measure(parts, state)
    assert found.loss + found.penalty == pytest.approx(kernels.objective(whole, state.P, state.Q), rel=1e-6)
    assert "s/round" in run("--shape", shape, "--scale", 0.0005, "--rank", 8, "--rounds", 2, "--ordinary")


def test_the_model_says_what_more_machines_gain():
    rows = {(row[0], row[1]): row for row in model_table(64, 1e9, 10, 5e-5)}
    assert rows["ml10m", 1][4] == 0
    assert rows["weibo", 8][5] < rows["weibo", 1][5]
    assert "1B x 10M" in run("--model")
