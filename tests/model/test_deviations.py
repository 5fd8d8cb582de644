"""By how much scores deviate because of a block: what explain says of pairs, and nothing for noise."""

import numpy as np
import pytest

from fmfkit import FMF, Dataset


@pytest.fixture(scope="module")
def model():
    """A model of items that matter by their genre; their shelf, and the readers' shoes, are noise."""
    rng = np.random.default_rng(0)
    user, item = np.nonzero(rng.random((120, 60)) < 0.3)
    taste, genre = rng.normal(size=(120, 4)), rng.integers(4, size=60)
    y = 3 + taste[user, genre[item]] + 0.5 * rng.normal(size=len(user))
    items = {
        "item": np.arange(60),
        "genre": [f"g{n}" for n in genre],
        "shelf": [f"s{n}" for n in rng.integers(9, size=60)],
    }
    users = {"user": np.arange(120), "shoes": [f"n{n}" for n in rng.integers(30, size=120)]}
    return (
        FMF(rank=4, rounds=15)
        .fit(Dataset.of({"user": user, "item": item, "rating": y}, queries=users, targets=items))
        .model
    )


def test_it_is_the_deviation_of_what_explain_says_over_random_pairs(model):
    rng = np.random.default_rng(7)
    added = {block: [] for block in model.strengths}
    for i, j in zip(rng.integers(120, size=800), rng.integers(60, size=800), strict=True):
        told = model.explain(int(i), int(j))
        pair = dict.fromkeys(added, 0.0)
        for side, parts in (("query", told.query_bias + told.by_query), ("target", told.target_bias + told.by_target)):
            for part in parts:
                pair[f"{side}.{part.block}"] += part.adds
        for block, value in pair.items():
            added[block].append(value)
    for block, values in added.items():
        assert model.strengths[block] == pytest.approx(np.std(values), rel=0.1), block


def test_noise_stands_behind_what_matters(model):
    told = model.strengths
    assert told["target.genre"] > 2 * max(told["target.shelf"], told["query.shoes"])
