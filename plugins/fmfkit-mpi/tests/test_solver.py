import sys
from pathlib import Path

import numpy as np
import pytest
from fmfkit_mpi import Group

from fmfkit import Objective, Observations, Penalties, Penalty, Problem, State, fit
from fmfkit.errors import IncompatibleError
from fmfkit.regularizers import ElasticNet

sys.path.insert(0, str(Path(__file__).parent / "programs"))
from problems import CASES, SHAPES, observations

SHARDS = 6


def divided_and_whole(shape, case, dtype):
    """Return a problem in shards, and the same problem undivided."""
    data = observations(Group(SHARDS), shape, dtype, weighted=True)
    options = dict(CASES[case])
    if isinstance(options["penalty"], dict):
        options["penalty"] = Penalties(**options["penalty"])
    objective = Objective(rank=9, **options)
    pairs, blocks = data.by_query, ({name: side.block(name) for name in side.blocks} for side in (data.X, data.Z))
    X, Z = blocks
    whole = Observations.from_coo(
        pairs.row_of, pairs.other, pairs.y, X=X, Z=Z, shape=data.shape, weight=pairs.weight, dtype=dtype
    )
    return Problem(data, objective), Problem(whole, objective)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("case", CASES)
def test_a_fit_in_shards_is_the_ordinary_fit_but_for_rounding(shape, case, dtype):
    if case.startswith("logistic") != SHAPES[shape].binary:
        return
    divided, whole = divided_and_whole(shape, case, dtype)
    begin = State.initial(divided, seed=2)
    mine, theirs = fit(divided, solver="sharded", rounds=3, init=begin), fit(whole, rounds=3, init=begin)
    near = {"rtol": 2e-4, "atol": 2e-4} if dtype == "float32" else {"rtol": 1e-9, "atol": 1e-9}
    values = [[record.objective for record in model.history] for model in (mine, theirs)]
    np.testing.assert_allclose(*values, rtol=1e-5 if dtype == "float32" else 1e-11)
    if "l1" not in case:  # sets are drawn by other solvers of the same kind, too: the same sets
        np.testing.assert_allclose(mine.P, theirs.P, **near)
        np.testing.assert_allclose(mine.Q, theirs.Q, **near)


@pytest.mark.parametrize("shape", ["ml10m", "flickr"])
def test_one_shard_has_the_bits_of_the_ordinary_fit(shape):
    case = "logistic" if SHAPES[shape].binary else "square"
    _, whole = divided_and_whole(shape, case, "float32")
    mine, theirs = fit(whole, solver="sharded:shards=1", rounds=3), fit(whole, rounds=3)
    assert mine.P.tobytes() == theirs.P.tobytes()
    assert mine.Q.tobytes() == theirs.Q.tobytes()


def test_shards_without_queries_are_no_obstacle():
    _, whole = divided_and_whole("weibo", "logistic", "float64")
    model = fit(whole, solver="sharded:shards=500", rounds=2)
    expected = fit(whole, rounds=2)
    np.testing.assert_allclose(model.P, expected.P, rtol=1e-9, atol=1e-9)


def test_what_the_queries_side_cannot_have_is_refused_with_the_reason():
    _, whole = divided_and_whole("weibo", "logistic", "float32")
    lasso = whole.replace(penalty=Penalties(P=Penalty(ElasticNet(l1=0.1)), Q=Penalty()))
    with pytest.raises(IncompatibleError, match="sums over shards are made for l2 alone"):
        fit(lasso, solver="sharded", rounds=1)


def test_several_processes_that_have_the_whole_problem_are_refused(monkeypatch):
    _, whole = divided_and_whole("yahoo", "square", "float32")
    monkeypatch.setenv("PMI_SIZE", "2")
    with pytest.raises(IncompatibleError, match="a launcher started 2 processes"):
        fit(whole, solver="sharded", rounds=1)


def test_resuming_goes_on_bit_for_bit():
    divided, _ = divided_and_whole("weibo", "logistic", "float32")
    whole = fit(divided, solver="sharded", rounds=4)
    half = fit(divided, solver="sharded", rounds=2)
    again = fit(divided, solver="sharded", rounds=2, init=half)
    assert again.P.tobytes() == whole.P.tobytes()
    assert [r.objective for r in again.history[1:]] == [r.objective for r in whole.history[3:]]
