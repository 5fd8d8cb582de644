"""A trained model answers by ids, about known and new instances, and comes back from files."""

import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import attrs
import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp

from fmfkit import FMF, Model
from fmfkit.data import Dataset, Neighbours, Precomputed, SideTable
from fmfkit.errors import DataError
from fmfkit.problem import features, observations
from fmfkit.recommend.recommender import Recommender
from fmfkit.recommend.settings import names


def test_answers_speak_in_ids_and_labels(data, trained):
    best = trained.recommend(["r3", "r5"], k=4)
    assert best.columns == ["query", "rank", "target", "label", "score"]
    assert best["query"].to_list() == ["r3"] * 4 + ["r5"] * 4
    assert best["label"][0] == f"Book {best['target'][0][1:]}"
    known = {
        data.targets.ids.at([t])[0]
        for q, t in zip(data.query, data.target, strict=True)
        if data.queries.ids.at([q])[0] == "r3" and trained.seen[q, t]
    }
    assert not known & set(best["target"][:4])
    np.testing.assert_allclose(trained.score(["r3"], [best["target"][0]]), best["score"][0], rtol=1e-5)
    similar = trained.similar(["b7"], k=3)
    assert similar.columns == ["target", "rank", "similar", "label", "score"]
    assert "b7" not in similar["similar"]
    assert trained.similar(queries=["r3"], k=2).columns[0] == "query"
    told = trained.explain("r3", "b7")
    assert set(told.blocks("by_target")) == {"indicator", "genres"}


def test_a_recommender_comes_back_from_a_file(tmp_path, data, trained):
    trained.save(tmp_path / "model")
    again = Recommender.load(tmp_path / "model")
    assert again.recommend(k=3).equals(trained.recommend(k=3))
    _, test = data.split_random(0.2)
    assert again.evaluate(test) == trained.evaluate(test)
    assert again.encoder.targets.names()["genres"] == ("crime", "love", "sea", "space")
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
    train, test = data.split_random(0.2)
    trained = FMF(rank=4, loss="logistic", l2=0.01).fit(train)
    best = trained.recommend_new({"country": ["it", "no", "unheard-of"]}, k=5)
    assert (best.filter(pl.col("query") == 0)["target"] < 10).all()
    assert (best.filter(pl.col("query") == 1)["target"] >= 10).all()
    assert trained.evaluate(test)["auc"] > 0.9


def test_new_queries_are_recommended_to_by_links_matrices_and_pairs(tmp_path):
    rng = np.random.default_rng(1)
    group = rng.integers(0, 2, 60)
    user, item = np.divmod(rng.choice(60 * 20, 500, replace=False), 20)
    liked = ((group[user] == 1) == (item < 10)).astype(float)
    friends = {"user": np.repeat(range(60), 3), "friend": [f"g{group[n]}" for n in np.repeat(range(60), 3)]}
    data = Dataset.of(
        {"user": user, "item": item, "rating": liked},
        queries=SideTable(blocks=[Neighbours(friends, name="friends"), Precomputed(np.eye(2)[group], name="vector")]),
        history=True,
    )
    trained = FMF(rank=4, loss="logistic", l2=0.01).fit(data)
    ask = {"user": ["new", "other"]}
    ties, ones = {"a": ["new", "other"], "b": ["g1", "g0"]}, np.array([[0, 1], [1, 0]])
    best = trained.recommend_new(ask, k=5, extra={"friends": ties, "vector": ones})
    assert best["query"].to_list() == ["new"] * 5 + ["other"] * 5
    assert (best["target"].to_numpy() < 10).tolist() == [True] * 5 + [False] * 5
    known = {"user": ["new", "new", "other"], "item": [3, 4, 15]}
    best = trained.recommend_new(ask, k=20, extra={"friends": ties, "vector": ones}, pairs=known)
    assert best.height == 18 + 19
    assert not {3, 4} & set(best.filter(pl.col("query") == "new")["target"])
    trained.save(tmp_path / "model")
    with pytest.raises(DataError, match="the links of these instances are not known; give extra="):
        Recommender.load(tmp_path / "model").recommend_new(ask)


def test_pairs_of_new_queries_belong_to_their_rows():
    pairs = {"user": np.repeat(range(9), 3), "item": [*range(9)] * 3, "rating": [1.0, 2.0, 3.0] * 9}
    trained = FMF(rank=2, rounds=3).fit(Dataset.of(pairs, history=True))
    for first in ("user", "who"):
        known = {"x": ["b", "b"], "item": [1, 2], "rating": [3.0, 1.0]}
        best = trained.recommend_new({first: ["b", "a"]}, k=9, pairs=known)
        rows = best.with_row_index().with_columns(row=pl.col("index") >= 7)
        assert not {1, 2} & set(rows.filter(~pl.col("row"))["target"])
        assert {1, 2} <= set(rows.filter(pl.col("row"))["target"])
    with pytest.raises(DataError, match="a different value in each row"):
        trained.recommend_new({"user": ["a", "a"]}, pairs={"x": ["a"], "item": [1]})


def test_explanations_name_features(trained):
    told = trained.explain("r3", "b7")
    names = {(c.block, c.name) for c in told.by_target}
    assert ("indicator", "Book 7") in names
    assert {name for block, name in names if block == "genres"} <= {"sea", "love", "crime", "space"}
    assert "by target" in str(told)


def test_settings_are_kept_with_the_model(tmp_path, trained):
    trained.save(tmp_path / "model")
    assert Recommender.load(tmp_path / "model").settings == trained.settings
    assert trained.settings.l2 == 0.1


def test_a_file_has_the_permissions_of_files_and_needs_a_folder(tmp_path, trained):
    trained.save(tmp_path / "model")
    (tmp_path / "other").touch()
    assert (tmp_path / "model").stat().st_mode == (tmp_path / "other").stat().st_mode
    with pytest.raises(OSError, match="nowhere"):
        trained.save(tmp_path / "nowhere" / "model")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda trained: trained.recommend(["nobody"]), "queries: 1 ids are not known, such as 'nobody'"),
        (lambda trained: trained.recommend_new({"x": [1]}), "no features of queries but their ids"),
        (
            lambda trained: trained.parse_queries(["r1", "x"]) and trained.score(["r1"], ["c9"]),
            "targets: 1 ids are not",
        ),
    ],
)
def test_senseless_questions_are_refused(trained, call, message):
    with pytest.raises(ValueError, match=message):
        call(trained)


def test_ids_given_as_text_are_read_in_the_kind_that_the_model_knows(trained):
    assert trained.parse_queries(["r1"]) == ["r1"]
    numbers = FMF(rank=1, rounds=1).fit(Dataset.of({"user": [1, 2, -3], "item": [1, 2, 3], "rating": [1.0, 2, 3]}))
    assert numbers.parse_queries(["2", "-3"]) == [2, -3]
    with pytest.raises(ValueError, match="query: this model's ids are whole numbers, got 'two'"):
        numbers.parse_queries(["two"])


def test_predictions_of_unknown_ids_are_made_of_what_is_known(trained):
    model = trained.model
    row = trained.encoder.queries.ids.rows(["r7"])[0]
    found = trained.predict(["nobody", "r7"], ["nothing", "nothing"], unknown="features")
    np.testing.assert_allclose(found, [model.offset, model.offset + model.query_bias[row]], rtol=1e-6)
    with pytest.raises(DataError, match="queries: 1 ids are not known"):
        trained.predict(["nobody"], ["b1"])


def test_a_table_of_pairs_is_predicted_by_ids(trained):
    table = trained.predict_table({"reader": ["r3", "r5"], "book": ["b1", "b7"]})
    assert table.columns == ["reader", "book", "predicted"]
    assert table["book"].to_list() == ["b1", "b7"]
    np.testing.assert_allclose(table["predicted"], trained.predict(["r3", "r5"], ["b1", "b7"]))


def test_a_recommender_is_printed_in_a_few_lines_and_as_a_table_in_notebooks():
    rng = np.random.default_rng(0)
    user, item = np.divmod(rng.choice(500 * 300, 5000, replace=False), 300)
    trained = FMF(rank=2, rounds=1).fit(
        Dataset.of({"user": user, "item": item, "rating": rng.random(5000)}), validate=0.1
    )
    for shown in (repr(trained), str(trained)):
        assert len(shown) < 1000
        assert 4 <= len(shown.splitlines()) <= 10
        assert f"training pairs  {trained.seen.nnz}" in shown
        assert "Square()" in shown
    page = trained._repr_html_()
    assert len(page) < 2000
    assert page.startswith("<table>")
    assert page.endswith("</table>")
    assert page.count("<tr>") == len(repr(trained).splitlines()) - 1


@pytest.fixture
def busy(trained):
    """A recommender whose queries are paired with nearly everything: 2 million pairs."""
    rng = np.random.default_rng(0)
    users, items = 2000, 2000
    pairs = {"user": np.arange(users), "item": rng.permutation(items), "rating": rng.random(users)}
    model = FMF(rank=2, rounds=1).fit(Dataset.of(pairs))
    seen = sp.csr_array(rng.random((users, items), np.float32) < 0.5, dtype=np.float32)
    return attrs.evolve(model, seen=seen)


def test_recommending_to_one_query_costs_what_its_own_pairs_cost(busy):
    busy.recommend([7])  # what is made once is made
    tracemalloc.start()
    best = busy.recommend([7])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < busy.seen.data.nbytes / 20
    row = busy.encoder.queries.ids.rows([7])[0]
    rows = busy.encoder.targets.ids.rows(best["target"])
    assert not busy.seen[[row]].toarray()[0, rows].any()


def test_several_threads_get_the_answers_that_one_gets(trained):
    """Nothing is made beforehand: the first questions of all threads meet what is made once."""
    pairs = {"book": ["b1", "b2"], "rating": [5.0, 1.0]}
    questions = [
        lambda of: of.recommend(["r3"], 5),
        lambda of: of.recommend(k=3),
        lambda of: of.recommend(["r5"], 5, where="genres=sea", exclude=["b3"]),
        lambda of: of.recommend_new(pairs=pairs, k=5),
        lambda of: of.recommend(["r3"], 5, pairs={"reader": ["r3"], "book": ["b9"], "rating": [2.0]}),
        lambda of: of.similar(["b7"], 4),
        lambda of: of.similar(queries=["r3"], k=4),
        lambda of: pl.DataFrame({"score": of.predict(["r3", "r5"], ["b1", "b2"], clip=True)}),
    ]
    expected = [ask(trained) for ask in questions]
    for _ in range(3):
        fresh = attrs.evolve(trained, model=attrs.evolve(trained.model))
        with ThreadPoolExecutor(8) as pool:
            found = list(pool.map(lambda n, of=fresh: questions[n % len(questions)](of), range(64)))
        assert all(answer.equals(expected[n % len(questions)]) for n, answer in enumerate(found))


def test_a_query_is_answered_alone_as_it_is_among_all(trained):
    every = trained.recommend(k=5)
    for query in ("r3", "r5"):
        alone = trained.recommend([query], k=5)
        assert alone.drop("score").equals(every.filter(pl.col("query") == query).drop("score"))
        np.testing.assert_allclose(alone["score"], every.filter(pl.col("query") == query)["score"], rtol=1e-5)


def test_loading_builds_no_layout_by_columns(tmp_path, trained, monkeypatch):
    trained.save(tmp_path / "model")

    def refuse(*given, **options):
        raise AssertionError("a layout that only training needs was built")

    for module in (features, observations):
        monkeypatch.setattr(module, "lay_out", refuse)
    for kind in (sp.csr_array, sp.coo_array):
        monkeypatch.setattr(kind, "tocsc", refuse)
    again = Recommender.load(tmp_path / "model")
    assert again.recommend(["r3"]).equals(trained.recommend(["r3"]))
    assert not hasattr(again.model.X, "col_ptr")


def test_settings_of_the_machine_are_not_kept_in_files(tmp_path):
    pairs = {"user": [1, 1, 2], "item": [1, 2, 1], "rating": [1.0, 2.0, 3.0]}
    FMF(rank=2, rounds=1, threads=1).fit(Dataset.of(pairs)).save(tmp_path / "model")
    assert Recommender.load(tmp_path / "model").settings.given == set(names(kept=True))
