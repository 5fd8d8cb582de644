"""From tables to data sets: roles, ids, blocks, splits, and what is refused."""

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp

from fmfkit._kernels.keys import number_keys
from fmfkit.data import (
    Categorical,
    Dataset,
    Ids,
    Neighbours,
    Numeric,
    Precomputed,
    SideTable,
    Tags,
    Taxonomy,
    Text,
    blocks,
    read_table,
)
from fmfkit.data import ids as ids_module
from fmfkit.data.blocks import Instances
from fmfkit.data.encoder import Encoder
from fmfkit.data.sampling import draw_pairs
from fmfkit.errors import DataError

PAIRS = {
    "user": ["ann", "bob", "ann", "eve", "bob", "eve"],
    "book": [7, 7, 3, 3, 5, 5],
    "rating": [5.0, 3.0, 4.0, 1.0, 2.0, 2.5],
    "timestamp": [10, 60, 20, 50, 30, 40],
}
BOOKS = {
    "book": [3, 5, 7, 9],
    "title": ["Emma", "Ulysses", "Walden", "Nostromo"],
    "genres": ["novel|classic", "novel", None, "novel|sea"],
    "year": [1815, 1922, 1854, None],
    "author": ["Austen", "Joyce", "Thoreau", "Conrad"],
    "country": ["uk", "ie", "us", "uk"],
}


def build(**changes):
    """Build a data set; ``query_blocks``, ``target_indicator`` and the like describe a side."""
    for side, name in (("query", "queries"), ("target", "targets")):
        parts = {key.removeprefix(f"{side}_"): changes.pop(key) for key in list(changes) if key.startswith(f"{side}_")}
        if parts:
            changes[name] = SideTable(changes.get(name), **parts)
    return Dataset.of(changes.pop("pairs", PAIRS), **changes)


def test_columns_are_known_by_usual_names_and_ids_keep_their_order():
    data = build(targets=BOOKS, target_blocks=[Tags("genres")])
    assert data.queries.ids.at([0, 1, 2]) == ["ann", "bob", "eve"]
    assert data.targets.ids.at([0, 1, 2, 3, -1]) == [7, 3, 5, 9, None]
    np.testing.assert_array_equal(data.query, [0, 1, 0, 2, 1, 2])
    np.testing.assert_array_equal(data.target, [0, 0, 1, 1, 2, 2])
    np.testing.assert_array_equal(data.y, PAIRS["rating"])
    np.testing.assert_array_equal(data.time, PAIRS["timestamp"])
    assert data.shape == (3, 4)  # book 9 is cold
    assert data.targets.labels().to_list() == ["Walden", "Emma", "Ulysses", "Nostromo"]


def test_columns_can_be_named_or_stand_in_order():
    odd = {"who": PAIRS["user"], "what": PAIRS["book"], "how": PAIRS["rating"]}
    for data in (build(pairs=odd), build(pairs=odd, query="who", target="what", rating="how")):
        np.testing.assert_array_equal(data.y, PAIRS["rating"])
        assert data.queries.ids.at([0]) == ["ann"]


def test_pairs_without_a_score_are_positives():
    data = build(pairs={"user": ["a", "b"], "item": ["x", "y"]})
    np.testing.assert_array_equal(data.y, [1, 1])


@pytest.mark.parametrize("form", ["csv", "tsv", "parquet", "arrow", "csv.gz", "pandas", "pyarrow", "polars", "lazy"])
def test_tables_come_from_everywhere(tmp_path, form):
    frame = pl.DataFrame(PAIRS)
    path = tmp_path / f"pairs.{form}"
    if form in ("csv", "csv.gz"):
        import gzip

        text = frame.write_csv().encode()
        path.write_bytes(gzip.compress(text) if form.endswith("gz") else text)
    elif form == "tsv":
        frame.write_csv(path, separator="\t")
    elif form == "parquet":
        frame.write_parquet(path)
    elif form == "arrow":
        frame.write_ipc(path)
    source = path
    if form == "pandas":
        source = pytest.importorskip("pandas").DataFrame(PAIRS)
    elif form == "pyarrow":
        source = pytest.importorskip("pyarrow").table(PAIRS)
    elif form in ("polars", "lazy"):
        source = frame if form == "polars" else frame.lazy()
    assert read_table(source).equals(frame)


def test_ids_find_rows_and_come_back_from_arrays():
    for values in ([3, 1, 2], ["b", "a"], [True, False], pl.Series(["2020-01-02", "2021-01-01"]).str.to_date()):
        ids = Ids.of(pl.Series(values), what="ids")
        again = Ids.from_arrays(*ids.to_arrays())
        assert again.values.equals(ids.values)
        np.testing.assert_array_equal(again.rows(ids.values), np.arange(len(values)))
    assert Ids.of(pl.Series([3, 1]), what="ids").rows([1, 8]).tolist() == [1, -1]
    with pytest.raises(DataError, match="1 ids are not known, such as 8"):
        Ids.of(pl.Series([3, 1]), what="ids").known_rows([1, 8], "targets")
    with pytest.raises(DataError, match="ids of kind String were given, those known are of kind Int64"):
        Ids.of(pl.Series([3, 1]), what="ids").rows(["3"])


def instances(table, **beside):
    frame = pl.DataFrame(table)
    return Instances(frame, frame[frame.columns[0]].cast(pl.String), beside)


def dense(block, table):
    learnt = block.learn(instances(table))
    return learnt, learnt.matrix(instances(table)).toarray()


def test_tags_become_a_feature_each_and_missing_ones_none():
    learnt, matrix = dense(Tags("genres"), BOOKS)
    assert learnt.features == ("classic", "novel", "sea")
    np.testing.assert_array_equal(matrix, [[1, 1, 0], [0, 1, 0], [0, 0, 0], [0, 1, 1]])
    new = learnt.matrix(instances({"genres": ["sea|unheard-of", ""]})).toarray()
    np.testing.assert_array_equal(new, [[0, 0, 1], [0, 0, 0]])


def test_blocks_are_normalised_and_rare_words_left_out():
    _, root = dense(Tags("genres", normalise="root"), BOOKS)
    np.testing.assert_allclose(root[0], [0.5**0.5, 0.5**0.5, 0])
    _, unit = dense(Text("title", normalise="rows"), {"title": ["a a b"]})
    np.testing.assert_allclose(unit, [[2 / 5**0.5, 1 / 5**0.5]], rtol=1e-6)
    assert dense(Tags("genres", at_least=2), BOOKS)[0].features == ("novel",)


def test_numbers_are_standardised_or_binned():
    learnt, matrix = dense(Numeric("year"), BOOKS)
    known = np.array([1815, 1922, 1854])
    np.testing.assert_allclose(matrix[:3, 0], (known - known.mean()) / known.std(), rtol=1e-5)
    assert matrix[3, 0] == 0  # missing: as the mean
    learnt, matrix = dense(Numeric("year", bins=2), BOOKS)
    assert len(learnt.features) == 2
    np.testing.assert_array_equal(matrix, [[1, 0], [0, 1], [0, 1], [0, 0]])


def test_a_taxonomy_gives_all_ancestors():
    learnt, matrix = dense(Taxonomy(["author", "country"]), BOOKS)
    assert "country=uk" in learnt.features
    assert matrix[:, learnt.features.index("country=uk")].tolist() == [1, 0, 0, 1]
    assert (matrix.sum(axis=1) == 2).all()


@pytest.mark.parametrize(
    "block",
    [
        Categorical("country", strength=2),
        Tags("genres", separator="|"),
        Text("title"),
        Numeric("year"),
        Numeric("year", bins=3, name="decade"),
        Taxonomy(["author", "country"], normalise="rows"),
    ],
)
def test_learnt_blocks_come_back_from_json(block):
    import json

    learnt, matrix = dense(block, BOOKS)
    about, names = blocks.to_parts(learnt)
    again = blocks.from_parts(json.loads(json.dumps(about)), names)
    assert again.block == block
    np.testing.assert_array_equal(again.matrix(instances(BOOKS)).toarray(), matrix)


def test_blocks_are_guessed_from_what_columns_look_like():
    n = 60
    table = {
        "id": range(n),
        "title": [f"t{i}" for i in range(n)],
        "kind": [f"k{i % 4}" for i in range(n)],
        "tags": ["a|b" if i % 2 else "a" for i in range(n)],
        "price": [i % 40 + 0.5 for i in range(n)],
        "same": [1] * n,
    }
    found = blocks.guess(pl.DataFrame(table), ["id"])
    assert [(type(b).__name__, b.title) for b in found] == [
        ("Categorical", "kind"),
        ("Tags", "tags"),
        ("Numeric", "price"),
    ]


def test_history_features_come_from_the_pairs_at_hand():
    train, _ = build(history=True).split_by_time(0.34)
    X, Z = Encoder.learn(train).features(train)
    assert list(Z) == ["indicator"]
    np.testing.assert_allclose(X["history"].toarray()[0], [0.5**0.5, 0.5**0.5, 0])
    assert X["history"].nnz == len(train)


def test_splits_take_what_they_say():
    rng = np.random.default_rng(0)
    many = {
        "user": rng.integers(0, 50, 4000),
        "item": rng.permutation(4000),
        "rating": rng.random(4000),
        "time": range(4000),
    }
    data = build(pairs=many)
    train, test = data.split_random(0.25, seed=3)
    assert len(train) + len(test) == 4000
    assert len(test) == pytest.approx(1000, rel=0.1)
    train, test = data.split_leave_out(2)
    assert (np.bincount(test.query) == 2).all()
    train, test = data.split_by_time(0.1)
    assert train.time.max() < test.time.min()
    for side in ("query", "target"):
        train, test = data.split_cold(side, 0.2)
        assert not set(getattr(train, side)) & set(getattr(test, side))
        assert train.shape == data.shape


@pytest.mark.parametrize("by", ["uniform", "popularity"])
def test_negatives_are_new_pairs_in_the_ratio_asked_for(by):
    rng = np.random.default_rng(0)
    user, item = np.divmod(rng.choice(30 * 200, 600, replace=False), 200)
    whole = build(pairs={"user": user, "item": item})
    train, _ = whole.split_random(0.2)
    sampled = train.with_negatives(3, by=by, known=whole, seed=5)
    negative = sampled.only(sampled.y == 0)
    keys = negative.query.astype(np.int64) * 200 + negative.target
    assert len(np.unique(keys)) == len(keys)
    assert not (whole.matrix.toarray()[negative.query, negative.target]).any()
    np.testing.assert_array_equal(np.bincount(negative.query, minlength=30), 3 * np.bincount(train.query, minlength=30))
    assert (sampled.matrix != train.matrix).nnz == 0  # what was drawn is not known
    assert (sampled.only(np.arange(len(sampled))[::-1]).matrix != train.matrix).nnz == 0
    again = train.with_negatives(3, by=by, known=whole, seed=5)
    np.testing.assert_array_equal(again.target, sampled.target)


@pytest.mark.parametrize("wanted", [1, 8], ids=["by trial", "by order"])
def test_targets_are_drawn_by_weight_and_those_of_weight_0_never(wanted):
    weight = np.array([0.0] + [1.0] * 10 + [3.0] * 10)
    taken = np.arange(4000) * 21 + 1  # target 1 is taken everywhere
    keys = draw_pairs(np.full(4000, float(wanted)), weight, taken, np.random.default_rng(0))
    assert len(set(keys.tolist())) == 4000 * wanted
    count = np.bincount(keys % 21, minlength=21)
    assert count[:2].tolist() == [0, 0]
    ratio = count[11:].mean() / count[2:11].mean()
    if wanted == 1:
        assert 2.7 < ratio < 3.3
    else:  # without replacement the heavy run out
        assert 1.2 < ratio < 2.7


def test_a_query_paired_with_nearly_all_has_fewer_negatives():
    full = build(pairs={"user": [0] * 9 + [1], "item": [*range(9), 9]})
    sampled = full.with_negatives(5)
    assert sampled.only(sampled.y == 0).query.tolist() == [0, 1, 1, 1, 1, 1]


def test_balancing_weighs_pairs_against_how_often_their_query_and_target_occur():
    pairs = {"user": [0, 0, 0, 0, 1, 2, 3], "item": [0, 1, 2, 3, 0, 0, 4], "w": [1.0] * 6 + [4.0]}
    data = build(pairs=pairs, weight="w")
    balanced = data.balanced(0.5)
    expected = (np.array([4, 4, 4, 4, 1, 1, 1]) * np.array([3, 1, 1, 1, 3, 3, 1])) ** -0.5 * data.weight
    np.testing.assert_allclose(balanced.weight, expected * data.weight.sum() / expected.sum())
    np.testing.assert_allclose(data.balanced(0).weight, data.weight)
    drawn = data.with_negatives(2, seed=1)  # weighed too, and no occurrences
    again = drawn.balanced(0.5)
    np.testing.assert_allclose(again.weight[:7] / again.weight[0], expected / expected[0])
    often = np.bincount(data.query, minlength=4)[drawn.query] * np.bincount(data.target, minlength=5)[drawn.target]
    np.testing.assert_allclose(again.weight[7:] / again.weight[0], (often[7:] / often[0]) ** -0.5)
    with pytest.raises(ValueError, match="power: expected a number from 0 to 1, got -1"):
        data.balanced(-1)


def test_duplicates_are_settled_as_asked():
    twice = {"user": ["a", "a", "b"], "item": [1, 1, 1], "rating": [1.0, 3.0, 5.0]}
    assert build(pairs=twice, duplicates="last").y.tolist() == [3, 5]
    assert build(pairs=twice, duplicates="mean").y.tolist() == [2, 5]


BAD = {
    "a missing column": (lambda t: build(rating="stars"), "there is no column 'stars' for the rating; the columns are"),
    "a duplicate pair": (
        lambda t: build(pairs={"user": [1, 1], "item": [2, 2]}),
        "1 rows repeat a pair, such as user 1 with item 2; pass duplicates=",
    ),
    "ids of mixed kinds": (lambda t: build(pairs={"user": [1, "a"], "item": [1, 2]}), "mixes values of kinds"),
    "ids of other kinds in the table": (
        lambda t: build(targets={"book": ["3"], "x": [1]}),
        "ids are of kind Int64 in one table and String in another",
    ),
    "a missing id": (lambda t: build(pairs={"user": [1, None], "item": [1, 2]}), "1 of 2 ids are missing"),
    "a fractional id": (lambda t: build(pairs={"user": [1.5, 2], "item": [1, 2]}), "numbers with a fraction"),
    "a score that is no number": (
        lambda t: build(pairs={"user": [1, 2], "item": [1, 2], "rating": ["good", "bad"]}),
        "expected numbers",
    ),
    "a NaN score": (
        lambda t: build(pairs={"user": [1, 2], "item": [1, 2], "rating": [1, np.nan]}),
        "missing or not finite, first in row 1",
    ),
    "an empty file": (lambda t: build(pairs=_file(t, "e.csv", b"")), "the file is empty"),
    "a file with a header only": (lambda t: build(pairs=_file(t, "h.csv", b"user,item\n")), "no rows"),
    "text that is not UTF-8": (
        lambda t: build(pairs=_file(t, "l.csv", "user,item\nJosé,1\n".encode("latin-1"))),
        "UTF-8",
    ),
    "an unknown kind of file": (lambda t: build(pairs=_file(t, "x.docx", b"x")), "expected a file called .csv"),
    "a table with ids twice": (lambda t: build(targets={"book": [3, 3]}), "has ids twice, such as 3"),
    "a block without its column": (
        lambda t: build(targets=BOOKS, target_blocks=[Tags("tags")]),
        "there is no column 'tags' for the block 'tags'",
    ),
    "blocks without a table": (lambda t: build(target_blocks=[Tags("tags")]), "there is no table of targets"),
    "two blocks of one name": (
        lambda t: build(targets=BOOKS, target_blocks=[Tags("genres"), Text("genres")]),
        "two blocks have one name",
    ),
    "no feature at all": (
        lambda t: build(target_indicator=False),
        "without blocks and without indicator they have no features",
    ),
    "text for numbers": (
        lambda t: Numeric("title").learn(instances(BOOKS)),
        "holds text, where it wants numbers",
    ),
    "no time": (lambda t: build(pairs={"user": [1, 2], "item": [1, 2]}).split_by_time(), "the pairs have no time"),
    "columns of different length": (lambda t: build(pairs={"user": [1, 2], "item": [1]}), "columns differ in length"),
    "a split of nothing": (lambda t: build().split_random(0.0001), "would be for testing"),
}


def _file(folder, name, content):
    path = folder / name
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("what", BAD)
def test_bad_tables_are_refused(tmp_path, what):
    call, message = BAD[what]
    with pytest.raises(DataError, match=message):
        call(tmp_path)


def test_other_objects_and_missing_files_are_refused(tmp_path):
    with pytest.raises(TypeError, match="expected a path, a polars or pandas frame"):
        build(pairs=42)
    with pytest.raises(FileNotFoundError, match="there is no such file"):
        build(pairs=tmp_path / "nowhere.csv")


def test_ids_of_any_hashable_kind_are_kept_and_saved(tmp_path):
    import datetime
    import decimal
    import uuid

    kinds = [
        [(1, "a"), (2, "b"), (1, "a")],
        [(1, 2), (3, 4)],
        [uuid.UUID(int=n) for n in (5, 9)],
        [b"x", b"\xff"],
        [datetime.datetime(2020, 1, 1, 3), datetime.datetime(2021, 1, 1)],
        [decimal.Decimal("1.5"), decimal.Decimal("2")],
        [frozenset({1, 2}), frozenset({3})],
    ]
    for values in kinds:
        data = Dataset.of({"user": values, "item": range(len(values))}, queries={"user": list(dict.fromkeys(values))})
        ids = data.queries.ids
        assert ids.at(range(len(ids))) == list(dict.fromkeys(values))
        np.testing.assert_array_equal(ids.rows(values), data.query)
        again = Ids.from_arrays(*ids.to_arrays())
        assert again.at(range(len(again))) == ids.at(range(len(ids)))
        assert len(data.queries.labels()[0]) > 0
        assert data.with_pairs({"user": values[:1], "item": [0]}, scores=False).query.tolist() == [0]
    assert Dataset.of({"user": kinds[0], "item": [1, 2, 3]}).queries.ids.rows((2, "b")).tolist() == [1]


def test_ids_that_a_file_cannot_hold_are_refused_when_saved():
    class Odd:
        pass

    ids = Ids.of(pl.Series([Odd(), Odd()], dtype=pl.Object), what="ids")
    assert len(ids) == 2
    with pytest.raises(DataError, match=r"ids of kind Odd, such as .* cannot be saved"):
        ids.to_arrays()
    with pytest.raises(DataError, match="must be hashable"):
        Ids.of(pl.Series([{1}, {2}], dtype=pl.Object), what="ids")


def test_ids_are_told_apart_even_if_their_hashes_are_not(monkeypatch):
    monkeypatch.setattr(ids_module, "number_keys", lambda keys: number_keys(keys % np.uint64(2)))
    data = build()
    assert data.queries.ids.at([0, 1, 2]) == ["ann", "bob", "eve"]
    np.testing.assert_array_equal(data.query, [0, 1, 0, 2, 1, 2])


def test_ids_are_followed_by_new_ones():
    for old, new, both in (([3, 1], [1, 7], [3, 1, 7]), ([(3,), (1,)], [(1,), (7,)], [(3,), (1,), (7,)])):
        a, b = (Dataset.of({"user": values, "item": [0, 1]}).queries.ids for values in (old, new))
        assert a.followed_by(b).at([0, 1, 2]) == both
        np.testing.assert_array_equal(a.followed_by(b).rows_of(b), [1, 2])
    numbers, words = (Dataset.of({"user": values, "item": [0, 1]}).queries.ids for values in ([1, 2], ["a", "b"]))
    with pytest.raises(DataError, match="ids are of another kind than before: 'a' where there was 1"):
        numbers.followed_by(words)


def test_neighbours_become_features_by_id():
    friends = {"who": ["eve", "ann", "ann", "zoe"], "friend": ["ann", "bob", "eve", "ann"]}
    data = build(query_blocks=[Neighbours(friends, name="friends")])
    X = Encoder.learn(data).features(data)[0]["friends"].toarray()
    np.testing.assert_allclose(X, [[0, 0.5**0.5, 0.5**0.5], [0, 0, 0], [1, 0, 0]])
    (learnt,) = Encoder.learn(data).queries.blocks
    assert learnt.features == ("ann", "bob", "eve")
    new = learnt.matrix(instances({"id": ["n1"]}, friends={"a": ["n1", "n1"], "b": ["eve", "stranger"]}))
    np.testing.assert_allclose(new.toarray(), [[0, 0, 1]])


def test_precomputed_blocks_are_matched_by_id():
    matrix = sp.csr_array(np.array([[1.0, 0, 2], [0, 3, 0]]))
    data = build(target_blocks=[Precomputed(matrix, ids=[5, 7], name="words", features=["a", "b", "c"])])
    Z = Encoder.learn(data).features(data)[1]["words"].toarray()
    np.testing.assert_array_equal(Z, [[0, 3, 0], [0, 0, 0], [1, 0, 2]])  # books 7, 3, 5
    assert Encoder.learn(data).targets.names()["words"] == ("a", "b", "c")
    by_number = build(target_blocks=[Precomputed(np.arange(16).reshape(8, 2), normalise="rows")])
    Z = Encoder.learn(by_number).features(by_number)[1]["precomputed"].toarray()
    np.testing.assert_allclose(Z[0], np.array([14, 15]) / np.hypot(14, 15), rtol=1e-6)


def test_precomputed_blocks_come_from_files(tmp_path):
    sp.save_npz(tmp_path / "words.npz", sp.eye_array(9, format="csr"))
    data = build(target_blocks=[Precomputed(tmp_path / "words.npz")])
    assert Encoder.learn(data).features(data)[1]["precomputed"].nnz == 3


@pytest.mark.parametrize(
    ("block", "message"),
    [
        (Precomputed(np.ones((2, 2)), ids=[1]), "expected 2 different ids, one for each row of the matrix, got 1"),
        (Precomputed(np.ones((2, 2)), ids=[1, 1]), "1 of them different"),
        (Precomputed(np.ones(2)), "needs a matrix of numbers"),
        (Precomputed(np.full((2, 2), np.nan)), "NaN or infinite"),
        (Precomputed(np.ones((9, 2)), features=["a"]), "1 features are named, the matrix has 2 columns"),
        (Neighbours({"a": [1]}), "links need two columns"),
    ],
)
def test_bad_blocks_beside_the_table_are_refused(block, message):
    data = build(target_blocks=[block])
    with pytest.raises(DataError, match=message):
        Encoder.learn(data).features(data)


def test_the_report_counts_and_warns_of_usual_mistakes():
    books = BOOKS | {"price": [1.0, 1.0, 1.0, 1.0], "kind": ["book"] * 4}
    whole = build(
        targets=books,
        target_blocks=[Tags("genres"), Numeric("price"), Categorical("kind"), Precomputed(np.full((10, 1), 1e3))],
    )
    told = whole.report()
    by_name = {block.name: block for block in told.blocks if block.side == "target"}
    assert (told.pairs, told.queries, told.targets, told.cold_targets) == (6, 3, 4, 1)
    assert (by_name["genres"].features, by_name["genres"].nonzeros, by_name["genres"].without) == (3, 5, 1)
    text = str(told)
    for warning in (
        "target.price: no instance has a feature of it",
        "target.kind: the same for all instances, so it carries no information: 'book'",
        r"target.precomputed: values up to 1000, beside indicators of 1",
    ):
        assert f"warning: {warning}" in text
    assert not build(targets=BOOKS, target_blocks=[Tags("genres")]).report().warnings


def test_the_report_tells_of_test_pairs_that_training_knows():
    whole = build(history=True)
    train, test = whole.split_by_time(0.34)
    assert not train.report(test).warnings
    (warning,) = whole.report(test).warnings
    assert "2 of 2 test pairs are in the training data too, and history features show them" in warning
    known = Precomputed(whole.matrix.toarray(), ids=["ann", "bob", "eve"], name="past")
    leaky = build(query_blocks=[known])
    train, test = leaky.split_by_time(0.34)
    assert "query.past: looks like history features made from all pairs" in str(train.report(test))


def test_missing_numbers_are_no_category_and_whole_ones_have_no_fraction():
    pd = pytest.importorskip("pandas")
    years = pd.DataFrame({"book": [3, 5, 7], "year": [1990, np.nan, 1991]})
    learnt, matrix = dense(Categorical("year"), read_table(years))
    assert learnt.features == ("1990", "1991")
    np.testing.assert_array_equal(matrix, [[1, 0], [0, 0], [0, 1]])
    np.testing.assert_array_equal(learnt.matrix(instances({"year": [1991]})).toarray(), [[0, 1]])
    assert learnt.matrix(instances(pl.DataFrame({"year": [float("nan")]}))).nnz == 0


def test_tables_with_mixed_numbers_and_pandas_missing_values_are_taken():
    pd = pytest.importorskip("pandas")
    data = Dataset.of({"user": [1, 2, 3], "item": [1, 2, 3], "rating": [4, 3.5, 5]})
    assert data.y.tolist() == [4, 3.5, 5]
    table = pd.DataFrame({"item": [1, 2, 3], "g": pd.array(["a", None, "b"], dtype="string")})
    assert read_table(table)["g"].to_list() == ["a", None, "b"]


def test_blocks_beside_the_table_find_ids_of_every_kind():
    for ids in ([b"a", b"b"], [(1, 2), (3, 4)], [1.0, 2.0], [7, 9]):
        data = Dataset.of(
            {"user": [0, 1], "item": ids},
            targets=SideTable(blocks=[Precomputed(np.eye(2), ids=ids), Neighbours({"a": ids, "b": ids[::-1]})]),
        )
        Z = Encoder.learn(data).features(data)[1]
        np.testing.assert_array_equal(Z["precomputed"].toarray(), np.eye(2))
        assert Z["neighbours"].nnz == 2


@pytest.mark.parametrize(
    ("ids", "message"), [(np.array([2**63 + 1, 1], np.uint64), "above 2.63 - 1"), ([float("inf"), 1.0], "too large")]
)
def test_ids_that_are_too_large_are_refused(ids, message):
    with pytest.raises(DataError, match=message):
        Dataset.of({"user": ids, "item": [1, 2]})


def test_negatives_avoid_known_pairs_of_score_0_and_are_marked_even_if_drawn_again():
    rng = np.random.default_rng(0)
    user, item = np.divmod(rng.choice(30 * 12, 300, replace=False), 12)
    data = build(pairs={"user": user, "item": item, "rating": rng.integers(0, 2, 300).astype(float)})
    train, test = data.split_random(0.3)
    drawn = test.with_negatives(2, known=train.matrix)
    drawn = drawn.only(drawn.sampled)
    assert not train.matrix.toarray()[drawn.query, drawn.target].any()
    twice = train.with_negatives(0.1, seed=0).with_negatives(0.1, seed=1)
    assert twice.matrix.nnz == len(train)
    assert repr(train).startswith(f"Dataset({len(train)} pairs, 30 queries, 12 targets")


def test_a_split_by_time_needs_all_times():
    data = build(pairs={"user": [1, 2, 3], "item": [1, 2, 3], "time": [3.0, float("nan"), 1.0]})
    with pytest.raises(DataError, match="some pairs have no time"):
        data.split_by_time(0.4)
