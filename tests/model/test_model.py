"""Scores, rankings and neighbours of a model: against the same in NumPy."""

import attrs
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from problems import Case, cases, few

from fmfkit import fit
from fmfkit.solvers import reference

MODEL = fit(Case(queries=30, targets=50, pairs=300, seed=4).build(), rounds=2)


def scores_of(model):
    return model.score(np.arange(len(model.query_embedding))[:, None], np.arange(len(model.target_embedding)))


def assert_ranked(ranked, scores, allowed):
    """Scores fall, ties by row number, and no target that was left out has a higher score than the last."""
    for row, (targets, told) in enumerate(zip(ranked.targets, ranked.scores, strict=True)):
        free = np.flatnonzero(allowed[row])
        found = targets[targets >= 0]
        assert len(found) == min(len(targets), len(free))
        assert len(set(found)) == len(found)
        assert set(found) <= set(free)
        np.testing.assert_allclose(told[: len(found)], scores[row, found], rtol=1e-4, atol=1e-5)
        assert (np.diff(told[: len(found)]) <= 0).all()
        assert np.isneginf(told[len(found) :]).all()
        rest = np.setdiff1d(free, found)
        if len(found) and len(rest):
            assert scores[row, rest].max() <= told[len(found) - 1] + 1e-4


@few
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


@few
@given(case=cases(l1=0.0), k=st.integers(1, 12), density=st.floats(0, 1), threads=st.integers(1, 3))
def test_recommend_gives_the_highest_scores(case, k, density, threads):
    model = fit(case.build(), rounds=1, threads=threads)
    scores = scores_of(model)
    exclude = sp.random_array(scores.shape, density=density, rng=np.random.default_rng(case.seed), format="csr")
    allowed = exclude.toarray() == 0
    assert_ranked(model.recommend(k=k, exclude=exclude), scores, allowed)
    assert_ranked(model.recommend(k=k), scores, np.ones_like(allowed))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_recommend_covers_several_tiles_and_packs_alike_on_any_number_of_threads(dtype):
    model = fit(Case(queries=400, targets=1300, pairs=4000, rank=19, dtype=dtype, plain=True).build(), rounds=2)
    ranked = model.recommend(k=40)
    assert_ranked(ranked, scores_of(model), np.ones((400, 1300), bool))
    for threads in (1, 2, 3):
        state = attrs.evolve(model.state, threads=threads)
        again = attrs.evolve(model, state=state).recommend(k=40)
        np.testing.assert_array_equal(again.targets, ranked.targets)
        np.testing.assert_array_equal(again.scores, ranked.scores)


def test_equal_scores_are_ranked_by_row_number():
    problem = Case(queries=3, targets=40, pairs=30, plain=True, query_bias=False, target_bias=False).build()
    model = fit(problem, rounds=1)
    model.P[:] = 0
    zero = attrs.evolve(model, queries=0 * model._queries)
    np.testing.assert_array_equal(zero.recommend(k=5).targets, np.tile(np.arange(5), (3, 1)))


def test_recommend_some_queries_among_candidates():
    candidates = [7, 3, 41, 3]
    ranked = MODEL.recommend([5, 2], k=10, candidates=candidates)
    assert ranked.targets.shape == (2, 3)
    scores = scores_of(MODEL)[[5, 2]]
    assert_ranked(ranked, scores, np.tile(np.isin(np.arange(50), candidates), (2, 1)))
    barred = sp.csr_array(([1.0], ([5], [41])), shape=(30, 50))
    assert 41 not in MODEL.recommend([5, 2], k=10, candidates=candidates, exclude=barred).targets[0]


def test_new_queries_are_recommended_to_by_their_features():
    X = sp.csr_array((MODEL.X.values_by_row(), MODEL.X.row_index, MODEL.X.row_ptr), shape=(30, MODEL.X.cols))
    known, new = MODEL.recommend(k=5), MODEL.recommend(k=5, features=X)
    np.testing.assert_array_equal(new.targets, known.targets)
    part = MODEL.X.blocks["shared"]
    by_block = MODEL.recommend(k=5, features={"shared": X[:, part]})
    only = X.toarray()
    only[:, MODEL.X.blocks["indicator"]] = 0
    np.testing.assert_array_equal(by_block.targets, MODEL.recommend(k=5, features=only).targets)


def test_similar_has_the_largest_cosines_and_not_itself():
    V = MODEL.target_embedding
    unit = V / np.linalg.norm(V, axis=1, keepdims=True)
    cosine = unit @ unit.T
    allowed = ~np.eye(50, dtype=bool)
    assert_ranked(MODEL.similar([4, 9], k=7), cosine[[4, 9]], allowed[[4, 9]])
    assert MODEL.similar(queries=3, k=2).targets.shape == (1, 2)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: MODEL.recommend([30]), "queries: row numbers run from 30 to 30, expected 0 to 29"),
        (lambda: MODEL.recommend(k=0), "k: expected"),
        (
            lambda: MODEL.recommend([[0, 1], [2, 3]]),
            r"queries: expected a flat list of row numbers, got shape \(2, 2\)",
        ),
        (lambda: MODEL.similar([[0, 1]]), "targets: expected a flat list"),
        (lambda: MODEL.recommend([1], features=np.ones((1, 2))), "one of queries, features and embeddings"),
        (lambda: MODEL.recommend(features=np.ones((1, 2))), "X: 2 columns, expected 37"),
        (lambda: MODEL.recommend(features={"sharde": np.ones((1, 2))}), "no feature block 'sharde'"),
        (lambda: MODEL.recommend(exclude=sp.csr_array((30, 3))), "sparse matrix with 50 columns"),
        (lambda: MODEL.recommend(exclude=np.zeros((30, 50))), "exclude: expected a sparse matrix"),
        (lambda: MODEL.recommend([20], exclude=sp.csr_array((10, 50))), "exclude: 10 rows for query 20"),
        (lambda: MODEL.recommend(candidates=[50]), "candidates: row numbers run from 50"),
        (lambda: MODEL.similar(), "give targets or queries"),
        (lambda: MODEL.explain(0, 50), "target: row numbers run from 50"),
    ],
)
def test_senseless_questions_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_an_unknown_instance_is_scored_by_the_other_side_s_bias():
    scores = MODEL.score([-1, 4, -1], [-1, -1, 7], unknown=True)
    expected = MODEL.offset + np.array([0, MODEL.query_bias[4], MODEL.target_bias[7]])
    np.testing.assert_allclose(scores, expected)
    with pytest.raises(ValueError, match="row numbers run from -1"):
        MODEL.score([-1], [0])


def test_a_model_is_printed_in_a_line():
    model = fit(Case(queries=300, targets=200, pairs=5000).build(), rounds=1)
    assert "\n" not in repr(model)
    assert repr(model).startswith("<Model rank 3, 300 queries x 200 targets, 307 + 205 features, Square(), 1 rounds")
    assert len(str(model)) < 200


def test_row_numbers_that_are_no_pairs_are_told():
    model = fit(Case().build(), rounds=1)
    with pytest.raises(ValueError, match=r"queries and targets: their shapes \(2,\) and \(3,\) are no pairs"):
        model.score([0, 1], [0, 1, 2])


@pytest.mark.parametrize("rows", [3, 100])
@pytest.mark.parametrize("column", [-1, 7, 2**31 - 1])
def test_columns_of_what_to_exclude_must_be_targets(rows, column):
    model = fit(Case(queries=rows, targets=7, pairs=21).build(), rounds=1)
    exclude = sp.csr_array(np.ones((rows, 7)))
    exclude.indices[0] = column
    with pytest.raises(ValueError, match="exclude: "):
        model.recommend(k=2, exclude=exclude)
