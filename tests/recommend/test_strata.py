"""How good a model is from cold to hot."""

import itertools

import attrs
import numpy as np
import pytest

from fmfkit import FMF, by_strata
from fmfkit.recommend.evaluation import metric_of
from fmfkit.recommend.resampling import judged_by
from fmfkit.recommend.strata import part, strata


@pytest.fixture(scope="module")
def cold(data):
    """A model, and pairs of which some are of targets without training pairs."""
    train, test = data.split_cold("target", 0.2)
    more, held_out = train.split_random(0.1)
    both = data.only(np.isin(np.arange(len(data)), np.flatnonzero(_among(data, test) | _among(data, held_out))))
    return FMF(rank=4, l2=0.1, rounds=5).fit(more), both


def _among(data, some):
    return np.isin(data.query * 1000 + data.target, some.query * 1000 + some.target)


def test_each_pair_is_in_one_stratum_of_each_side_by_its_training_pairs(cold):
    trained, test = cold
    on = judged_by(trained, test)
    often = np.diff(trained.seen.indptr), np.bincount(trained.seen.indices, minlength=120)
    for side, count in (("query", often[0][on.data.query]), ("target", often[1][on.data.target])):
        found = [one for one in strata(on) if one.side == side]
        places = np.concatenate([one.pairs for one in found])
        assert sorted(places) == list(range(len(test)))
        for one in found:
            assert (one.least, one.most) == (count[one.pairs].min(), count[one.pairs].max())
        assert all(one.most < other.least for one, other in itertools.pairwise(found))
    assert found[0].label == "none (cold)"
    assert 2 <= len(found) <= 5


def test_a_stratum_is_measured_as_its_pairs_are(cold):
    trained, test = cold
    found = by_strata(trained, test, ["rmse", "recall@10"], resamples=20)
    mine = trained.pairs(test)
    for one in found:
        values = trained.evaluate(mine.only(one.pairs), ["rmse", "recall@10"])
        for name, value in values.items():
            assert one.metrics[name].value == pytest.approx(value)
            assert one.metrics[name].low <= value <= one.metrics[name].high
    total = sum(len(one) * one.metrics["rmse"].value ** 2 for one in found if one.side == "query")
    assert np.sqrt(total / len(test)) == pytest.approx(trained.evaluate(test)["rmse"])
    assert str(found[0]).startswith("query with ")


def test_strata_are_not_scored_again(cold):
    trained, test = cold
    on = judged_by(trained, test)
    for one in strata(on):
        some = part(on, one)
        np.testing.assert_array_equal(some.score, on.score[one.pairs])
        assert metric_of("rmse").measure(some) > 0


def test_a_metric_that_cannot_be_measured_on_a_stratum_is_left_out_there(data):
    train, test = data.split_random(0.3)
    popular = np.bincount(train.target, minlength=120)
    zero = test.y * (popular[test.target] > np.median(popular[test.target]))
    found = by_strata(FMF(rank=1, l2=1.0, rounds=1).fit(train), attrs.evolve(test, y=zero), ["recall@5"], resamples=5)
    targets = [one for one in found if one.side == "target"]
    assert not targets[0].metrics
    assert targets[-1].metrics
