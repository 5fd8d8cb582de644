"""New queries, and queries with new pairs, are folded in."""

import attrs
import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp
from bookshop import clicks

from fmfkit import FMF, Dataset, Model
from fmfkit.data import SideTable
from fmfkit.errors import DataError
from fmfkit.recommend.prepared import Prepared


@pytest.fixture(scope="module")
def clicked():
    """A model of positives, with the term over all cells and weights against popularity."""
    return FMF(rank=8, l2=0.1, cells=5, scale=0.5, balance=0.3, rounds=5, threads=1, data="positives").fit(clicks())


def pairs_of(trained, query):
    """Return the training pairs of a query as a table."""
    row = int(trained.encoder.queries.ids.rows([query])[0])
    places = slice(trained.seen.indptr[row], trained.seen.indptr[row + 1])
    ids = trained.encoder.targets.ids.at(trained.seen.indices[places])
    named = {trained.columns["target"]: ids}
    return named | (
        {trained.columns["rating"]: trained.seen.data[places].tolist()} if trained.columns.get("rating") else {}
    )


def test_pairs_of_a_new_query_count_as_they_did_in_training(clicked):
    problem = Prepared.of(clicks(), None, clicked.settings, None).problem(clicked.settings)
    for query in clicked.encoder.queries.ids.at([3, 50]):
        row, pairs = clicked.encoder.queries.ids.rows([query])[0], problem.query.pairs
        part = slice(pairs.ptr[row], pairs.ptr[row + 1])
        shape, ptr = (1, clicked.model.Z.rows), [0, part.stop - part.start]
        y, weight = (
            sp.csr_array((values[part], pairs.other[part], ptr), shape=shape) for values in (pairs.y, pairs.weight)
        )
        expected = clicked.model.fold_in(y, weight=weight)[:, : clicked.model.rank + 2]
        np.testing.assert_allclose(clicked.embed_new(pairs=pairs_of(clicked, query)), expected, rtol=1e-4, atol=1e-5)


def test_drawn_negatives_are_weighed_as_in_training(monkeypatch):
    data, asked = clicks(), []
    trained = FMF(rank=2, loss="logistic", negatives=2, l2=0.1, balance=0.3, rounds=1, threads=1).fit(data)
    fold_in = Model.fold_in

    def noted(model, pairs, **options):
        asked.append((pairs, options["weight"]))
        return fold_in(model, pairs, **options)

    monkeypatch.setattr(Model, "fold_in", noted)
    trained.embed_new(pairs=data.targets.ids.at([0, 1, 2]))
    ((y, weight),) = asked
    assert y.data.sum() == 3
    assert y.nnz == 9
    often = np.bincount(data.target, minlength=150)
    np.testing.assert_allclose(weight.data / weight.data[0], (often[y.indices] / often[y.indices[0]]) ** -0.3)
    pairs = (often[data.target] * np.bincount(data.query)[data.query]) ** -0.3
    np.testing.assert_allclose(weight.data[0], (3 * often[y.indices[0]]) ** -0.3 / pairs.mean())


def test_liked_items_alone_are_enough(clicked):
    topics = clicked.encoder.targets.ids.at(range(150))
    liked = clicked.recommend(clicked.encoder.queries.ids.at([3]), k=4)["target"].to_list()
    best = clicked.recommend_new(pairs=liked, k=20)
    assert best["query"].unique().to_list() == [0]
    assert not {*liked} & {*best["target"]}
    near = clicked.similar(liked, k=30)["similar"]
    assert best["target"].is_in(near.to_list()).mean() > 0.9
    assert len(topics) == 150


def test_liked_items_of_a_model_of_ratings_have_the_highest_rating(trained):
    top = trained.range_of_y[1]
    alone = trained.embed_new(pairs=["b1", "b2"])
    np.testing.assert_array_equal(alone, trained.embed_new(pairs={"book": ["b1", "b2"], "rating": [top, top]}))
    assert (alone != trained.embed_new(pairs={"book": ["b1", "b2"], "rating": [1.0, top]})).any()


def test_several_queries_are_told_apart_by_their_column(trained):
    pairs = {"reader": ["x", "y", "x"], "book": ["b1", "b2", "b3"], "rating": [5.0, 1.0, 2.0]}
    best = trained.recommend_new(pairs=pairs, k=3)
    assert best["query"].to_list() == ["x"] * 3 + ["y"] * 3
    numbers = trained.recommend_new(pairs=pairs | {"reader": [7, 8, 7]}, k=1)
    assert numbers["query"].to_list() == [7, 8]
    alone = trained.recommend_new(pairs={"book": ["b2"], "rating": [1.0]}, k=3)
    assert alone["target"].to_list() == best["target"].to_list()[3:]
    assert not {"b1", "b3"} & {*best.filter(pl.col("query") == "x")["target"]}


def test_a_pair_that_occurs_twice_counts_as_in_training(trained, clicked):
    twice = trained.embed_new(pairs={"book": ["b1", "b1"], "rating": [1.0, 5.0]})
    np.testing.assert_array_equal(twice, trained.embed_new(pairs={"book": ["b1"], "rating": [5.0]}))
    item = clicked.encoder.targets.ids.at([0])
    assert (clicked.embed_new(pairs=item * 2) != clicked.embed_new(pairs=item)).any()


def test_pairs_after_training_change_queries_that_are_known(trained):
    day = {"reader": ["r3", "new", "other"], "book": ["b1", "b2", "b3"], "rating": [5.0, 1.0, 1.0]}
    best = trained.recommend(["r3", "r5", "new"], k=120, pairs=day, unknown="features")
    assert "b1" not in best.filter(pl.col("query") == "r3")["target"]
    unchanged = best.filter(pl.col("query") == "r5")
    assert unchanged["target"].to_list() == trained.recommend(["r5"], k=120)["target"].to_list()
    before = pairs_of(trained, "r3")
    whole = {name: [*before[name], value] for name, value in (("book", "b1"), ("rating", 5.0))}
    expected = trained.recommend_new(pairs=whole, k=120)
    found = best.filter(pl.col("query") == "r3")
    assert found["target"].to_list() == expected["target"].to_list()
    np.testing.assert_allclose(found["score"], expected["score"], rtol=1e-5)
    new = trained.recommend_new(pairs={"book": ["b2"], "rating": [1.0]}, k=120)
    assert best.filter(pl.col("query") == "new")["target"].to_list() == new["target"].to_list()


@pytest.mark.parametrize("options", [{}, {"history": True}, {"loss": "logistic", "negatives": 3.0}, {"l2": "auto"}])
def test_pairs_are_never_ignored(data, options):
    options = dict(options)
    of = attrs.evolve(data, history=options.pop("history", False), y=(data.y > 3).astype(float))
    if options.get("negatives"):
        of = of.only(of.y > 0)
    trained = FMF(**{"rank": 4, "l2": 0.1, "rounds": 4, "threads": 1} | options).fit(of)
    one, other = (trained.embed_new(pairs={"book": [book], "rating": [1.0]}) for book in ("b1", "b2"))
    assert (one != other).any()
    assert np.array_equal(one, trained.embed_new(pairs={"book": ["b1"], "rating": [1.0]}))
    table = trained.recommend_new({"reader": ["x"]}, pairs={"reader": ["x"], "book": ["b1"], "rating": [1.0]}, k=5)
    np.testing.assert_array_equal(
        table["target"], trained.recommend_new(pairs={"book": ["b1"], "rating": [1.0]}, k=5)["target"]
    )


def test_changed_queries_with_history_features_are_as_if_new(data):
    trained = FMF(rank=4, rounds=4, threads=1).fit(attrs.evolve(data, history=True))
    before = pairs_of(trained, "r3")
    more = {"reader": ["r3"], "book": ["b119"], "rating": [4.0]}
    whole = {name: [*before[name], more[name][0]] for name in ("book", "rating")}
    found, expected = trained.recommend(["r3"], pairs=more), trained.recommend_new(pairs=whole)
    np.testing.assert_allclose(found["score"], expected["score"], rtol=1e-4)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda trained, clicked: trained.recommend_new(), "give a table of queries, or pairs, or both"),
        (
            lambda trained, clicked: trained.recommend_new(pairs=["nowhere"]),
            "targets: 1 ids are not known, such as 'now",
        ),
        (
            lambda trained, clicked: trained.recommend_new(pairs={"book": ["b1"], "rating": [float("inf")]}),
            r"missing or no finite numbers: row 0, counted from 0; mend them$",
        ),
        (lambda trained, clicked: trained.recommend_new(pairs={"thing": ["b1"]}), "expected a column 'book'"),
        (
            lambda trained, clicked: trained.recommend_new({"reader": ["x", "y"]}, pairs=["b1"]),
            "a column that says whose they are, of 2 queries",
        ),
        (lambda trained, clicked: clicked.recommend([1], clip=True), "clip: the model was trained on positives only"),
    ],
)
def test_senseless_pairs_are_refused(trained, clicked, call, message):
    with pytest.raises(ValueError, match=message):
        call(trained, clicked)


def test_dislikes_are_no_positives():
    pairs = {"user": [1, 1, 2], "item": [1, 2, 1], "rating": [1.0, 1.0, 1.0]}
    trained = FMF(rank=1, rounds=1, cells=1, l2=1e-6, data="positives").fit(Dataset.of(pairs))
    with pytest.raises(DataError, match="'rating' are 0 or less"):
        trained.recommend_new(pairs={"item": [1], "rating": [-1.0]})


def test_queries_without_a_feature_of_their_own_refuse_pairs():
    users = SideTable({"user": [1, 2, 3], "country": ["no", "it", "no"]}, indicator=False)
    pairs = {"user": [1, 2, 3], "item": [1, 2, 1], "rating": [1.0, 2.0, 3.0]}
    trained = FMF(rank=1, rounds=1).fit(Dataset.of(pairs, queries=users))
    with pytest.raises(ValueError, match="queries have no feature of their own in this model"):
        trained.recommend_new(pairs=[1])
