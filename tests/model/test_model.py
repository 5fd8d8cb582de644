import numpy as np
import pytest
from hypothesis import given, settings
from problems import Case, cases

from fmfkit import fit
from fmfkit.solvers import reference


@settings(deadline=None, max_examples=25)
@given(case=cases(dtype="float64"))
def test_scores_are_offset_plus_dot_product_plus_biases(case):
    problem = case.build()
    model = fit(problem, rounds=1)
    X, Z = reference.dense(problem.X), reference.dense(problem.Z)
    U, V = X @ model.P, Z @ model.Q
    expected = model.offset + U[:, : model.rank] @ V[:, : model.rank].T
    if problem.query_bias:
        expected += U[:, model.rank][:, None]
    if problem.target_bias:
        expected += V[:, model.rank]
    score = model.score(np.arange(case.queries)[:, None], np.arange(case.targets))
    np.testing.assert_allclose(score, expected, atol=1e-12)
    np.testing.assert_allclose(model.predict(0, 0), problem.loss.link(expected[:1, 0])[0])


def test_parameters_have_a_last_column_for_the_bias_of_their_side():
    shapes = {}
    for query_bias in (True, False):
        for target_bias in (True, False):
            model = fit(Case(query_bias=query_bias, target_bias=target_bias).build(), rounds=1)
            shapes[query_bias, target_bias] = (model.P.shape[1], model.Q.shape[1])
    assert shapes == {(True, True): (4, 4), (True, False): (4, 3), (False, True): (3, 4), (False, False): (3, 3)}


@pytest.mark.parametrize(
    ("queries", "targets", "error", "message"),
    [
        (12, 0, ValueError, "queries: row numbers run from 12 to 12, expected 0 to 11"),
        (0, [-1, 3], ValueError, "targets: row numbers run from -1 to 3, expected 0 to 8"),
        (0.5, 0, TypeError, "queries: expected row numbers, got dtype float64"),
    ],
)
def test_bad_row_numbers_are_refused(queries, targets, error, message):
    model = fit(Case().build(), rounds=1)
    with pytest.raises(error, match=message):
        model.score(queries, targets)


def test_no_pairs_have_no_scores():
    assert fit(Case().build(), rounds=1).score([], []).shape == (0,)
