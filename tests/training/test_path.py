"""A walk along penalties: warm, on observations that are laid out once."""

import numpy as np
import pytest
from problems import Case

from fmfkit import LearntPenalty, Observations, Penalties, Penalty, Regularizer, fit, path, solvers
from fmfkit.regularizers import ElasticNet
from fmfkit.training.events import INTERRUPTED

PROBLEM = Case(queries=20, pairs=100).build()
L2 = [0.05, 0.5, 5.0]


def bits(model):
    return model.P.tobytes() + model.Q.tobytes()


def test_each_fit_starts_from_the_one_before():
    models = path(PROBLEM, l2=L2, rounds=3, seed=4)
    by_hand, init = [], None
    for l2 in L2:
        problem = PROBLEM.replace(penalty=Penalty(ElasticNet(l2=l2), scale=PROBLEM.penalty.P.scale))
        by_hand.append(init := fit(problem, rounds=3, seed=4, init=init))
    assert [bits(model) for model in models] == [bits(model) for model in by_hand]
    assert [model.history[0].round for model in models] == [0, 3, 6]
    norms = [np.abs(model.P[:, : model.rank]).sum() for model in models]
    assert norms[0] > norms[1] > norms[2]


def test_the_walk_is_the_same_on_any_number_of_threads():
    one, two = (path(PROBLEM, l2=L2, rounds=2, threads=threads) for threads in (1, 2))
    assert [bits(model) for model in one] == [bits(model) for model in two]


def test_nothing_is_laid_out_again(monkeypatch):
    def never(*args, **options):
        raise AssertionError("laid out again")

    monkeypatch.setattr(Observations, "__init__", never)
    assert len(path(PROBLEM, l2=L2, rounds=1)) == 3


def test_biases_that_have_a_penalty_of_their_own_keep_it():
    own = Penalty(ElasticNet(l2=7.0))
    problem = PROBLEM.replace(penalty=Penalties(P=ElasticNet(l2=1.0), Q=ElasticNet(l2=2.0), target_bias=own))
    seen = []
    path(problem, l2=[0.5], rounds=1, callbacks=lambda event: seen.append(event.problem.penalty))
    assert [one.regularizer.l2 for one in (seen[0].P, seen[0].Q, seen[0].query_bias, seen[0].target_bias)] == [
        *(0.5, 0.5, 0.5, 7.0)
    ]


def test_whole_penalties_are_walked_too():
    given = [ElasticNet(l2=0.1), Penalty(ElasticNet(l2=1.0), growth=0.5)]
    models = path(PROBLEM, penalty=given, rounds=2)
    first = fit(PROBLEM.replace(penalty=given[0]), rounds=2)
    assert bits(models[1]) == bits(fit(PROBLEM.replace(penalty=given[1]), rounds=2, init=first))


def test_a_composed_solver_begins_anew_with_each_penalty():
    solver = solvers.Sequence(solvers.Stage("sgd", rounds=1), solvers.Stage("panel", rounds=2))
    for model in path(PROBLEM, l2=L2, solver=solver, rounds=9, threads=1):
        assert [record.stage for record in model.history] == [None, "1 SGD", "2 Panel", "2 Panel"]


def test_callbacks_by_name_are_made_anew_and_an_interrupt_ends_the_walk():
    assert len(path(PROBLEM, l2=L2, rounds=50, callbacks="tolerance:relative=0.05")) == 3
    models = path(PROBLEM, l2=L2, rounds=3, callbacks=lambda event: event.stop(INTERRUPTED))
    assert len(models) == 1


class Bare(Regularizer):
    """A regularizer without l2."""

    def penalty(self, w, strength=1.0):
        return 0.0 * w

    def T(self, x, y, w, strength=1.0):
        return -x / np.maximum(y, 1e-12)


@pytest.mark.parametrize(
    ("problem", "options", "error", "message"),
    [
        (PROBLEM, {}, ValueError, "expected l2 or penalty"),
        (PROBLEM, {"l2": [1.0], "penalty": [ElasticNet()]}, ValueError, "expected l2 or penalty"),
        (PROBLEM, {"l2": []}, ValueError, "at least one"),
        (PROBLEM, {"l2": [0.1, -1.0]}, ValueError, "l2"),
        (PROBLEM.replace(penalty=Bare()), {"l2": [1.0]}, ValueError, "l2: .*Bare.* has none; give path penalty="),
        (PROBLEM.replace(penalty=LearntPenalty()), {"l2": [1.0]}, ValueError, "strengths are learnt"),
        (3, {"l2": [1.0]}, TypeError, "problem: expected a fmfkit.Problem, got int"),
    ],
)
def test_walks_that_cannot_be_taken_are_refused_before_any_work(problem, options, error, message):
    def never(event):
        raise AssertionError("it was trained")

    with pytest.raises(error, match=message):
        path(problem, callbacks=never, **options)
