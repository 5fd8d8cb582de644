"""The penalty for positives, chosen from the data."""

import attrs
import numpy as np
import pytest
from bookshop import clicks

from fmfkit import FMF, Dataset
from fmfkit.data import SideTable, Tags
from fmfkit.recommend import sweep
from fmfkit.recommend.evaluation import metric_of
from fmfkit.recommend.positives import Settled, settled
from fmfkit.recommend.prepared import Prepared


@pytest.fixture(scope="module")
def sparse():
    """Clicks of many users on many items, a few of each: what suits other data collapses here."""
    rng = np.random.default_rng(1)
    interest, topic = rng.integers(0, 12, 1500), rng.integers(0, 12, 1200)
    user = np.repeat(np.arange(1500), 5)
    item = rng.integers(0, 1200, len(user))
    own = rng.random(len(user)) < 0.8
    item[own] = [rng.choice(np.flatnonzero(topic == interest[u])) for u in user[own]]
    return Dataset.of({"user": user, "item": item}, duplicates="last")


def prepared_for(data, front, validate=0.1):
    decided = settled(front, data)
    return decided, Prepared.of(data, validate, decided.settings, None)


def test_the_penalty_that_is_chosen_is_better_than_the_one_it_began_with():
    data = clicks()
    for begun, direction in ((8.0, -1), (0.01, 1)):
        decided, prepared = prepared_for(data, FMF(rank=16))
        decided = attrs.evolve(decided, settings=decided.settings.replace(l2=begun))
        settings, found = sweep.sweep(decided.settings, prepared, metric_of("ndcg@10"))
        assert np.sign(np.log(settings.l2 / begun)) == direction
        assert settings == decided.settings.replace(l2=found.l2)
        assert 2 <= found.trials <= sweep.MOST_TRIALS
        assert found.features == 1  # there are none


def test_a_collapse_is_recognised_and_the_choice_begins_with_a_weaker_penalty(sparse):
    decided, prepared = prepared_for(sparse, FMF(rank=16))
    strong, small = decided.settings.replace(l2=20.0), sweep.Trials(prepared, metric_of("ndcg@10")).model
    assert sweep.has_collapsed(small(strong), prepared.train)
    assert sweep.factor_share(small(strong), prepared.train) < 0.001
    settings, _ = sweep.sweep(strong, prepared, metric_of("ndcg@10"))
    assert settings.l2 <= 5
    assert not sweep.has_collapsed(small(settings.replace(l2=0.1)), prepared.train)


def described(data, tags):
    """Return clicks on items that have tags; ``tags`` are by item number."""
    users, items = data.queries.ids.at(data.query), data.targets.ids.at(data.target)
    numbers = np.unique(items)
    table = {"item": numbers, "tags": [f"t{tags[n]}" for n in numbers]}
    return Dataset.of({"user": users, "item": items}, targets=SideTable(table, blocks=[Tags("tags")]))


def test_features_that_say_nothing_are_held_down_and_those_that_say_all_are_not(sparse):
    rng = np.random.default_rng(1)
    rng.integers(0, 12, 1500)
    topic = rng.integers(0, 12, 1200)  # as the clicks were made
    factors = []
    for tags in (rng.integers(0, 40, 1200), topic):
        data = described(sparse, tags)
        decided, prepared = prepared_for(data, FMF(rank=16))
        settings, found = sweep.sweep(decided.settings, prepared, metric_of("ndcg@10"))
        factors.append(found.features)
        assert settings.strengths.get("target.tags", 1.0) == found.features
    assert factors[0] > factors[1]


def test_strengths_that_are_given_stay(sparse):
    data = described(sparse, np.arange(1200) % 7)
    decided, prepared = prepared_for(data, FMF(rank=8, strengths={"target.tags": 0.7}))
    settings, found = sweep.sweep(decided.settings, prepared, metric_of("ndcg@10"))
    assert (settings.strengths, found.features) == ({"target.tags": 0.7}, 1)


def test_a_fit_chooses_the_penalty_unless_it_is_given(sparse, capsys):
    free = FMF(rank=8, rounds=2).fit(sparse, progress=True)
    told = capsys.readouterr().err.splitlines()[1]
    assert told.startswith(f"l2 {free.settings.l2:.3g} chosen on held-out positives, by ")
    assert free.seen.nnz == len(sparse)  # what was held out for the choice is trained on
    again = FMF(rank=8, rounds=2, l2=free.settings.l2).fit(sparse, progress=True)
    assert "chosen" not in capsys.readouterr().err
    assert again.model.P.tobytes() == free.model.P.tobytes()


def test_a_validation_part_is_what_the_choice_is_made_on(sparse, monkeypatch):
    seen = []

    def note(settings, prepared, metric):
        seen.append((prepared.held_out.target, metric.name))
        return settings.replace(l2=0.01), ""

    monkeypatch.setattr(sweep, "sweep", note)
    train, held_out = sparse.split_cold("target", 0.2)
    decided, prepared = prepared_for(train, FMF(), held_out)
    for metric in ("recall@5", "rmse", None):  # an error says nothing about positives
        assert sweep.chosen(decided, train, prepared, metric, None).l2 == 0.01
    assert [name for _, name in seen] == ["recall@5", "ndcg@10", "ndcg@10"]
    np.testing.assert_array_equal(seen[0][0], held_out.target)


def test_nothing_is_chosen_from_few_queries(positives, capsys):
    assert positives.shape[0] < sweep.LEAST_QUERIES
    trained = FMF(rank=2, rounds=1).fit(positives, progress=True)
    assert trained.settings.l2 == FMF().l2
    assert "chosen" not in capsys.readouterr().err


def test_settings_that_are_settled_stay(positives):
    decided, prepared = prepared_for(positives, FMF(rank=2))
    still = Settled(decided.settings, decided.found)
    assert sweep.chosen(still, positives, prepared, None, None) is decided.settings


def test_the_choice_is_the_same_on_any_number_of_threads(sparse):
    one, two = (FMF(rank=8, rounds=1, threads=threads).fit(sparse) for threads in (1, 2))
    assert one.settings.l2 == two.settings.l2
    assert one.model.P.tobytes() == two.model.P.tobytes()
