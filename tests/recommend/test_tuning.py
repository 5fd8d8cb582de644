"""The search for good settings, on data that is laid out once."""

import pytest
from bookshop import Counting

from fmfkit import FMF, Dataset
from fmfkit.data import SideTable
from fmfkit.problem import observations, pairs


def test_tuning_finds_settings_at_least_as_good_as_those_it_began_with(data):
    train, test = data.split_random(0.2)
    front = FMF(rank=4, l2=5.0, rounds=10)
    tuned = front.tune(train, trials=8, progress=False)
    assert tuned.metric == "rmse"
    assert tuned.value == min(trial.value for trial in tuned.trials) < tuned.trials[0].value
    assert tuned.trials[0].settings.l2 == 5.0
    assert tuned.best.fit(train).evaluate(test)["rmse"] < front.fit(train).evaluate(test)["rmse"]
    assert front.tune(train, trials=8, progress=False) == tuned
    with pytest.raises(ValueError, match="a regularizer replaces"):
        FMF(regularizer="elastic_net").tune(train)


@pytest.mark.parametrize(("setting", "most"), [("growth", 4), ("balance", 1)])
def test_growth_and_balance_are_tuned_where_they_are_above_0_and_stay_in_bounds(data, setting, most):
    front = FMF(rank=4, rounds=2, l2=0.5, **{setting: most - 0.1})
    tried = {getattr(trial.settings, setting) for trial in front.tune(data, trials=25, progress=False).trials}
    assert len(tried) > 1
    assert max(tried) <= most
    still = front.replace(**{setting: 0}).tune(data, trials=4, progress=False)
    assert {getattr(trial.settings, setting) for trial in still.trials} == {0}


@pytest.mark.parametrize(
    ("options", "groupings"),
    [({}, 1), ({"balance": 0.3}, 1), ({"negatives": 2.0}, 2), ({"negatives": 2.0, "balance": 0.3}, 2)],
)
def test_features_are_encoded_and_pairs_laid_out_once_for_all_trials(monkeypatch, data, options, groupings):
    block, laid, grouped = Counting("genres"), [], []
    real_layout, real_grouped = observations.lay_out, pairs.Given.grouped
    monkeypatch.setattr(observations, "lay_out", lambda *a, **more: laid.append(a[0]) or real_layout(*a, **more))
    monkeypatch.setattr(pairs.Given, "grouped", lambda *a, **more: grouped.append(1) or real_grouped(*a, **more))
    readers, books = data.queries.ids.at(data.query), data.targets.ids.at(data.target)
    classes = Dataset.of(
        {"reader": readers, "book": books, "rating": data.y > 3},
        targets=SideTable(data.targets.table, blocks=[block]),
    )
    tuned = FMF(rank=2, rounds=2, loss="logistic", l2=0.5, **options).tune(classes, trials=10, progress=False)
    assert len(tuned.trials) == 10
    assert block.calls == ["learn", "encode"]
    assert laid == ["X", "Z"]
    assert len(grouped) == groupings  # once for the given pairs, once with the negatives


def test_learnt_strengths_are_learnt_once_and_then_multiplied_by_what_a_search_finds(data):
    train, test = data.split_random(0.2)
    front, rounds = FMF(rank=4, rounds=14), []
    tuned = front.tune(train, trials=6, progress=False, callbacks=lambda event: rounds.append(event.record.round))
    assert rounds.count(0) == 1
    assert rounds.count(10) == 7
    tried = [(trial.settings.shrink, trial.settings.spread) for trial in tuned.trials]
    assert tried[0] == (1, 1)
    assert len(set(tried)) == 6
    assert tuned.best.l2 == "auto"
    again = tuned.best.fit(train, validate=0.1)
    assert min(again.validation) == pytest.approx(tuned.value, abs=0)
    assert tuned.value <= min(front.fit(train, validate=0.1).validation)
    assert tuned.best.fit(train).evaluate(test)["rmse"] < 1.02 * front.fit(train).evaluate(test)["rmse"]


def test_a_search_needs_rounds_after_strengths_are_learnt(data):
    with pytest.raises(ValueError, match="strengths are learnt for 10 rounds; give more rounds than 10, or l2"):
        FMF(rounds=10).tune(data)


def test_a_callback_that_stops_a_fit_ends_the_search(data):
    def stop(event):
        if event.record.round == 1:
            event.stop("enough")

    assert len(FMF(rank=2).tune(data, trials=9, progress=False, callbacks=stop).trials) == 1


def test_a_search_needs_trials(data):
    with pytest.raises(ValueError, match="trials: expected at least 1, got 0"):
        FMF().tune(data, trials=0)
