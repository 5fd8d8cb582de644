"""What to try next."""

import attrs
import numpy as np
import pytest

from fmfkit import FMF, Dataset
from fmfkit.recommend.advice import advise
from fmfkit.recommend.baselines import Comparison

POOR = Comparison("rmse", 0.9999, False, {"biases alone": 1.0, "the mean": 1.5})
GOOD = Comparison("rmse", 0.9, False, {"biases alone": 1.0, "the mean": 1.5})


@pytest.fixture(scope="module")
def bare():
    rng = np.random.default_rng(0)
    i, j = rng.integers(30, size=300), rng.integers(30, size=300)
    data = Dataset.of({"user": i, "item": j, "rating": rng.normal(size=300)}, duplicates="mean")
    return FMF(rank=2, rounds=1).fit(data)


def test_a_model_that_is_no_better_than_biases_gets_other_ways(bare, trained):
    assert "not clearly better than biases alone and the mean: leave out l2" in advise(FMF(l2=1.0), bare, POOR)
    assert "tables that describe queries or targets may help" in advise(FMF(), bare, POOR)
    assert "--tune 20 tries other settings" in advise(FMF(), trained, POOR)


def test_a_model_that_is_clearly_better_needs_no_advice(bare, trained):
    for made in (bare, trained):
        assert advise(FMF(rounds=30), made, GOOD) is None
        assert advise(FMF(rounds=30), made, None) is None


@pytest.mark.parametrize(
    ("values", "advised"),
    [
        ([1.0, 0.9, 0.8, 0.7, 0.6], True),
        ([1.0, 0.9, 0.5, 0.7, 0.6], False),  # the best is not the last
        ([1.0, 0.7, 0.6999, 0.6998, 0.6997], False),  # it has come to rest
        ([1.0, 0.9, 0.8, 0.7], False),  # not all rounds were needed
    ],
)
def test_more_rounds_are_advised_where_the_last_made_it_much_better(bare, values, advised):
    made = attrs.evolve(bare, validation=tuple(values), metric="rmse")
    told = advise(FMF(rounds=4), made, GOOD)
    assert told == ("it was still getting better in the last round: try more, such as --rounds 8" if advised else None)
