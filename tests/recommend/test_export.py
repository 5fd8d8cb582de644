"""Exported vectors give the order in which a model recommends."""

import json
import sys

import numpy as np
import polars as pl
import pytest
from bookshop import clicks

from fmfkit import FMF, Dataset
from fmfkit.errors import WriteError


@pytest.fixture(scope="module")
def large():
    """A model of a thousand queries and 300 targets, with biases."""
    rng = np.random.default_rng(0)
    user, item = np.divmod(rng.choice(1000 * 300, 30_000, replace=False), 300)
    taste, kind = rng.normal(size=(1000, 4)), rng.normal(size=(300, 4))
    y = 3 + (taste[user] * kind[item]).sum(axis=1) + rng.normal(size=1000)[user] + rng.normal(size=300)[item]
    return FMF(rank=8, l2=0.02, rounds=4, threads=1).fit(Dataset.of({"user": user, "item": item, "rating": y}))


def assert_same_order(found, scores, targets):
    """Assert that rankings are alike, but for places where scores are equal to rounding."""
    different = found != targets
    assert different.mean() < 0.001
    rows = np.arange(len(found))[:, None]
    np.testing.assert_allclose(scores[rows, found][different], scores[rows, targets][different], rtol=1e-5)


def ranked(trained, k):
    """Return the rows of the targets recommended to each query, k for each."""
    best = trained.recommend(k=k, seen=True)
    return trained.encoder.targets.ids.rows(best["target"]).reshape(-1, k)


@pytest.mark.parametrize("model", ["ratings", "positives"])
def test_the_order_of_inner_products_is_that_of_recommend_for_a_thousand_queries(large, model, tmp_path):
    trained = large
    if model == "positives":
        trained = FMF(rank=8, l2=0.1, cells=5, rounds=3, threads=1).fit(clicks())
    trained.export(tmp_path, "npy")
    queries, targets = (np.load(tmp_path / f"{side}.npy").astype(float) for side in ("queries", "targets"))
    scores = queries @ targets.T
    assert len(scores) == (1000 if model == "ratings" else 200)
    order = np.argsort(-scores, axis=1, kind="stable")[:, :50]
    assert_same_order(order, scores, ranked(trained, 50))
    about = json.loads((tmp_path / "about.json").read_text())
    expected = trained.model.score(np.arange(len(scores))[:, None], np.arange(scores.shape[1]))
    np.testing.assert_allclose(about["offset"] + scores, expected, rtol=1e-4, atol=1e-5)
    told = pl.read_csv(tmp_path / "targets.csv")
    assert told["id"].to_list() == trained.encoder.targets.ids.at(range(scores.shape[1]))


def test_vectors_of_new_queries_search_the_same_index(large):
    vector = large.embed_new(pairs={"item": [1, 2], "rating": [5.0, 1.0]})
    scores = vector @ large.model.embedded("target")[:, : vector.shape[1]].T
    best = large.recommend_new(pairs={"item": [1, 2], "rating": [5.0, 1.0]}, k=10)
    rows = large.encoder.targets.ids.rows(best["target"])
    np.testing.assert_allclose(large.model.offset + scores[0, rows], best["score"], rtol=1e-5)


def test_parquet_has_ids_labels_and_vectors(trained, tmp_path):
    paths = trained.export(tmp_path / "new" / "folder")
    assert [path.name for path in paths] == ["queries.parquet", "targets.parquet", "about.json"]
    frame = pl.read_parquet(paths[1])
    assert frame.columns == ["id", "label", "vector"]
    assert frame["label"][0] == f"Book {frame['id'][0][1:]}"
    found = np.array(frame["vector"].to_list(), np.float32)
    np.testing.assert_array_equal(found, trained.model.embedded("target")[:, :10])


def test_an_index_of_usearch_gives_the_order_of_recommend(large, tmp_path):
    pytest.importorskip("usearch")
    from usearch.index import Index

    large.export(tmp_path, "usearch")
    index = Index.restore(str(tmp_path / "targets.usearch"))
    queries, targets = (np.load(tmp_path / f"{side}.npy") for side in ("queries", "targets"))
    found = index.search(queries, 20, exact=True).keys.astype(np.int64)
    assert_same_order(found, (queries @ targets.T).astype(float), ranked(large, 20))


def test_what_cannot_be_written_is_refused_before_any_work(trained, tmp_path, monkeypatch):
    with pytest.raises(ValueError, match="to: expected one of"):
        trained.export(tmp_path / "folder", "excel")
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(ModuleNotFoundError, match=r"faiss is not installed: python -m pip install fmfkit\[faiss\]"):
        trained.export(tmp_path / "folder", "faiss")
    assert not (tmp_path / "folder").exists()
    (tmp_path / "file").touch()
    with pytest.raises(WriteError, match="it is no folder"):
        trained.export(tmp_path / "file")
