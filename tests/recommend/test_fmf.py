"""FMF, the friendly front: from a data set to answers in ids."""

import attrs
import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp

from fmfkit import FMF, Model
from fmfkit.data import Categorical, Dataset, Neighbours, Numeric, Precomputed, SideTable, Tags
from fmfkit.errors import DataError
from fmfkit.recommend.recommender import Recommender


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
        "book": [f"b{n}" for n in range(120)],
        "title": [f"Book {n}" for n in range(120)],
        "genres": ["|".join(genres[row]) for row in has],
    }
    pairs = {
        "reader": [f"r{n}" for n in reader],
        "book": [f"b{n}" for n in book],
        "rating": rating,
        "time": range(3000),
    }
    return Dataset.of(pairs, targets=SideTable(books, blocks=[Tags("genres")]))


@pytest.fixture(scope="module")
def trained(data):
    train, _ = data.split_random(0.2)
    return FMF(rank=8, l2=0.1, rounds=15).fit(train, validate=0.1)


def test_features_help_on_cold_targets(data):
    train, cold = data.split_cold("target", 0.2)
    floor = float(np.sqrt(np.mean((cold.y - train.y.mean()) ** 2)))
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
    known = {
        data.targets.ids.at([t])[0]
        for q, t in zip(data.query, data.target, strict=True)
        if data.queries.ids.at([q])[0] == "r3" and trained.seen[q, t]
    }
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
    trained = FMF(rank=4, loss="logistic", l2=0.01).fit(data)
    best = trained.recommend_new({"country": ["it", "no", "unheard-of"]}, k=5)
    assert (best.filter(pl.col("query") == 0)["target"] < 10).all()
    assert (best.filter(pl.col("query") == 1)["target"] >= 10).all()
    assert trained.evaluate(data)["auc"] > 0.9


def test_new_queries_are_recommended_to_by_links_matrices_and_pairs():
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
    best = trained.recommend_new(ask, k=5, beside={"friends": ties, "vector": ones})
    assert best["query"].to_list() == ["new"] * 5 + ["other"] * 5
    assert (best["target"].to_numpy() < 10).tolist() == [True] * 5 + [False] * 5
    known = {"user": ["new", "new", "other"], "item": [3, 4, 15]}
    best = trained.recommend_new(ask, k=20, beside={"friends": ties, "vector": ones}, pairs=known)
    assert best.height == 18 + 19
    assert not {3, 4} & set(best.filter(pl.col("query") == "new")["target"])
    with pytest.raises(DataError, match="the links of these instances are not known; give beside="):
        Recommender.recommend_new(_saved(trained), ask)


def _saved(trained):
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory() as folder:
        trained.save(Path(folder) / "model")
        return Recommender.load(Path(folder) / "model")


def test_strengths_are_by_side_and_name(data):
    bound = FMF(rank=4, rounds=3, strengths={"target.genres": 1e6}).fit(data)
    part = bound.model.Z.blocks["genres"]
    assert np.abs(bound.model.Q[part.start : part.stop]).max() < 1e-3
    with pytest.raises(ValueError, match=r"there is no 'genres'; there are \['query.indicator', 'target.genres'"):
        FMF(strengths={"genres": 1}).fit(data)


def test_growth_bounds_the_later_dimensions_and_is_tuned_where_it_is_above_0(data):
    front = FMF(rank=8, rounds=5, l2=0.05, growth=3)
    size = np.square(front.fit(data).model.P[:, :8]).sum(axis=0)
    assert size[4:].sum() < 1e-3 * size.sum()
    tried = {trial.settings.growth for trial in front.tune(data, trials=12, progress=False).trials}
    assert len(tried) > 1
    assert max(tried) <= 4  # an exponent: with more, numbers become too large


def test_tuning_finds_settings_at_least_as_good_as_those_it_began_with(data):
    train, test = data.split_random(0.2)
    front = FMF(rank=4, l2=5.0, rounds=10)
    tuned = front.tune(train, trials=8, progress=False)
    assert tuned.metric == "rmse"
    assert tuned.value == min(trial.value for trial in tuned.trials) < tuned.trials[0].value
    assert tuned.trials[0].settings.l2 == 5.0
    assert tuned.best.fit(train).evaluate(test)["rmse"] < front.fit(train).evaluate(test)["rmse"]
    assert front.tune(train, trials=8, progress=False) == tuned
    with pytest.raises(ValueError, match="a regularizer replaces"):
        FMF(regularizer="elastic_net").tune(train)


@pytest.fixture(scope="module")
def positives(data):
    kept = data.only(data.y > 3.3)
    return attrs.evolve(kept, y=np.ones(len(kept)))


@pytest.mark.parametrize("fresh", [False, True])
def test_negatives_are_drawn_once_or_in_each_round(positives, fresh):
    sums = []
    front = FMF(rank=4, loss="logistic", l2=0.05, rounds=4, negatives=2, negatives_fresh=fresh)
    trained = front.fit(positives, callbacks=[lambda event: sums.append(event.problem.query.pairs.other.sum())])
    assert len(sums) == len(trained.model.history) == 5
    assert [record.round for record in trained.model.history] == list(range(5))
    assert len(set(sums[1:])) == (4 if fresh else 1)
    assert trained.seen.nnz == len(positives)


def test_balance_weighs_pairs_and_is_tuned_where_it_is_above_0(positives):
    seen = []
    front = FMF(rank=4, loss="logistic", l2=0.05, rounds=2, negatives=2, balance=0.4)
    trained = front.fit(positives, callbacks=[lambda event: seen.append(event.problem.target.pairs)])
    drawn = positives.with_negatives(2, seed=front.seed).balanced(0.4)
    by_target = drawn.weight[np.lexsort((drawn.query, drawn.target))]
    np.testing.assert_allclose(seen[0].weight, by_target, rtol=1e-5)
    assert trained.settings.balance == 0.4
    assert trained.weight is None  # what is remembered is what was told
    tried = {trial.settings.balance for trial in front.tune(positives, trials=10, progress=False).trials}
    assert len(tried) > 1
    assert max(tried) <= 1
    assert {t.settings.balance for t in front.replace(balance=0).tune(positives, trials=5, progress=False).trials} == {
        0
    }


def test_negatives_are_no_training_pairs_do_not_spare_held_out_ones_and_are_drawn_for_validation_too(positives):
    shown = []
    front = FMF(rank=4, loss="logistic", l2=0.05, rounds=12, patience=2, negatives=4, negatives_fresh=True)
    trained = front.fit(positives, validate=0.2, callbacks=shown.append)
    assert trained.metric == "log_loss"
    assert len(trained.model.history) == int(np.argmin(trained.validation)) + 1
    assert all(event.last == 12 for event in shown)
    train, held_out = positives.split_random(0.2, 0)
    spared = []
    for event in shown:
        pairs = event.problem.query.pairs
        key = np.repeat(np.arange(len(pairs.ptr) - 1), np.diff(pairs.ptr)) * 120 + pairs.other
        assert len(np.unique(key)) == len(key)  # no pair is there twice, as itself and drawn
        assert np.isin(train.query.astype(np.int64) * 120 + train.target, key).all()
        spared.append(~np.isin(held_out.query.astype(np.int64) * 120 + held_out.target, key))
    assert not np.all(spared)  # to spare them all would tell which they are
    auc = front.fit(positives, validate=0.2, metric="auc")
    assert auc.validation[-1] > 0.6


def grown_tables():
    """Two batches: the second has new readers, new books, a new genre and a block of its own."""
    first = {"reader": ["a", "a", "b", "b", "c"], "book": [1, 2, 1, 3, 2], "rating": [5.0, 3, 4, 2, 1]}
    books = {"book": [1, 2, 3], "genres": ["sea", "war", "sea|war"], "year": [1900, 1950, 2000]}
    second = {"reader": ["d", "d", "a"], "book": [4, 1, 4], "rating": [5.0, 4.0, 2.0]}
    more = {"book": [4, 2], "genres": ["sea|space", "war"], "year": [2020, 1950], "country": ["no", "it"]}
    return first, books, second, more


def test_a_fit_that_starts_from_a_model_adds_ids_and_features_and_keeps_the_rest():
    first, books, second, more = grown_tables()
    blocks = [Tags("genres"), Numeric("year")]
    before = FMF(rank=3, rounds=4).fit(Dataset.of(first, targets=SideTable(books, blocks=blocks), history=True))
    data = Dataset.of(second, targets=SideTable(more, blocks=[*blocks, Categorical("country")]), history=True)
    start = []
    after = FMF(rank=3, rounds=3).fit(data, start=before, callbacks=lambda event: start.append(event.state.P.copy()))
    assert after.encoder.queries.ids.at(range(4)) == ["a", "b", "c", "d"]
    assert after.encoder.targets.ids.at(range(4)) == [1, 2, 3, 4]
    assert after.encoder.targets.names()["genres"] == ("sea", "war", "space")
    np.testing.assert_array_equal(start[0][:3], before.model.P[:3])
    Z = {name: after.model.Z.blocks[name] for name in ("genres", "year", "country")}
    dense = np.zeros((4, after.model.Z.cols))
    for row in range(4):
        begin, end = after.model.Z.row_ptr[row : row + 2]
        dense[row, after.model.Z.row_index[begin:end]] = after.model.Z.values_by_row(row, row + 1)
    np.testing.assert_array_equal(dense[:, Z["genres"]], [[1, 0, 0], [0, 1, 0], [1, 1, 0], [1, 0, 1]])
    np.testing.assert_array_equal(dense[:, Z["country"]], [[0, 0], [1, 0], [0, 0], [0, 1]])
    deviation = np.std([1900, 1950, 2000])
    np.testing.assert_allclose(
        dense[:, Z["year"]].ravel(), (np.array([1900, 1950, 2000, 2020]) - 1950) / deviation, rtol=1e-5
    )
    assert after.seen.nnz == 8
    assert after.model.history[0].round == 4
    assert after.model.offset == before.model.offset
    assert "b" in after.recommend(k=2)["query"]


def test_a_fit_that_starts_from_a_model_learns_new_pairs_without_forgetting(data, tmp_path):
    train, test = data.split_random(0.2)
    warm, cold = train.split_cold("query", 0.3)
    front = FMF(rank=8, l2=0.1, rounds=8)
    before = front.fit(warm)
    before.save(tmp_path / "model")
    after = front.fit(cold, start=Recommender.load(tmp_path / "model"))
    cold_test = test.only(np.isin(test.query, cold.query))
    warm_test = test.only(~np.isin(test.query, cold.query))
    assert after.evaluate(cold_test)["rmse"] < 0.9 * before.evaluate(cold_test)["rmse"]
    assert after.evaluate(warm_test)["rmse"] < 1.05 * before.evaluate(warm_test)["rmse"]
    assert after.seen.nnz == len(train)
    np.testing.assert_allclose(
        after.seen.toarray(),
        sp.csr_array((train.y.astype(np.float32), (train.query, train.target)), shape=train.shape).toarray(),
    )


def test_pairs_told_anew_replace_the_remembered_ones_and_held_out_ones_are_forgotten():
    first, books, _, _ = grown_tables()
    before = FMF(rank=3).fit(Dataset.of(first | {"weight": [1.0, 2, 3, 4, 5]}, targets=books))
    again = Dataset.of({"reader": ["a", "c", "c"], "book": [1, 2, 3], "rating": [1.0, 2.0, 3.0]})
    after = FMF(rank=3).fit(again.only(again.target != 1), validate=again.only(again.target == 1), start=before)
    np.testing.assert_array_equal(
        after.seen.toarray(), [[1, 3, 0], [4, 0, 2], [0, 0, 3]]
    )  # the pair of c and 2 is held out
    np.testing.assert_array_equal(after.weight, [1, 2, 3, 4, 1])


def test_a_start_of_another_rank_or_kind_of_block_is_refused(data, trained):
    with pytest.raises(ValueError, match="rank: expected 8, as the model to start from has, got 4"):
        FMF(rank=4).fit(data, start=trained)
    first, books, second, more = grown_tables()
    before = FMF(rank=3).fit(Dataset.of(first, targets=SideTable(books, blocks=[Tags("genres")])))
    with pytest.raises(DataError, match="block 'genres' is categorical, in the model it is tags"):
        FMF(rank=3).fit(Dataset.of(second, targets=SideTable(more, blocks=[Categorical("genres")])), start=before)


def test_validation_data_must_have_the_same_ids(data):
    with pytest.raises(DataError, match="validate: expected a part of the same data"):
        FMF().fit(data, validate=Dataset.of({"reader": ["r1"], "book": ["b1"], "rating": [1.0]}))


def test_progress_is_shown_if_asked_for(data, capsys):
    FMF(rank=2, rounds=2).fit(data, validate=0.1, progress=True)
    assert [line.partition("  objective")[0] for line in capsys.readouterr().err.splitlines()] == [
        f"fit  round {n}/2" for n in range(3)
    ]
    FMF(rank=2, rounds=2).tune(data, trials=2, progress=True)
    assert capsys.readouterr().err.startswith("tune  trial 1/2  rmse ")


def test_convergence_is_plotted(trained):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    ax = trained.plot()
    (line,) = ax.lines
    np.testing.assert_allclose(line.get_ydata(), [record.objective for record in trained.model.history])
    other = next(axes for axes in ax.figure.axes if axes is not ax)
    np.testing.assert_allclose(other.lines[0].get_ydata(), trained.validation)
    matplotlib.pyplot.close("all")


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
        (lambda data, trained: FMF(l2=-1), "l2: expected a finite number at least 0"),
    ],
)
def test_senseless_questions_are_refused(data, trained, call, message):
    with pytest.raises(ValueError, match=message):
        call(data, trained)


def test_evaluation_goes_by_ids_whatever_the_row_numbers(data, trained):
    _, test = data.split_random(0.2)
    table = {
        "reader": data.queries.ids.at(test.query)[::-1],
        "book": data.targets.ids.at(test.target)[::-1],
        "rating": test.y[::-1],
    }
    other = Dataset.of(table)
    assert other.queries.ids.at([0]) != data.queries.ids.at([0])
    assert trained.evaluate(other)["rmse"] == pytest.approx(trained.evaluate(test)["rmse"])
    with pytest.raises(DataError, match="1 pairs have ids that are not known, such as 'nobody'"):
        trained.evaluate(Dataset.of({"reader": ["nobody"], "book": ["b1"], "rating": [1.0]}))
    with pytest.raises(TypeError, match=r"pairs\(...\) makes one of a table"):
        trained.evaluate("ratings.csv")


def test_drawn_pairs_do_not_replace_remembered_ones():
    front = FMF(rank=2, rounds=2, loss="logistic")
    before = front.fit(Dataset.of({"user": [1, 1, 1, 2], "item": [1, 2, 3, 4]}))
    more = Dataset.of({"user": [1, 2], "item": [4, 3]}, targets={"item": [1, 2, 3, 4]}).with_negatives(2, seed=0)
    after = front.fit(more, start=before)
    np.testing.assert_array_equal(after.seen.toarray(), [[1, 1, 1, 1], [0, 0, 1, 1]])


def test_pairs_of_new_queries_belong_to_their_rows():
    pairs = {"user": np.repeat(range(9), 3), "item": [*range(9)] * 3, "rating": [1.0, 2.0, 3.0] * 9}
    trained = FMF(rank=2, rounds=3).fit(Dataset.of(pairs, history=True))
    for first in ("user", "who"):
        best = trained.recommend_new({first: ["b", "a"]}, k=9, pairs={"x": ["b", "b"], "item": [1, 2]})
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
    assert (tmp_path / "model").stat().st_mode & 0o777 == 0o666 & ~_umask()
    with pytest.raises(OSError, match="nowhere"):
        trained.save(tmp_path / "nowhere" / "model")


def _umask():
    import os

    now = os.umask(0)
    os.umask(now)
    return now
