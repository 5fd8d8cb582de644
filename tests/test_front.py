"""FMF, the friendly front: from a data set to answers in ids."""

import numpy as np
import polars as pl
import pytest

from fmfkit import Model
from fmfkit.data import Dataset, Tags
from fmfkit.errors import DataError
from fmfkit.front import FMF, Recommender


@pytest.fixture(scope="module")
def data():
    """Readers who like genres; some books nobody has read."""
    rng = np.random.default_rng(0)
    genres = np.array(["sea", "love", "crime", "space"])
    has = rng.random((120, 4)) < 0.4
    has[:, 0] |= ~has.any(axis=1)
    likes = rng.normal(size=(80, 4))
    reader, book = np.divmod(rng.choice(80 * 110, 3000, replace=False), 110)
    rating = 3 + (likes @ has.T / 2)[reader, book] + 0.3 * rng.normal(size=3000)
    books = {
        "book": [f"b{n}" for n in range(120)], "title": [f"Book {n}" for n in range(120)],
        "genres": ["|".join(genres[row]) for row in has],
    }  # fmt: skip
    pairs = {
        "reader": [f"r{n}" for n in reader],
        "book": [f"b{n}" for n in book],
        "rating": rating,
        "time": range(3000),
    }
    return Dataset.of(pairs, targets=books, target_blocks=[Tags("genres")])


@pytest.fixture(scope="module")
def trained(data):
    train, _ = data.split_random(0.2)
    return FMF(rank=8, l2=0.1, rounds=15).fit(train, validate=0.1)


def test_features_help_on_cold_targets(data):
    train, cold = data.split_cold("target", 0.2)
    floor = float(np.sqrt(np.mean((cold.score - train.score.mean()) ** 2)))
    assert FMF(rank=8, l2=0.02).fit(train).evaluate(cold)["rmse"] < 0.8 * floor


def test_validation_keeps_the_best_round_and_stops(data, trained):
    best = int(np.argmin(trained.validation))
    assert len(trained.model.history) == best + 1
    assert trained.metric == "rmse"
    _, test = data.split_random(0.2)
    assert trained.evaluate(test)["rmse"] < 0.75
    patient = FMF(rank=8, l2=0.001, rounds=40, patience=2).fit(data, validate=0.3)
    assert "has not improved for 2 rounds" in patient.model.stopped
    assert len(patient.validation) - 1 == int(np.argmin(patient.validation)) + 2


def test_answers_speak_in_ids_and_labels(data, trained):
    best = trained.recommend(["r3", "r5"], k=4)
    assert best.columns == ["query", "rank", "target", "label", "score"]
    assert best["query"].to_list() == ["r3"] * 4 + ["r5"] * 4
    assert best["label"][0] == f"Book {best['target'][0][1:]}"
    known = {data.targets.ids.at([t])[0] for q, t in zip(data.query, data.target, strict=True)
             if data.queries.ids.at([q])[0] == "r3" and trained.seen[q, t]}  # fmt: skip
    assert not known & set(best["target"][:4])
    np.testing.assert_allclose(trained.score(["r3"], [best["target"][0]]), best["score"][0], rtol=1e-5)
    assert "b7" not in trained.similar(["b7"], k=3)["target"]
    told = trained.explain("r3", "b7")
    assert set(told.blocks("by_target")) == {"indicator", "genres"}


def test_a_recommender_comes_back_from_a_file(tmp_path, data, trained):
    trained.save(tmp_path / "model")
    again = Recommender.load(tmp_path / "model")
    assert again.recommend(k=3).equals(trained.recommend(k=3))
    _, test = data.split_random(0.2)
    assert again.evaluate(test) == trained.evaluate(test)
    assert again.encoder.targets.names()["genres"] == ["crime", "love", "sea", "space"]
    trained.model.save(tmp_path / "rows")
    with pytest.raises(DataError, match=r"read it with Model\.load"):
        Recommender.load(tmp_path / "rows")
    assert isinstance(Model.load(tmp_path / "model"), Model)


def test_new_queries_are_recommended_to_by_their_attributes():
    rng = np.random.default_rng(1)
    country = rng.choice(["no", "it"], 60)
    user, item = np.divmod(rng.choice(60 * 20, 500, replace=False), 20)
    liked = (country[user] == "it") == (item < 10)
    users = {"user": range(60), "country": country}
    data = Dataset.of({"user": user, "item": item, "rating": liked.astype(float)}, queries=users)
    trained = FMF(rank=4, loss="logistic", l2=0.01).fit(data)
    best = trained.recommend_new({"country": ["it", "no", "unheard-of"]}, k=5)
    assert (best.filter(pl.col("query") == 0)["target"] < 10).all()
    assert (best.filter(pl.col("query") == 1)["target"] >= 10).all()
    assert trained.evaluate(data)["auc"] > 0.9


def test_rankings_are_measured(data, trained):
    _, test = data.split_random(0.2)
    told = trained.evaluate(test, ["precision@5", "recall@5", "map@5", "ndcg@5", "mrr@50"])
    assert all(0 < value <= 1 for value in told.values())


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda data, trained: trained.recommend(["nobody"]), "queries: 1 ids are not known, such as 'nobody'"),
        (lambda data, trained: trained.evaluate(data, "rsme"), "there is no 'rsme'"),
        (lambda data, trained: trained.evaluate(data, "ndcg"), "k: expected"),
        (lambda data, trained: trained.recommend_new({"x": [1]}), "no features of queries but their ids"),
        (lambda data, trained: FMF(patience=0), "patience: expected"),
        (lambda data, trained: FMF(l2=-1), "l2"),
    ],
)
def test_senseless_questions_are_refused(data, trained, call, message):
    with pytest.raises(ValueError, match=message):
        call(data, trained)
