"""Intervals of measurements, and which of two models is better."""

import attrs
import numpy as np
import pytest

from fmfkit import FMF, Dataset, Metric, compare_models, estimate, metrics
from fmfkit.losses import Square
from fmfkit.recommend.evaluation import Judged, metric_of
from fmfkit.recommend.resampling import Drawn, Estimate, Queries, estimates, judged_by, on_draws


@attrs.frozen(eq=False)
class Known:
    """A model whose scores are known."""

    scores: np.ndarray
    loss = Square()

    def score(self, queries, targets):
        return self.scores


def held_out(rng, queries=60, each=5):
    """Return pairs without anything to learn, y = 0."""
    query = np.repeat(np.arange(queries), each)
    return Dataset.of({"q": query, "t": np.arange(len(query)), "rating": np.zeros(len(query))}), query


def errors(rng, query):
    """Return errors that differ from query to query, whose mean square is 2."""
    return rng.normal(size=query.max() + 1)[query] + rng.normal(size=len(query))


def test_intervals_hold_the_truth_about_as_often_as_they_say():
    held = 0
    for seed in range(150):
        rng = np.random.default_rng(seed)
        data, query = held_out(rng)
        on = Judged(Known(errors(rng, query)), data, None)
        found = estimates(on, [metric_of("rmse")], level=0.9, resamples=100)["rmse"]
        held += found.low <= np.sqrt(2) <= found.high
    assert 0.82 < held / 150 < 0.96


def test_two_models_that_are_equally_good_are_rarely_told_apart():
    found = 0
    for seed in range(150):
        rng = np.random.default_rng(seed)
        data, query = held_out(rng)
        shared = errors(rng, query)  # what is hard is hard for both
        both = [Judged(Known(shared + 0.3 * rng.normal(size=len(query))), data, None) for _ in range(2)]
        drawn = on_draws(both, [metric_of("rmse")], 100, 0)["rmse"]
        low, high = np.quantile(drawn[:, 1] - drawn[:, 0], [0.05, 0.95])
        found += not low <= 0 <= high
    assert 0.03 < found / 150 < 0.19


@pytest.fixture(scope="module")
def parts(data):
    return data.split_random(0.2)


@pytest.fixture(scope="module")
def small(parts):
    return FMF(rank=1, l2=0.1, rounds=3).fit(parts[0])


def test_a_draw_is_measured_as_its_queries_are_one_by_one(parts, trained):
    on = judged_by(trained, parts[1])
    queries = Queries.of(on.data)
    chosen = next(queries.draws(1, 0))
    (drawn,) = next(queries.drawn([on], 1, 0))
    assert isinstance(drawn, Drawn)
    assert len(np.unique(chosen)) < len(chosen) == 80
    rows = np.unique(on.data.query)[chosen]
    alone = [Judged(on.model, on.data.only(on.data.query == row), on.seen) for row in rows]
    for name in ("recall@10", "ndcg@5", "novelty@5"):
        metric = metric_of(name)
        assert metric.measure(drawn) == pytest.approx(np.mean([metric.measure(one) for one in alone]))
    both = [np.concatenate([getattr(one, name) for one in alone]) for name in ("y", "prediction")]
    assert metric_of("rmse").measure(drawn) == pytest.approx(metrics.rmse(*both))


def test_metrics_have_intervals_by_name(parts, trained):
    worst = Metric("worst", lambda on: float(np.abs(on.prediction - on.y).max()))
    found = estimate(trained, parts[1], ["rmse", "ndcg@10", "gini@10", worst], resamples=50)
    values = trained.evaluate(parts[1], ["rmse", "ndcg@10", "gini@10", worst])
    assert {name: one.value for name, one in found.items()} == values
    for name in ("rmse", "ndcg@10", "worst"):
        assert found[name].low <= found[name].value <= found[name].high
        assert found[name].low < found[name].high
    assert found["gini@10"].interval is None  # it depends on how many queries there are
    assert str(found["gini@10"]) == f"{values['gini@10']:.4f}"
    narrow = estimate(trained, parts[1], "rmse", resamples=50, level=0.5)["rmse"]
    assert found["rmse"].low < narrow.low < narrow.high < found["rmse"].high
    assert estimate(trained, parts[1], resamples=50) == estimate(trained, parts[1], resamples=50)


def test_a_better_model_is_found_to_be_better(parts, trained, small):
    found = compare_models(small, trained, parts[1], ["rmse", "mae", "coverage@10"], resamples=100)
    assert found["rmse"].better == found["mae"].better == "second"
    assert found["rmse"].difference.high < 0
    assert found["rmse"].p < 0.05
    assert found["rmse"].first.value == small.evaluate(parts[1])["rmse"]
    assert compare_models(trained, small, parts[1], resamples=100)["rmse"].better == "first"
    assert found["coverage@10"].better is None
    assert np.isnan(found["coverage@10"].p)
    assert "p = " not in str(found["coverage@10"])
    assert "p = 0.0" in str(found["rmse"])


def test_a_model_is_not_better_than_itself_whatever_its_row_numbers(data, parts, trained):
    train = parts[0]
    table = {
        "reader": train.queries.ids.at(train.query)[::-1],
        "book": train.targets.ids.at(train.target)[::-1],
        "rating": train.y[::-1],
    }
    one = FMF(rank=2, l2=0.1, rounds=20).fit(Dataset.of(table))
    found = compare_models(one, one, parts[1].only(parts[1].query >= 0), ["rmse", "recall@10"], resamples=50)
    for paired in found.values():
        assert (paired.difference, paired.p, paired.better) == (Estimate(0.0, 0.0, 0.0), 1.0, None)
    # the same queries are drawn for both, so the same pairs
    both = [judged_by(model, parts[1]) for model in (one, trained)]
    queries = Queries.of(both[0].data)
    mine, other = next(queries.drawn(both, 1, 0))
    np.testing.assert_array_equal(mine.y, other.y)
    assert mine.model is one.model
    at = mine.data.query
    assert one.encoder.queries.ids.at(at) == trained.encoder.queries.ids.at(other.data.query)


def test_what_cannot_be_compared_is_refused(data, parts, trained, positives):
    ranker = FMF(rank=2, l2=1.0, rounds=1).fit(positives)
    some = parts[1].only(~np.isin(parts[1].query * 200 + parts[1].target, positives.query * 200 + positives.target))
    with pytest.raises(ValueError, match="one model was trained on positives only, the other on ratings"):
        compare_models(ranker, trained, some, "ndcg@10")
    with pytest.raises(ValueError, match="no metric suits both models; name one, such as ndcg@10"):
        compare_models(ranker, trained, some)
    with pytest.raises(ValueError, match=r"level: expected a number between 0 and 1, such as 0\.95, got 95"):
        estimate(trained, parts[1], level=95)
    with pytest.raises(ValueError, match="resamples: expected at least 2"):
        estimate(trained, parts[1], resamples=1)
    with pytest.warns(UserWarning, match="that the model was trained on") as warned:
        estimate(trained, data, "rmse", resamples=2)
    assert warned[0].filename == __file__


def test_a_single_query_has_no_interval(parts, trained):
    alone = parts[1].only(parts[1].query == parts[1].query[0])
    assert estimate(trained, alone, "rmse")["rmse"].interval is None
    assert estimate(trained, alone, "rmse")["rmse"].to_json()["low"] is None
