"""Splits hold out what they say."""

import numpy as np
import pytest
from bookshop import build

from fmfkit.errors import DataError


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


@pytest.mark.parametrize("share", [0.1, 0.5])
def test_the_latest_share_of_each_query_is_held_out_and_each_keeps_a_pair(share):
    rng = np.random.default_rng(1)
    query, time = rng.integers(0, 40, 400), rng.permutation(400)
    data = build(pairs={"user": query, "item": np.arange(400), "time": time})
    train, test = data.split_last_per_query(share, 3)
    counts, kept, taken = (np.bincount(part.query, minlength=40) for part in (data, train, test))
    np.testing.assert_array_equal(kept + taken, counts)
    assert (np.abs(taken - share * counts)[counts > 2] < 1).all()
    for row in np.unique(test.query):
        assert train.time[train.query == row].max() < test.time[test.query == row].min()


@pytest.mark.parametrize("k", [1, 2])
def test_the_last_pairs_of_each_query_are_held_out_by_their_time(k):
    rng = np.random.default_rng(0)
    query, time = rng.integers(0, 40, 200), rng.permutation(200)
    data = build(pairs={"user": query, "item": np.arange(200), "time": time})
    train, test = data.split_leave_last(k)
    for row, count in enumerate(np.bincount(data.query)):
        latest = np.sort(data.time[data.query == row])[-k:] if count > k else []
        np.testing.assert_array_equal(np.sort(test.time[test.query == row]), latest)
    assert len(train) + len(test) == 200
    again = data.split_leave_last(k)[1]
    np.testing.assert_array_equal(test.target, again.target)


def test_of_pairs_at_one_time_the_last_row_is_held_out():
    data = build(pairs={"user": ["a"] * 3, "item": [1, 2, 3], "time": [5, 5, 5]})
    assert data.targets.ids.at(data.split_leave_last()[1].target) == [3]


@pytest.mark.parametrize("share", [0.05, 0.1, 0.3, 0.9])
@pytest.mark.parametrize("seed", [0, 1])
def test_a_split_per_query_takes_about_the_share_of_each_and_leaves_each_a_pair(share, seed):
    rng = np.random.default_rng(seed)
    counts = rng.integers(1, 12, 300)
    query = rng.permutation(np.repeat(np.arange(300), counts))
    data = build(pairs={"user": query, "item": rng.permutation(len(query))})
    train, test = data.split_per_query(share, seed)
    counts, kept, taken = (np.bincount(part.query, minlength=300) for part in (data, train, test))
    np.testing.assert_array_equal(kept + taken, counts)
    assert (kept > 0).all()
    capped = (counts == 1) | (share * counts > counts - 1)
    assert (np.abs(taken - share * counts)[~capped] < 1).all()
    assert abs(taken.sum() - share * counts[counts > 1].sum()) <= 1 + capped.sum()
    few = (share * counts < 1) & (counts > 1)
    assert share > 0.3 or 0 < taken[few].sum() < few.sum()  # some of those that have few pairs, not always the same
    again, other = data.split_per_query(share, seed)[1], data.split_per_query(share, seed + 1)[1]
    np.testing.assert_array_equal(test.target, again.target)
    assert not np.array_equal(test.target, other.target)


def test_a_split_per_query_of_single_pairs_is_refused():
    data = build(pairs={"user": range(50), "item": [0, 1] * 25})
    with pytest.raises(DataError, match=r"split_per_query: of 50 pairs, 0 would be for testing; change .* the split"):
        data.split_per_query(0.5)


def test_a_split_by_time_needs_all_times():
    data = build(pairs={"user": [1, 2, 3], "item": [1, 2, 3], "time": [3.0, float("nan"), 1.0]})
    with pytest.raises(DataError, match="some pairs have no time"):
        data.split_by_time(0.4)


def test_splits_have_names():
    data = build()
    for how, same in (
        ("random", data.split_random(0.3, 1)),
        ("per-query", data.split_per_query(0.3, 1)),
        ("last-per-query", data.split_last_per_query(0.3, 1)),
        ("time", data.split_by_time(0.3)),
        ("cold-target", data.split_cold("target", 0.3, 1)),
        ("cold-query", data.split_cold("query", 0.3, 1)),
    ):
        for mine, theirs in zip(data.split(how, 0.3, 1), same, strict=True):
            np.testing.assert_array_equal(mine.query, theirs.query)
            np.testing.assert_array_equal(mine.target, theirs.target)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda data: data.split("cold"), "split: expected one of .*, got 'cold'"),
        (lambda data: data.split_random(0.0001), "of 6 pairs, 0 would be for testing"),
        (lambda data: data.split_random(1.5), "share: expected a number between 0 and 1, got 1.5"),
        (lambda data: data.split_cold("item"), "side: expected 'query' or 'target', got 'item'"),
        (lambda data: build(pairs={"user": [1, 2], "item": [1, 2]}).split_by_time(), "the pairs have no time"),
        (lambda data: build(pairs={"user": [1, 2], "item": [1, 2]}).split_leave_last(), "split_leave_last: the pairs"),
        (lambda data: data.split_last_per_query(1.0), "share: expected a number between 0 and 1, got 1.0"),
        (lambda data: data.split_leave_last(0), "k: expected at least 1, got 0"),
    ],
)
def test_splits_of_nothing_and_unknown_ones_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call(build())
