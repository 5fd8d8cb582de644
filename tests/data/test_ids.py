"""Ids of every kind find their rows, are kept in files, and are told apart."""

import datetime
import decimal
import uuid

import numpy as np
import polars as pl
import pytest
from bookshop import build

from fmfkit._kernels.keys import number_keys
from fmfkit.data import (
    Dataset,
    Ids,
)
from fmfkit.data import ids as ids_module
from fmfkit.errors import DataError


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


OBJECTS = {
    "mixed tuples": [(1, "a"), (2, "b"), (1, "a")],
    "tuples": [(1, 2), (3, 4)],
    "uuids": [uuid.UUID(int=n) for n in (5, 9)],
    "bytes": [b"x", b"\xff"],
    "datetimes": [datetime.datetime(2020, 1, 1, 3), datetime.datetime(2021, 1, 1)],
    "decimals": [decimal.Decimal("1.5"), decimal.Decimal("2")],
    "sets": [frozenset({1, 2}), frozenset({3})],
}


@pytest.mark.parametrize("kind", OBJECTS)
def test_ids_of_any_hashable_kind_are_kept_and_saved(kind):
    values = OBJECTS[kind]
    data = Dataset.of({"user": values, "item": range(len(values))}, queries={"user": list(dict.fromkeys(values))})
    ids = data.queries.ids
    assert ids.at(range(len(ids))) == list(dict.fromkeys(values))
    np.testing.assert_array_equal(ids.rows(values), data.query)
    again = Ids.from_arrays(*ids.to_arrays())
    assert again.at(range(len(again))) == ids.at(range(len(ids)))
    assert len(data.queries.labels()[0]) > 0
    assert data.with_pairs({"user": values[:1], "item": [0]}, ratings=False).query.tolist() == [0]


def test_a_tuple_is_one_id_where_ids_are_tuples():
    ids = Dataset.of({"user": [(1, "a"), (2, "b")], "item": [1, 2]}).queries.ids
    assert ids.rows((2, "b")).tolist() == [1]


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


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        (np.array([2**63 + 1, 1], np.uint64), "more than 64 bits, such as 9223372036854775809; give them as text"),
        ([2**64, 1], "more than 64 bits"),
        ([-(2**70), 1], "more than 64 bits"),
        ([float("inf"), 1.0], "too large"),
    ],
)
def test_ids_that_are_too_large_are_refused(ids, message):
    with pytest.raises(DataError, match=message):
        Dataset.of({"user": ids, "item": [1, 2]})


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ({"user": [1, None], "item": [1, 2]}, "1 of 2 values of 'user', the query, are missing: row 1"),
        ({"user": [1.5, 2], "item": [1, 2]}, "numbers with a fraction"),
    ],
)
def test_missing_and_fractional_ids_are_refused(pairs, message):
    with pytest.raises(DataError, match=message):
        Dataset.of(pairs)


def test_ids_are_of_one_kind_in_all_tables():
    with pytest.raises(DataError, match="ids are of kind Int64 in one table and String in another"):
        build(targets={"book": ["3"], "x": [1]})


def test_many_ids_are_looked_up_as_few_are():
    ids = Ids.of(pl.Series([f"id {n}" for n in range(3000)]), what="ids")
    wanted = [f"id {n}" for n in range(2999, -1, -2)]
    rows = ids.rows([*wanted, "unheard-of"])
    assert len(rows) > ids_module.FEW
    np.testing.assert_array_equal(rows, [*range(2999, -1, -2), -1])
    np.testing.assert_array_equal(ids.rows(wanted[:5]), rows[:5])


@pytest.mark.parametrize("given", [["a", 1], {"a": 1}, [object(), 1], ["\ud800"], np.array([{}, 1], object)])
def test_what_cannot_be_ids_is_told(given):
    ids = Dataset.of({"user": [1, 2], "item": [1, 2]}).queries.ids
    with pytest.raises(DataError, match="queries: "):
        ids.known_rows(given, "queries")


@pytest.mark.parametrize("given", [(), (9, 9), frozenset({9})], ids=repr)
def test_a_lone_tuple_or_set_that_is_not_known_is_named(given):
    ids = Dataset.of({"user": [(1, 2), (3, 4)], "item": [1, 2]}).queries.ids
    with pytest.raises(DataError, match="queries: 1 ids are not known, such as"):
        ids.known_rows(given, "queries")


def test_ids_of_another_kind_than_an_empty_column_s_are_named():
    with pytest.raises(DataError, match="Int64 in one table and String in another, such as 'x'"):
        ids_module.code((pl.Series(["x"]), pl.Series([], dtype=pl.Int64)), "queries")
