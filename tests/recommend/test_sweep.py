"""The penalty for positives, chosen from the data."""

import warnings

import attrs
import numpy as np
import pytest
from bookshop import clicks

from fmfkit import FMF, Dataset
from fmfkit.data import SideTable, Tags
from fmfkit.recommend import sweep
from fmfkit.recommend.evaluation import metric_of
from fmfkit.recommend.positives import POSITIVES, Settled, settled
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
        assert 2 <= found.trials <= sweep.MOST_WEAKER + sweep.MOST_TRIALS
        assert found.features == 1  # there are none


def test_a_collapse_is_recognised_and_the_choice_begins_with_a_weaker_penalty(sparse):
    decided, prepared = prepared_for(sparse, FMF(rank=16))
    strong = decided.settings.replace(l2=20.0)
    assert sweep.has_collapsed(prepared.run(strong, None, []), prepared.seen)
    settings, found = sweep.sweep(strong, prepared, metric_of("ndcg@10"))
    assert not sweep.has_collapsed(prepared.run(settings, None, []), prepared.seen)
    assert found.trials > 2  # those that collapsed count


def test_a_model_that_has_collapsed_is_chosen_only_if_factors_that_had_time_to_grow_are_worse(sparse, monkeypatch):
    decided, prepared = prepared_for(sparse, FMF(rank=16))

    def judged(grown):
        trials = sweep.Trials(prepared, metric_of("ndcg@10"))

        def value(trials, settings, rounds=sweep.ROUNDS):
            trials.collapsed[settings.l2] = settings.l2 > 0.5
            return grown if rounds > sweep.ROUNDS else settings.l2

        monkeypatch.setattr(sweep.Trials, "value", value)
        return sweep._l2(decided.settings, trials)

    assert judged(grown=100.0) == (0.5, 100.0)
    l2, value = judged(grown=0.1)
    assert l2 == value > 0.5


def described(data, tags):
    """Return clicks on items that have tags; ``tags`` are by item number."""
    users, items = data.queries.ids.at(data.query), data.targets.ids.at(data.target)
    numbers = np.unique(items)
    table = {"item": numbers, "tags": [tags[n] for n in numbers]}
    return Dataset.of({"user": users, "item": items}, targets=SideTable(table, blocks=[Tags("tags")]))


@pytest.mark.parametrize(("gain", "factor"), [(1.1, 16.0), (1.005, 1.0)])
def test_features_are_held_down_where_that_is_clearly_better(sparse, monkeypatch, gain, factor):
    def value(trials, settings, rounds=sweep.ROUNDS):
        trials.count, trials.collapsed[settings.l2] = trials.count + 1, False
        return gain ** np.log(settings.strengths.get("target.tags", 1.0)) - abs(np.log(settings.l2))

    monkeypatch.setattr(sweep.Trials, "value", value)
    data = described(sparse, [f"t{n % 7}" for n in range(1200)])
    decided, prepared = prepared_for(data, FMF())
    settings, found = sweep.sweep(decided.settings, prepared, metric_of("ndcg@10"))
    assert (settings.l2, found.features) == (1.0, factor)
    assert settings.strengths == ({} if factor == 1 else {"target.tags": factor})
    told = "l2 1 chosen on" if factor == 1 else "l2 1, and 16 times the penalty of features, chosen on"
    assert str(found).startswith(told)


def test_strengths_that_are_given_stay(sparse):
    data = described(sparse, [f"t{n % 7}" for n in range(1200)])
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

    def note(settings, prepared, metric, checkpoint):
        seen.append((prepared.held_out.target, metric.name))
        return settings.replace(l2=0.01), ""

    monkeypatch.setattr(sweep, "sweep", note)
    train, held_out = sparse.split_cold("target", 0.2)
    decided, prepared = prepared_for(train, FMF(), held_out)
    for metric in ("recall@5", "rmse", None):  # an error says nothing about positives
        assert sweep.chosen(decided, train, prepared, metric, None).l2 == 0.01
    assert [name for _, name in seen] == ["recall@5", "ndcg@10", "ndcg@10"]
    np.testing.assert_array_equal(seen[0][0], held_out.target)


def test_nothing_is_chosen_where_held_out_queries_are_not_known(capsys):
    rng = np.random.default_rng(0)
    lone = {"user": np.arange(1000), "item": rng.integers(0, 50, 1000)}
    for more in (0, 1):  # one user has two pairs
        data = Dataset.of({"user": np.append(lone["user"], [0] * more), "item": np.append(lone["item"], [99] * more)})
        for validate in (None, 0.2):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                trained = FMF(rank=2, rounds=1).fit(data, validate=validate if more == 0 else None, progress=True)
            assert trained.settings.l2 == POSITIVES["l2"]
    assert "chosen" not in capsys.readouterr().err


def test_nothing_is_chosen_from_few_queries(positives, capsys):
    assert positives.shape[0] < sweep.LEAST_QUERIES
    trained = FMF(rank=2, rounds=1).fit(positives, progress=True)
    assert trained.settings.l2 == POSITIVES["l2"]
    assert "chosen" not in capsys.readouterr().err


def test_settings_that_are_settled_stay(positives):
    decided, prepared = prepared_for(positives, FMF(rank=2))
    still = Settled(decided.settings, decided.found)
    assert sweep.chosen(still, positives, prepared, None, None) is decided.settings


def test_the_choice_is_the_same_on_any_number_of_threads(sparse):
    one, two = (FMF(rank=8, rounds=1, threads=threads).fit(sparse) for threads in (1, 2))
    assert one.settings.l2 == two.settings.l2
    assert one.model.P.tobytes() == two.model.P.tobytes()
