"""From tables to data sets: roles, ids, blocks, splits, and what is refused."""

import numpy as np
import polars as pl
import pytest

from fmfkit.data import Categorical, Dataset, Ids, Numeric, Tags, Taxonomy, Text, blocks, read_table
from fmfkit.data.encoder import Encoder
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
    return Dataset.of(changes.pop("pairs", PAIRS), **changes)


def test_columns_are_known_by_usual_names_and_ids_keep_their_order():
    data = build(targets=BOOKS, target_blocks=[Tags("genres")])
    assert data.queries.ids.at([0, 1, 2]) == ["ann", "bob", "eve"]
    assert data.targets.ids.at([0, 1, 2, 3, -1]) == [7, 3, 5, 9, None]
    np.testing.assert_array_equal(data.query, [0, 1, 0, 2, 1, 2])
    np.testing.assert_array_equal(data.target, [0, 0, 1, 1, 2, 2])
    np.testing.assert_array_equal(data.score, PAIRS["rating"])
    np.testing.assert_array_equal(data.time, PAIRS["timestamp"])
    assert data.shape == (3, 4)  # book 9 is cold
    assert data.targets.labels([0, 3]) == ["Walden", "Nostromo"]


def test_columns_can_be_named_or_stand_in_order():
    odd = {"who": PAIRS["user"], "what": PAIRS["book"], "how": PAIRS["rating"]}
    for data in (build(pairs=odd), build(pairs=odd, query="who", target="what", score="how")):
        np.testing.assert_array_equal(data.score, PAIRS["rating"])
        assert data.queries.ids.at([0]) == ["ann"]


def test_pairs_without_a_score_are_positives():
    data = build(pairs={"user": ["a", "b"], "item": ["x", "y"]})
    np.testing.assert_array_equal(data.score, [1, 1])


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


def test_ids_find_rows_and_come_back_from_json():
    for values in ([3, 1, 2], ["b", "a"], [True, False], pl.Series(["2020-01-02", "2021-01-01"]).str.to_date()):
        ids = Ids.of(pl.Series(values), what="ids")
        again = Ids.from_json(ids.to_json())
        assert again.values.equals(ids.values)
        np.testing.assert_array_equal(again.rows(ids.values), np.arange(len(values)))
    assert Ids.of(pl.Series([3, 1]), what="ids").rows([1, 8]).tolist() == [1, -1]
    with pytest.raises(DataError, match="1 ids are not known, such as 8"):
        Ids.of(pl.Series([3, 1]), what="ids").known_rows([1, 8], "targets")
    with pytest.raises(DataError, match="ids of kind String were given, those known are of kind Int64"):
        Ids.of(pl.Series([3, 1]), what="ids").rows(["3"])


def dense(block, table):
    learnt = block.learn(pl.DataFrame(table))
    return learnt, learnt.matrix(pl.DataFrame(table)).toarray()


def test_tags_become_a_feature_each_and_missing_ones_none():
    learnt, matrix = dense(Tags("genres"), BOOKS)
    assert learnt.features == ("classic", "novel", "sea")
    np.testing.assert_array_equal(matrix, [[1, 1, 0], [0, 1, 0], [0, 0, 0], [0, 1, 1]])
    new = learnt.matrix(pl.DataFrame({"genres": ["sea|unheard-of", ""]})).toarray()
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
    [Categorical("country", strength=2), Tags("genres", separator="|"), Text("title"), Numeric("year"),
     Numeric("year", bins=3, name="decade"), Taxonomy(["author", "country"], normalise="rows")],
)  # fmt: skip
def test_learnt_blocks_come_back_from_json(block):
    import json

    learnt, matrix = dense(block, BOOKS)
    again = blocks.from_json(json.loads(json.dumps(blocks.to_json(learnt))))
    assert again.block == block
    np.testing.assert_array_equal(again.matrix(pl.DataFrame(BOOKS)).toarray(), matrix)


def test_blocks_are_guessed_from_what_columns_look_like():
    n = 60
    table = {
        "id": range(n), "title": [f"t{i}" for i in range(n)], "kind": [f"k{i % 4}" for i in range(n)],
        "tags": ["a|b" if i % 2 else "a" for i in range(n)], "price": [i % 40 + 0.5 for i in range(n)], "same": [1] * n,
    }  # fmt: skip
    found = blocks.guess(pl.DataFrame(table), ["id"])
    assert [(type(b).__name__, b.title) for b in found] == [
        ("Categorical", "kind"), ("Tags", "tags"), ("Numeric", "price"),
    ]  # fmt: skip


def test_implicit_feedback_comes_from_the_pairs_at_hand():
    train, _ = build(implicit=True).split_by_time(0.34)
    X, Z = Encoder.learn(train).features(train)
    assert Z is None
    np.testing.assert_allclose(X["implicit"].toarray()[0], [0.5**0.5, 0.5**0.5, 0])
    assert X["implicit"].nnz == len(train)


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
    negative = sampled.only(sampled.score == 0)
    keys = negative.query.astype(np.int64) * 200 + negative.target
    assert len(np.unique(keys)) == len(keys)
    assert not (whole.matrix.toarray()[negative.query, negative.target]).any()
    np.testing.assert_array_equal(np.bincount(negative.query, minlength=30), 3 * np.bincount(train.query, minlength=30))
    assert (sampled.matrix != train.matrix).nnz == 0  # what was drawn is not known
    assert (sampled.only(np.arange(len(sampled))[::-1]).matrix != train.matrix).nnz == 0
    again = train.with_negatives(3, by=by, known=whole, seed=5)
    np.testing.assert_array_equal(again.target, sampled.target)


def test_a_query_paired_with_nearly_all_has_fewer_negatives():
    full = build(pairs={"user": [0] * 9 + [1], "item": [*range(9), 9]})
    sampled = full.with_negatives(5)
    assert sampled.only(sampled.score == 0).query.tolist() == [0, 1, 1, 1, 1, 1]


def test_duplicates_are_settled_as_asked():
    twice = {"user": ["a", "a", "b"], "item": [1, 1, 1], "rating": [1.0, 3.0, 5.0]}
    assert build(pairs=twice, duplicates="last").score.tolist() == [3, 5]
    assert build(pairs=twice, duplicates="mean").score.tolist() == [2, 5]


BAD = {
    "a missing column": (lambda t: build(score="stars"), "there is no column 'stars' for the score; the columns are"),
    "a duplicate pair": (
        lambda t: build(pairs={"user": [1, 1], "item": [2, 2]}),
        "1 rows repeat a pair, such as user 1 with item 2; pass duplicates=",
    ),
    "ids of mixed kinds": (lambda t: build(pairs={"user": [1, "a"], "item": [1, 2]}), "mixes values of kinds"),
    "ids of other kinds in the table": (
        lambda t: build(targets={"book": ["3"], "x": [1]}), "ids are of kind Int64 in one table and String in another",
    ),
    "a missing id": (lambda t: build(pairs={"user": [1, None], "item": [1, 2]}), "1 of 2 ids are missing"),
    "a fractional id": (lambda t: build(pairs={"user": [1.5, 2], "item": [1, 2]}), "numbers with a fraction"),
    "a score that is no number": (
        lambda t: build(pairs={"user": [1, 2], "item": [1, 2], "rating": ["good", "bad"]}), "expected numbers",
    ),
    "a NaN score": (
        lambda t: build(pairs={"user": [1, 2], "item": [1, 2], "rating": [1, np.nan]}),
        "missing or not finite, first in row 1",
    ),
    "an empty file": (lambda t: build(pairs=_file(t, "e.csv", b"")), "the file is empty"),
    "a file with a header only": (lambda t: build(pairs=_file(t, "h.csv", b"user,item\n")), "no rows"),
    "text that is not UTF-8": (
        lambda t: build(pairs=_file(t, "l.csv", "user,item\nJosé,1\n".encode("latin-1"))), "UTF-8",
    ),
    "an unknown kind of file": (lambda t: build(pairs=_file(t, "x.docx", b"x")), "expected a file called .csv"),
    "a table with ids twice": (lambda t: build(targets={"book": [3, 3]}), "has ids twice, such as 3"),
    "a block without its column": (
        lambda t: build(targets=BOOKS, target_blocks=[Tags("tags")]), "there is no column 'tags' for the block 'tags'",
    ),
    "blocks without a table": (lambda t: build(target_blocks=[Tags("tags")]), "there is no table of targets"),
    "two blocks of one name": (
        lambda t: build(targets=BOOKS, target_blocks=[Tags("genres"), Text("genres")]), "two blocks have one name",
    ),
    "no feature at all": (lambda t: build(target_indicator=False), "there are no features"),
    "text for numbers": (
        lambda t: Numeric("title").learn(pl.DataFrame(BOOKS)), "holds text, where a block wants numbers",
    ),
    "no time": (lambda t: build(pairs={"user": [1, 2], "item": [1, 2]}).split_by_time(), "the pairs have no time"),
    "columns of different length": (lambda t: build(pairs={"user": [1, 2], "item": [1]}), "columns differ in length"),
    "a split of nothing": (lambda t: build().split_random(0.0001), "would be for testing"),
}  # fmt: skip


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
