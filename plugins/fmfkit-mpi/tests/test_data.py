import numpy as np
import polars as pl
import pytest
from fmfkit_mpi import Group
from fmfkit_mpi.data import gather, hashes, shards_of

from fmfkit.errors import DataError


def test_the_hash_of_an_id_is_fixed_for_ever():
    found = hashes(pl.Series(["a", "b", "a", "a much longer id, of more than eight bytes", "ü"]))
    assert found.tolist() == [
        17613116445489509019,
        3699925574094580642,
        17613116445489509019,
        1677729481331930430,
        16870612050760351658,
    ]
    assert hashes(pl.Series([17])).tolist() == hashes(pl.Series(["17"])).tolist()


def test_shards_have_about_as_many_ids_each():
    counts = np.bincount(shards_of(pl.Series(range(16000)), 16))
    assert counts.min() > 850
    assert counts.max() < 1150


@pytest.fixture
def tables(tmp_path):
    """Pairs in two files, and attributes of both sides."""
    rng = np.random.default_rng(0)
    user, item = np.divmod(rng.choice(30 * 20, 200, replace=False), 20)
    pairs = pl.DataFrame({"user": [f"u{n}" for n in user], "item": item, "rating": rng.integers(1, 6, 200)})
    paths = [tmp_path / "0.parquet", tmp_path / "1.csv"]
    pairs[:120].write_parquet(paths[0])
    pairs[120:].write_csv(paths[1])
    users = pl.DataFrame({"user": [f"u{n}" for n in range(33)], "job": rng.choice(["a", "b"], 33)})
    items = pl.DataFrame({"item": np.arange(22)[::-1], "genre": rng.choice(["x", "y"], 22)})
    return pairs, paths, users, items


def test_queries_are_numbered_by_shard_and_id_and_targets_by_id(tables):
    pairs, paths, users, items = tables
    gathered = gather(Group(4), paths, queries=[users], targets=items)
    ids = gathered.data.queries.ids.values
    shard = shards_of(ids, 4)
    assert sorted(ids.to_list()) == sorted(users["user"].to_list())
    assert list(zip(shard, ids, strict=True)) == sorted(zip(shard, ids, strict=True))
    assert gathered.data.targets.ids.values.to_list() == list(range(22))
    assert [int((shard < n).sum()) for n in range(5)] == gathered.cuts.tolist()
    back = {(str(q), int(t), float(y)) for q, t, y in pairs.iter_rows()}
    data = gathered.data
    assert {(ids[int(q)], int(t), float(y)) for q, t, y in zip(data.query, data.target, data.y, strict=True)} == back


def test_the_order_of_files_and_rows_changes_nothing(tables):
    pairs, paths, users, items = tables
    one = gather(Group(4), paths, queries=[users], targets=items)
    other = gather(Group(4), [pairs.reverse()], queries=[users.reverse()], targets=items.reverse())
    for name in ("query", "target", "y"):
        assert (getattr(one.data, name) == getattr(other.data, name)).all()
    assert one.data.queries.table.equals(other.data.queries.table)


def test_pairs_without_ratings_that_occur_several_times_are_counted():
    pairs = pl.DataFrame({"user": ["a", "a", "b", "a"], "item": [1, 1, 1, 2]})
    data = gather(Group(2), [pairs]).data
    assert sorted(data.weight) == [1, 1, 2]


def test_ratings_that_repeat_a_pair_are_refused():
    pairs = pl.DataFrame({"user": ["a", "a"], "item": [1, 1], "rating": [3, 4]})
    with pytest.raises(DataError, match="1 rows repeat a pair, such as user 'a' with item 1; keep one of each"):
        gather(Group(2), [pairs])


def test_files_with_other_columns_are_refused_by_name(tmp_path):
    names = [str(tmp_path / name) for name in ("pairs.csv", "users.csv")]
    pl.DataFrame({"user": [1], "item": [2]}).write_csv(names[0])
    pl.DataFrame({"user": [1], "age": [2]}).write_csv(names[1])
    with pytest.raises(DataError, match=r"users.csv: expected the columns of .*pairs.csv, .*'item'.*, found .*'age'"):
        gather(Group(2), names)


def test_files_of_other_types_are_read_as_one_table_where_they_can_be():
    pairs = [pl.DataFrame({"user": ["a"], "item": [1], "rating": [3]})]
    pairs.append(pl.DataFrame({"rating": [2.5], "item": [2], "user": ["b"]}))
    assert sorted(gather(Group(2), pairs).data.y) == [2.5, 3]
    text = pl.DataFrame({"user": ["b"], "item": ["x"], "rating": [4]})
    assert gather(Group(2), [pairs[0], text]).data.targets.ids.values.to_list() == ["1", "x"]
    lists = pl.DataFrame({"user": ["b"], "item": [[2]], "rating": [4]})
    with pytest.raises(
        DataError,
        match=r"'item': the ids are numbers in a table of pairs, List\(Int64\) in a table of pairs; make them one kind",
    ):
        gather(Group(2), [pairs[0], lists])


def test_ratings_that_are_all_one_number_are_counted_where_they_repeat_a_pair():
    pairs = pl.DataFrame({"user": ["a", "a", "b"], "item": [1, 1, 1], "rating": [1.0, 1.0, 1.0]})
    data = gather(Group(2), [pairs]).data
    assert sorted(data.weight) == [1, 2]
    assert data.counted == 1
    assert data.y.tolist() == [1, 1]


def test_ids_are_text_everywhere_where_they_are_text_anywhere_and_keep_their_zeros(tmp_path):
    (tmp_path / "0.csv").write_text("user,item,rating\n04060,1,3\n17,2,4\n")
    (tmp_path / "1.csv").write_text("user,item,rating\n04060,2,3\nx,2,4\n")
    (tmp_path / "users.csv").write_text("user,age\n04060,3\n017,4\n")
    paths = [str(tmp_path / "0.csv"), str(tmp_path / "1.csv"), pl.DataFrame({"user": [5], "item": [1], "rating": [3]})]
    data = gather(Group(2), paths, queries=[str(tmp_path / "users.csv")]).data
    assert sorted(data.queries.ids.values) == ["017", "04060", "17", "5", "x"]
    assert data.targets.ids.values.to_list() == [1, 2]


def test_columns_of_two_kinds_are_refused_by_name(tables):
    _, paths, users, _ = tables
    other = pl.DataFrame({"user": ["u40"], "job": [3]})
    with pytest.raises(DataError, match="column 'job' holds Int64, and String in a table of queries"):
        gather(Group(2), paths, queries=[users, other])


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"user": None, "item": 2, "rating": 3.0}, "1 of 2 values of 'user', the query, are missing: row 1"),
        ({"user": "b", "item": None, "rating": 3.0}, "1 of 2 values of 'item', the target, are missing: row 1"),
        (
            {"user": "b", "item": 2, "rating": float("inf")},
            "1 of 2 values of 'rating', the rating, .* no finite .*row 1",
        ),
    ],
)
def test_missing_ids_and_ratings_are_told_with_file_and_row(tmp_path, row, message):
    path = tmp_path / "p.parquet"
    pl.DataFrame([{"user": "a", "item": 1, "rating": 1.0}, row]).write_parquet(path)
    with pytest.raises(DataError, match=f"p.parquet.*{message}"):
        gather(Group(2), [str(path)])


def test_a_table_without_ids_is_refused(tables):
    _, paths, _, items = tables
    with pytest.raises(DataError, match="no column 'user', and of 'age' no value is among the ids"):
        gather(Group(2), paths, queries=[pl.DataFrame({"age": ["old", "new"], "job": ["a", "b"]})])
    with pytest.raises(DataError, match="has no column 'user', but 'item', which holds targets"):
        gather(Group(2), paths, queries=[items])
