"""Pairs are drawn beside the given ones, by weight, and pairs are weighed against how often they occur."""

import numpy as np
import pytest
from bookshop import build

from fmfkit.data.sampling import different, draw_pairs, pair_keys


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


def test_a_query_paired_with_nearly_all_has_fewer_negatives():
    full = build(pairs={"user": [0] * 9 + [1], "item": [*range(9), 9]})
    sampled = full.with_negatives(5)
    assert sampled.only(sampled.y == 0).query.tolist() == [0, 1, 1, 1, 1, 1]


def test_negatives_avoid_known_pairs_of_rating_0_and_are_marked_even_if_drawn_again():
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


@pytest.mark.parametrize(
    ("options", "message"),
    [({"ratio": 0}, "ratio: expected a finite number above 0, got 0"), ({"by": "fame"}, "by: expected 'uniform'")],
)
def test_senseless_draws_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        build().with_negatives(**options)


def test_keys_number_pairs_and_those_that_repeat_count_once():
    keys = pair_keys(np.array([2, 0, 2], np.int32), np.array([1, 2, 1], np.int32), (3, 4))
    assert keys.tolist() == [9, 2, 9]
    assert different(keys).tolist() == [2, 9]
    assert different(keys[:0]).tolist() == []
