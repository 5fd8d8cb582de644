"""Targets that came after training are known by their attributes."""

import attrs
import numpy as np
import pytest
from bookshop import liked, readers_and_books

from fmfkit import FMF, Recommender
from fmfkit.errors import DataError

NEW = {"book": ["b1", "n1", "n2"], "title": ["x", "New 1", None], "genres": ["sea", "sea|love", None]}


@pytest.fixture(scope="module", params=[{}, {"history": True}, {"cells": True}])
def both(request):
    """A model, and the same with new targets."""
    data = readers_and_books()
    options = {"rank": 8, "rounds": 5, "threads": 1, "l2": 0.1}
    if request.param.get("history"):
        data, options = attrs.evolve(data, history=True), options | {"l2": "auto", "rounds": 11}
    if request.param.get("cells"):
        data, options = liked(data), options | {"data": "positives", "cells": 1.0}
    trained = FMF(**options).fit(data)
    return trained, trained.with_targets(NEW)


def test_answers_about_what_was_known_stay_as_they_were(both):
    before, after = both
    books = [f"b{n}" for n in range(120)]
    assert after.recommend(["r3", "r5"], 50, targets=books).equals(before.recommend(["r3", "r5"], 50))
    np.testing.assert_array_equal(after.predict("r3", "b7"), before.predict("r3", "b7"))
    pairs = {"book": ["b1", "b2"], "rating": [5.0, 1.0]}
    np.testing.assert_allclose(after.embed_new(pairs=pairs), before.embed_new(pairs=pairs), rtol=1e-5, atol=1e-6)
    assert before.model.Z.rows == 120
    assert before.attributes.height == 120


def test_new_targets_are_scored_by_their_attributes(both):
    before, after = both
    model, names = before.model, before.encoder.targets.names()["genres"]
    features = np.array([[name in ("sea", "love") for name in names]], float)
    V = model.embedded("target", features={"genres": features})
    row = after.encoder.queries.ids.rows(["r3"])
    expected = model.offset + model.embedded("query", row) @ V.T
    np.testing.assert_allclose(after.score(["r3"], ["n1"]), expected[0], rtol=1e-5)
    told = after.explain("r3", "n1")
    assert {(c.block, c.name): c.adds for c in told.by_target}["indicator", "New 1"] == 0
    assert after.recommend(["r3"], 1, targets=["n1"])["label"].to_list() == ["New 1"]
    assert set(after.recommend(["r3"], 130, where="genres=love", seen=True)["target"]) >= {"n1"}
    assert "n1" in after.similar(["n2", "b1"], 121)["similar"]
    assert after.recommend_new(pairs={"book": ["n1"], "rating": [1.0]}, k=121).height == 121


def test_a_recommender_with_new_targets_is_saved_and_loaded(both, tmp_path):
    _, after = both
    after.save(tmp_path / "model")
    again = Recommender.load(tmp_path / "model")
    assert again.recommend(["r3"], 122).equals(after.recommend(["r3"], 122))
    assert again.attributes.equals(after.attributes)
    more = liked(readers_and_books()) if again.positives else readers_and_books()
    assert FMF(rounds=1).fit(more, start=again).model.Z.rows == 122


def test_nothing_new_changes_nothing(trained):
    assert trained.with_targets({"book": ["b1"], "genres": ["sea"]}) is trained
    with pytest.raises(DataError, match="column 'book' has ids twice"):
        trained.with_targets({"book": ["n1", "n1"], "genres": ["sea", "sea"]})
