"""Observations are laid out once; problems share them and replace what is decided."""

import attrs
import numpy as np
import pytest
import scipy.sparse as sp
from problems import Case
from small_problem import PAIRS, Y, build

from fmfkit import Objective, Observations, Penalty, Problem, fit
from fmfkit.regularizers import ElasticNet


def test_replace_shares_the_layout_and_equals_a_problem_built_anew():
    case = Case(weights=True)
    problem = case.build()
    changes = {"rank": 5, "penalty": Penalty(ElasticNet(l2=0.7), scale="uniform", growth=0.5), "query_bias": False}
    replaced = problem.replace(**changes)
    assert replaced.observations is problem.observations
    built = case.build(**changes)
    assert fit(replaced, rounds=2).P.tobytes() == fit(built, rounds=2).P.tobytes()
    assert problem.rank == 3


def test_replacing_the_loss_checks_y_and_makes_the_offset_again():
    problem = Case().build()
    with pytest.raises(ValueError, match="logistic loss takes y between 0 and 1"):
        problem.replace(loss="logistic")
    classes = Case(loss="logistic").build()
    assert classes.offset == 0.0
    assert classes.replace(loss="square").offset == pytest.approx(classes.query.pairs.y.mean())
    assert classes.replace(offset=0.25).replace(loss="square").offset == 0.25


def test_replaced_weights_reach_both_orders_and_the_strengths():
    problem = Case(pairs=30).build()
    weight = np.random.default_rng(0).random(problem.pairs)
    replaced = problem.replace(weight=weight)
    rows = problem.query.pairs.row
    by_pair = dict(zip(zip(rows, problem.query.pairs.other, strict=True), weight, strict=True))
    target = replaced.target.pairs
    for j, i, w in zip(target.row, target.other, target.weight, strict=True):
        assert by_pair[i, j] == w
    assert not np.allclose(replaced.query.factors.strength, problem.query.factors.strength)
    assert replaced.replace(weight=None).query.pairs.weight is None
    with pytest.raises(ValueError, match="weight: 3 entries for 30 pairs"):
        problem.replace(weight=[1, 2, 3])
    with pytest.raises(ValueError, match="expected no negative weight"):
        problem.replace(weight=-weight)


def test_replace_refuses_what_it_does_not_know_and_evolve_fails():
    problem = Case().build()
    with pytest.raises(TypeError, match="lamda"):
        problem.replace(lamda=3)
    with pytest.raises(attrs.exceptions.NotAnAttrsClassError):
        attrs.evolve(problem, rank=3)
    with pytest.raises(ValueError, match="P has no feature block 'nope'"):
        problem.replace(penalty=Penalty(strengths={"nope": 2}))


def test_other_pairs_keep_the_features_laid_out():
    problem = Case(queries=6, targets=5).build()
    data = problem.observations
    other = data.with_pairs([0, 5], [4, 1], [1.0, 2.0], weight=[1, 2])
    assert other.X is data.X
    np.testing.assert_array_equal(other.by_target.weight, [2, 1])
    with pytest.raises(ValueError, match="targets: index 5 is out of range for 5 targets"):
        data.with_pairs([0], [5], [1.0])
    with pytest.raises(TypeError, match="observations: expected Observations"):
        Problem(problem, Objective(rank=1))
    assert repr(data).startswith("<Observations 6 queries x 5 targets")


def test_observed_counts_are_made_once(monkeypatch):
    calls = []
    from fmfkit.problem import observations

    real = observations.observed
    monkeypatch.setattr(observations, "observed", lambda *given: calls.append(1) or real(*given))
    problem = Case().build()
    for l2 in (0.1, 0.2, 0.3):
        problem = problem.replace(penalty=ElasticNet(l2=l2))
    assert len(calls) == 2  # one for each side


def test_weights_must_lie_where_y_does():
    with pytest.raises(ValueError, match="weight: its 2 entries are not at the places of Y's 3"):
        Problem.from_scipy(Y, rank=1, weight=sp.csr_array(([1.0, 1.0], ([0, 1], [0, 1])), shape=Y.shape))
    with pytest.raises(ValueError, match="weight: shape"):
        Problem.from_scipy(Y, rank=1, weight=sp.csr_array((3, 3)))


BAD = [
    ({"duplicates": "last"}, ValueError, "duplicates: expected 'error' or 'sum', got 'last'"),
    ({"shape": 5}, ValueError, r"shape: expected \(number of queries, number of targets\), got 5"),
    ({"shape": (2, 3, 4)}, ValueError, "shape: expected"),
]


@pytest.mark.parametrize(("changes", "error", "message"), BAD)
def test_bad_input_is_refused_with_the_argument_s_name(changes, error, message):
    with pytest.raises(error, match=message):
        build(**changes)


def test_problems_are_built_of_observations_and_an_objective():
    data = Observations.from_coo(PAIRS["queries"], PAIRS["targets"], PAIRS["y"])
    assert len(data) == 3
    assert fit(Problem(data, Objective(rank=2)), rounds=2).P.tobytes() == fit(build(), rounds=2).P.tobytes()
    assert data.nbytes == sum(part.nbytes for part in (data.by_query, data.by_target, data.X, data.Z))
