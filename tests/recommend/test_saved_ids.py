"""Ids and labels of every kind, and many of them, survive a file whose header stays small."""

import datetime
import decimal
import uuid

import numpy as np
import polars as pl
import pytest

from fmfkit import FMF, Dataset
from fmfkit.recommend.recommender import Recommender


def header_bytes(path):
    """Return the size of a safetensors file's header: what its first eight bytes say."""
    with path.open("rb") as file:
        return int.from_bytes(file.read(8), "little")


IDS = {
    "whole numbers": [3, -1, 2**62],
    "text": ["b", "", "a\nb\x1fc"],
    "booleans": [True, False, None],
    "dates": [datetime.date(2020, 1, 2), datetime.date(1999, 12, 31), datetime.date(2021, 5, 5)],
    "datetimes": [datetime.datetime(2020, 1, 1, 3, 0, 0, 7), datetime.datetime(2021, 1, 1), datetime.datetime(1, 1, 1)],
    "tuples": [(1, "a"), (2, "b"), (1, "b")],
    "uuids": [uuid.UUID(int=n) for n in (5, 9, 7)],
    "bytes": [b"x", b"\xff", b""],
    "decimals": [decimal.Decimal("1.50"), decimal.Decimal("2"), decimal.Decimal("-3e5")],
    "sets": [frozenset({1, 2}), frozenset({3}), frozenset()],
}


@pytest.mark.parametrize("kind", IDS)
def test_ids_of_every_kind_survive_a_file(tmp_path, kind):
    ids = [value for value in IDS[kind] if value is not None]
    n = len(ids)
    pairs = {"user": ids, "item": ids[::-1], "rating": [float(r) for r in range(n)]}
    before = FMF(rank=1, rounds=1).fit(Dataset.of(pairs))
    before.save(tmp_path / "model")
    after = Recommender.load(tmp_path / "model")
    for side in ("queries", "targets"):
        mine, theirs = (getattr(made.encoder, side) for made in (before, after))
        assert theirs.ids.at(range(n)) == mine.ids.at(range(n))
        assert [type(value) for value in theirs.ids.at(range(n))] == [type(value) for value in ids]
        assert theirs.labels.to_list() == mine.labels.to_list()
    assert set(after.encoder.queries.ids.at(range(n))) == set(ids)
    assert after.recommend(k=n, seen=True).equals(before.recommend(k=n, seen=True))
    assert after.score([ids[0]], [ids[-1]]) == before.score([ids[0]], [ids[-1]])


def test_labels_of_every_kind_survive_a_file(tmp_path):
    titles = ["plain", "two\nlines", "", None, "\x1f\x1e\x00", "日本語 🎉", 'a,"b"']
    items = {"item": range(7), "title": titles, "genre": ["a", "b\n", "a", "b\n", "a", "日", "日"]}
    data = Dataset.of({"user": range(7), "item": range(7), "rating": np.arange(7.0)}, targets=items)
    before = FMF(rank=1, rounds=1).fit(data)
    before.save(tmp_path / "model")
    after = Recommender.load(tmp_path / "model")
    expected = ["plain", "two\nlines", "2", "3", "\x1f\x1e\x00", "日本語 🎉", 'a,"b"']
    assert after.encoder.targets.labels.to_list() == before.encoder.targets.labels.to_list() == expected
    assert after.encoder.targets.names()["indicator"].to_list() == expected
    assert {n: list(names) for n, names in after.encoder.targets.names().items()} == {
        n: list(names) for n, names in before.encoder.targets.names().items()
    }


def test_many_long_ids_survive_a_file_with_a_small_header(tmp_path):
    n = 200_000
    numbers = np.random.default_rng(0).integers(0, 2**63, (n, 2))
    ids = [f"{a:016x}{b:016x}" for a, b in numbers.tolist()]
    table = {"user": ids, "name": [f"name of {value}" for value in ids]}
    pairs = pl.DataFrame({"user": ids, "item": np.arange(n) % 50, "rating": numbers[:, 0] % 5 + 1.0})
    before = FMF(rank=1, rounds=1).fit(Dataset.of(pairs, queries=table))
    path = tmp_path / "model"
    before.save(path)
    assert header_bytes(path) < 10_000
    after = Recommender.load(path)
    assert after.encoder.queries.ids.values.equals(before.encoder.queries.ids.values)
    assert after.encoder.queries.labels[n - 1] == f"name of {ids[-1]}"
    assert after.recommend(ids[-2:], k=3).equals(before.recommend(ids[-2:], k=3))
