"""A recipe does in Python what `fmfkit fit` does on the command line."""

import json

import numpy as np
import pytest
from bookshop import Counting
from command import printed

from fmfkit import FMF, Dataset, Recipe, callbacks
from fmfkit.data import SideTable
from fmfkit.errors import UnknownNameError
from fmfkit.recommend.recommender import Recommender

OPTIONS = {
    "split and validation": (
        {"test": 0.2, "split": "cold-target", "settings": FMF(rank=4, l2=0.02, rounds=6)},
        ["--test", "0.2", "--split", "cold-target", "--rank", "4", "--l2", "0.02", "--rounds", "6"],
    ),
    "a search": (
        {"tune": 3, "test": 0.1, "metric": "mae", "metrics": ["mae"], "settings": FMF(rank=3, rounds=12, seed=5)},
        [
            "--tune",
            "3",
            "--test",
            "0.1",
            "--choose-by",
            "mae",
            "--metric",
            "mae",
            "--rank",
            "3",
            "--rounds",
            "12",
            "--seed",
            "5",
        ],
    ),
    "all rounds on all pairs": (
        {"validate": 0.0, "settings": FMF(rank=2, rounds=3, strengths={"target.genres": 0.3})},
        ["--validate", "0", "--rank", "2", "--rounds", "3", "--strength", "target.genres=0.3"],
    ),
}


@pytest.mark.parametrize("what", OPTIONS)
def test_a_recipe_makes_the_model_that_the_command_line_makes_bit_for_bit(shop, what):
    options, arguments = OPTIONS[what]
    told = json.loads(printed("fit", "ratings.csv", "--targets", "books.csv", *arguments, "--json"))
    outcome = Recipe(**options).run(Dataset.of("ratings.csv", targets="books.csv"), progress=False)
    mine, theirs = outcome.recommender, Recommender.load("model.fmf")
    assert mine.model.P.tobytes() == theirs.model.P.tobytes()
    assert mine.model.Q.tobytes() == theirs.model.Q.tobytes()
    assert mine.validation == theirs.validation
    assert mine.settings == theirs.settings
    assert outcome.metrics == told.get("test", {})
    assert (outcome.tuned is not None) == bool(options.get("tune"))


def test_a_recipe_tells_what_it_does_as_it_goes(data):
    seen = []
    recipe = Recipe(settings=FMF(rank=2, rounds=11), test=0.2, tune=2)
    outcome = recipe.run(data, progress=False, on_report=seen.append, on_tuned=seen.append, on_trained=seen.append)
    report, tuned, trained = seen
    assert report.pairs == len(data) - len(outcome.test)
    assert tuned is outcome.tuned
    assert trained is outcome.recommender
    assert trained.seen.nnz == report.pairs  # what was found is trained on the validation part too
    assert outcome.metrics == trained.evaluate(outcome.test)


def test_features_are_encoded_once_for_the_report_the_search_and_the_model(data):
    block = Counting("genres")
    described = SideTable(data.targets.table, blocks=[block])
    readers, books = data.queries.ids.at(data.query), data.targets.ids.at(data.target)
    whole = Dataset.of({"reader": readers, "book": books, "rating": data.y}, targets=described)
    Recipe(settings=FMF(rank=2, rounds=11), test=0.2, tune=2).run(whole, progress=False, on_report=str)
    assert block.calls == ["learn", "encode"]


def test_nothing_that_was_trained_is_lost_if_it_cannot_be_measured(data):
    kept = []

    def fail(y, predicted, weight):
        raise ArithmeticError("no such number")

    with pytest.raises(ArithmeticError, match="no such number"):
        Recipe(settings=FMF(rank=1, rounds=1), test=0.2, metrics=[fail]).run(data, on_trained=kept.append)
    assert len(kept) == 2  # on the training part, then on all


def test_what_validation_chose_is_trained_again_on_all_pairs(data):
    front = FMF(rank=8, l2=0.001, rounds=12)
    outcome = Recipe(settings=front).run(data, progress=False)
    trained = outcome.recommender
    part, held_out = data.split_random(0.1, front.seed + 1)
    before = front.fit(part, validate=held_out)
    rounds = before.model.history[-1].round
    assert 0 < rounds < 12
    assert trained.model.P.tobytes() == front.replace(rounds=rounds).fit(data).model.P.tobytes()
    assert (trained.validation, trained.metric) == (before.validation, "rmse")
    assert trained.settings.rounds == rounds
    assert trained.seen.nnz == len(data)


def test_without_a_refit_the_held_out_part_stays_out(data):
    outcome = Recipe(settings=FMF(rank=2, rounds=4), refit=False).run(data, progress=False)
    assert not outcome.refitted
    assert outcome.recommender.seen.nnz == len(data.split_random(0.1, 1)[0])


@pytest.mark.parametrize("test", [0.0, 0.2])
def test_an_outcome_compares_the_model_with_what_anybody_could_predict(data, test):
    outcome = Recipe(settings=FMF(rank=4), test=test).run(data, progress=False)
    assert outcome.held_out.value == min(outcome.recommender.validation)
    for compared in [outcome.held_out, *([outcome.tested] if test else [])]:
        assert compared.metric == "rmse"
        assert list(compared.baselines) == ["biases alone", "the mean"]
        assert compared.value < compared.baselines["biases alone"] < compared.baselines["the mean"]
    assert (outcome.tested is None) == (test == 0)
    assert outcome.tested is None or outcome.tested.value == outcome.metrics["rmse"]
    assert outcome.advice is None


def test_an_outcome_of_positives_is_compared_with_popularity(positives):
    outcome = Recipe(settings=FMF(rank=4, rounds=3), test=0.2).run(positives, progress=False)
    for compared in (outcome.held_out, outcome.tested):
        assert compared.metric == "ndcg@10"
        assert list(compared.baselines) == ["popularity"]


def test_a_fit_that_a_callback_ends_for_another_reason_is_trained_again_on_all_pairs(data):
    recipe = Recipe(settings=FMF(rank=2, rounds=9))
    outcome = recipe.run(data, progress=False, callbacks=callbacks.Tolerance(0.5))
    assert outcome.recommender.seen.nnz == len(data)


@pytest.mark.parametrize("fit", [1, 2])
def test_a_fit_that_is_stopped_is_not_trained_again_and_the_model_of_validation_stays(data, fit):
    begun, kept = [], []

    def stop(event):
        begun.extend([1] * (event.record.round == 0))
        if len(begun) == fit and event.record.round == 2:
            event.stop("interrupted")

    outcome = Recipe(settings=FMF(rank=2, rounds=6)).run(data, progress=False, callbacks=stop, on_trained=kept.append)
    assert len(begun) == fit
    assert kept == [outcome.recommender]
    assert outcome.recommender.seen.nnz < len(data)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tune": 3, "validate": 0}, "tune: it needs a validation part"),
        ({"tune": -1}, "tune: expected at least 0"),
        ({"metrics": ["rsme"]}, "no metric is called 'rsme'"),
        ({"metric": "rsme"}, "no metric is called 'rsme'"),
        ({"test": 0.1, "split": "cold"}, "split: expected one of"),
    ],
)
def test_recipes_that_cannot_be_followed_are_refused_before_any_work(data, options, message):
    def never(event):
        raise AssertionError("it was trained")

    with pytest.raises((ValueError, UnknownNameError), match=message):
        Recipe(**options).run(data, callbacks=never)


def test_a_search_from_a_start_is_refused(data, trained):
    with pytest.raises(ValueError, match=r"tune: .* leave out tune, or start"):
        Recipe(tune=2).run(data, start=trained)


def test_a_start_is_gone_on_from(data, trained):
    outcome = Recipe(settings=FMF(rounds=1), validate=0.0).run(data, start=trained, progress=False)
    assert outcome.recommender.model.rank == 8
    assert outcome.recommender.seen.nnz == len(data)
    assert not np.array_equal(outcome.recommender.model.P, trained.model.P)
