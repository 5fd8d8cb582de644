"""Ids that are not known, candidates, and what else every question has."""

import numpy as np
import pytest

from fmfkit import FMF, Dataset
from fmfkit.errors import DataError

QUESTIONS = {
    "recommend": lambda trained, **how: trained.recommend(["r3", "zoe", "zoe"], 2, **how),
    "candidates": lambda trained, **how: trained.recommend(["r3"], 2, targets=["b1", "zoe"], **how),
    "exclude": lambda trained, **how: trained.recommend(["r3"], 2, exclude=["zoe", "zoe"], **how),
    "similar": lambda trained, **how: trained.similar(["b1", "zoe"], **how),
    "similar queries": lambda trained, **how: trained.similar(queries=["r3", "zoe"], **how),
    "explain": lambda trained, **how: trained.explain("zoe", "b1", **how),
    "score": lambda trained, **how: trained.score(["zoe"], ["b1"], **how),
    "predict": lambda trained, **how: trained.predict(["r3"], ["zoe"], **how),
    "table": lambda trained, **how: trained.predict_table({"reader": ["r3", "zoe", "zoe"], "book": ["b1"] * 3}, **how),
}


@pytest.mark.parametrize("ask", QUESTIONS.values(), ids=QUESTIONS)
def test_unknown_ids_are_refused_skipped_or_answered_everywhere(trained, ask):
    with pytest.raises(DataError, match=r": 1 ids are not known, such as 'zoe'$"):
        ask(trained)
    with pytest.raises(ValueError, match="unknown: expected 'error', 'skip' or 'features', got 'maybe'"):
        ask(trained, unknown="maybe")
    for unknown in ("skip", "features"):
        ask(trained, unknown=unknown)


def test_what_is_skipped_is_left_out(trained):
    assert trained.recommend(["zoe", "r3"], 2, unknown="skip").equals(trained.recommend(["r3"], 2))
    assert trained.recommend(["zoe"], 2, unknown="skip").height == 0
    assert trained.similar(["zoe", "b1"], 2, unknown="skip").equals(trained.similar(["b1"], 2))
    assert trained.explain("zoe", "b1", unknown="skip") is None
    predicted = trained.predict(["zoe", "r3"], ["b1", "b1"], unknown="skip")
    assert np.isnan(predicted).tolist() == [True, False]
    table = {"reader": ["zoe", "r3"], "book": ["b1", "b1"]}
    assert trained.predict_table(table, unknown="skip")["reader"].to_list() == ["r3"]


def test_pairs_to_be_judged_may_leave_unknown_ids_out(trained):
    table = {"reader": ["zoe", "r3"], "book": ["b1", "b1"], "rating": [1.0, 2.0], "time": [1, 2]}
    with pytest.raises(DataError, match="1 ids are not known, such as 'zoe'"):
        trained.pairs(table)
    kept = trained.pairs(table, unknown="skip")
    assert len(kept) == 1
    known = Dataset.of(table, rating="rating")
    assert trained.evaluate(trained.pairs(known, unknown="skip"), ["mae"]) == trained.evaluate(kept, ["mae"])
    with pytest.raises(DataError, match="of 1 pairs none has ids that are known"):
        trained.pairs({name: values[:1] for name, values in table.items()}, unknown="skip")


def test_of_an_id_alone_the_other_side_is_known(trained):
    best = trained.recommend(["zoe"], 120, unknown="features")
    rows = trained.encoder.targets.ids.rows(best["target"])
    assert best["query"].unique().to_list() == ["zoe"]
    np.testing.assert_allclose(best["score"], trained.model.offset + trained.model.target_bias[rows], rtol=1e-5)
    told = trained.explain("zoe", "b1", unknown="features")
    assert told.query_bias == told.by_query == ()
    np.testing.assert_allclose(told.score, trained.predict(["zoe"], ["b1"], unknown="features")[0])
    table = trained.predict_table({"reader": ["zoe", "r3"], "book": ["b1", "b1"]}, unknown="features")
    np.testing.assert_allclose(table["predicted"], trained.predict(["zoe", "r3"], ["b1", "b1"], unknown="features"))


def test_ids_that_are_objects_are_asked_about_alike():
    pairs = {"user": [(1, "a"), (2, "b"), (1, "a")], "item": [1, 2, 2], "rating": [1.0, 2.0, 3.0]}
    trained = FMF(rank=1, rounds=1).fit(Dataset.of(pairs))
    best = trained.recommend((3, "c"), 1, unknown="features")
    assert best["query"].to_list() == ["(3, 'c')"]
    both = trained.recommend([(3, "c"), (2, "b")], 1, unknown="features", seen=True)
    assert both["query"].to_list() == ["(3, 'c')", "(2, 'b')"]
    assert trained.recommend([(3, "c"), (2, "b")], 1, unknown="skip")["query"].to_list() == ["(2, 'b')"]


def test_an_error_names_each_of_many_ids_once(trained):
    with pytest.raises(DataError) as caught:
        trained.recommend([f"x{n % 12}" for n in range(40)])
    assert str(caught.value).startswith("queries: 12 ids are not known, such as 'x0', 'x1', ")
    assert str(caught.value).count("'x3'") == 1


def test_candidates_are_the_only_ones_and_excluded_ones_are_none(trained):
    every = trained.recommend(["r3", "r5"], 120)
    some = [f"b{n}" for n in range(0, 120, 3)]
    asked = trained.recommend(["r3", "r5"], 120, targets=some, exclude=["b3", "b6"])
    kept = every.filter(every["target"].is_in([b for b in some if b not in ("b3", "b6")]))
    assert asked["target"].to_list() == kept["target"].to_list()
    assert trained.recommend(["r3"], 5, targets=[]).height == 0
    assert trained.recommend_new(pairs=["b1"], k=3, targets=["b1", "b5"])["target"].to_list() == ["b5"]


def test_scores_are_clipped_to_the_range_of_y_on_request(trained):
    low, high = trained.range_of_y
    best = trained.recommend_new(pairs=["b1", "b2"], k=120)
    assert best["score"].max() > high
    clipped = trained.recommend_new(pairs=["b1", "b2"], k=120, clip=True)
    assert clipped["target"].equals(best["target"])
    np.testing.assert_allclose(clipped["score"], np.clip(best["score"], low, high))
    queries, targets = np.repeat(["r3", "r5"], 120), [f"b{n}" for n in range(120)] * 2
    np.testing.assert_array_equal(
        trained.predict(queries, targets, clip=True), np.clip(trained.predict(queries, targets), low, high)
    )
    table = trained.predict_table({"reader": queries, "book": targets}, clip=True)
    assert table["predicted"].is_between(low, high).all()
