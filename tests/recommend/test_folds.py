"""Folds and repeated splits."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fmfkit import FMF, Dataset, Recipe, callbacks, cross_validate
from fmfkit.errors import DataError
from fmfkit.recommend.folds import Folds, Plan, fold_numbers

QUICK = Recipe(settings=FMF(rank=1, l2=0.5, rounds=2), validate=0, metrics=["mae"])


@given(seed=st.integers(0, 100), folds=st.integers(2, 6), split=st.sampled_from(["random", "per-query"]))
def test_folds_are_of_one_size(data, seed, folds, split):
    sizes = np.bincount(fold_numbers(data, split, folds, seed), minlength=folds)
    assert sizes.max() - sizes.min() <= 1


def test_the_pairs_of_a_query_are_in_all_folds(data):
    number = fold_numbers(data, "per-query", 4, 0)
    for query in np.unique(data.query):
        sizes = np.bincount(number[data.query == query], minlength=4)
        assert sizes.max() - sizes.min() <= 1


@pytest.mark.parametrize(("split", "role"), [("cold-query", "query"), ("cold-target", "target")])
def test_cold_instances_have_all_pairs_in_one_fold(data, split, role):
    number, rows = fold_numbers(data, split, 3, 0), getattr(data, role)
    assert all(len(np.unique(number[rows == row])) == 1 for row in np.unique(rows))
    assert set(number) == {0, 1, 2}


def test_each_pair_is_held_out_once_in_each_repeat(data, monkeypatch):
    held = []

    def evaluate(self, part, wanted):
        held.append(part)
        assert self.seen.nnz + len(part) == len(data)
        return {"mae": float(len(held))}

    monkeypatch.setattr("fmfkit.recommend.recommender.Recommender.evaluate", evaluate)
    found = cross_validate(QUICK, data, folds=3, repeats=2)
    assert found.values == {"mae": (1.0, 2.0, 3.0, 4.0, 5.0, 6.0)}
    for half in (held[:3], held[3:]):
        pairs = np.concatenate([part.query * 1000 + part.target for part in half])
        assert sorted(pairs) == sorted(data.query * 1000 + data.target)
    assert not np.array_equal(held[0].query, held[3].query)


def test_values_are_those_of_the_recipe_on_each_part(data):
    found = cross_validate(QUICK, data, folds=2, seed=5)
    number = fold_numbers(data, "random", 2, 5)
    trained = QUICK.run(data.only(number != 0), progress=False).recommender
    assert found.values["mae"][0] == trained.evaluate(data.only(number == 0), "mae")["mae"]
    split = cross_validate(QUICK, data, test=0.3, repeats=2, seed=5)
    train, test = data.split_random(0.3, 6)
    assert split.values["mae"][1] == QUICK.run(train, progress=False).recommender.evaluate(test, "mae")["mae"]
    assert str(found).splitlines()[0] == "2 parts held out (random):"


def made(*values, **changes):
    about = {"split": "random", "folds": 5, "repeats": 1, "test": None, "seed": 0, "pairs": 100} | changes
    return Folds(plan=Plan(**about), values={"rmse": values})


def test_intervals_are_corrected_for_training_parts_that_overlap():
    found = made(1.0, 2.0, 3.0, 4.0, 5.0)
    error = np.sqrt((1 / 5 + 1 / 4) * 2.5)  # Nadeau and Bengio: a fifth held out, four fifths trained on
    low, high = 3 - 2.7764451052 * error, 3 + 2.7764451052 * error  # of t with 4 degrees of freedom
    assert found.estimates()["rmse"].interval == pytest.approx((low, high), rel=1e-6)


def test_two_recipes_are_compared_fold_by_fold():
    one, other = made(1.0, 2.0, 3.0, 4.0, 5.0), made(1.1, 2.2, 3.1, 4.2, 5.15)
    difference, p = other.against(one)["rmse"]
    assert difference.value == pytest.approx(0.15)
    assert difference.low > 0
    assert 0 < p < 0.05
    assert one.against(one)["rmse"][1] == 1.0
    noisy, p = made(1.5, 1.5, 3.5, 3.5, 5.2).against(one)["rmse"]
    assert noisy.low < 0 < noisy.high
    assert p > 0.05
    with pytest.raises(ValueError, match="against: expected the same folds of the same data"):
        one.against(made(1.0, 2.0, 3.0, 4.0, 5.0, seed=1))


def test_each_part_is_told_when_it_is_measured_and_callbacks_hear_each_fit(data):
    told, fits = [], []
    found = cross_validate(
        QUICK,
        data,
        folds=2,
        callbacks=[lambda event: fits.append(event.moment)],
        on_measured=lambda n, of, values: told.append((n, of, values["mae"])),
    )
    assert told == [(n, 2, value) for n, value in enumerate(found.values["mae"], 1)]
    assert fits == ["start", "round", "round"] * 2


def test_folds_are_told_as_json_and_with_intervals_of_another_level():
    found = made(1.0, 2.0, 3.0, 4.0, 5.0)
    told = found.to_json(0.5)
    assert (told["folds"], told["pairs"], told["test"]) == (5, 100, None)
    assert told["metrics"]["rmse"]["values"] == (1.0, 2.0, 3.0, 4.0, 5.0)
    wider = found.estimates()["rmse"]
    assert wider.low < told["metrics"]["rmse"]["low"] < told["metrics"]["rmse"]["value"] == wider.value
    assert str(found) != found.summary(0.5)


def test_what_cannot_be_folded_is_refused(data, tmp_path):
    with pytest.raises(ValueError, match="leave out the recipe's test"):
        cross_validate(Recipe(test=0.1), data)
    with pytest.raises(DataError, match="the latest pairs are always the same"):
        cross_validate(Recipe(split="time"), data)
    with pytest.raises(ValueError, match="folds: expected at least 2"):
        cross_validate(QUICK, data, folds=1)
    with pytest.raises(ValueError, match="repeats: expected at least 2 where a share is held out by test, got 1"):
        cross_validate(QUICK, data, test=0.1)
    with pytest.raises(ValueError, match="callbacks: a Checkpoint keeps where one recipe stands"):
        cross_validate(QUICK, data, callbacks=callbacks.Checkpoint(tmp_path / "kept"))
    with pytest.raises(ValueError, match="share: expected a number between 0 and 1"):
        cross_validate(QUICK, data, test=1.0, repeats=2)
    few = Dataset.of({"user": [1, 1, 2], "item": [1, 2, 1], "rating": [1.0, 2.0, 3.0]})
    with pytest.raises(
        DataError, match="folds: each query with pairs is in one fold, and there are 2: expected at most as many"
    ):
        cross_validate(Recipe(split="cold-query"), few, folds=3)
    with pytest.raises(DataError, match=r"folds: each pair is in one fold, and there are 3: .* got 4"):
        cross_validate(QUICK, few, folds=4)
    with pytest.raises(ValueError, match=r"split: expected one of .*, got 'nonsense'"):
        cross_validate(Recipe(split="nonsense"), data)
