"""Metrics as objects: which suit a loss and data, users' own, and pairs that are found by ids."""

from typing import ClassVar

import attrs
import numpy as np
import pytest
from fake_plugins import plugin, registry

from fmfkit import FMF, Metric, Recipe, Spec, evaluation, losses
from fmfkit.data import Dataset
from fmfkit.errors import DataError, PluginLoadError, UnknownNameError
from fmfkit.recommend.evaluation import metric_of, suitable_metrics


def test_rankings_are_measured(data, trained):
    _, test = data.split_random(0.2)
    told = trained.evaluate(test, ["precision@5", "recall@5", "map@5", "ndcg@5", "mrr@50"])
    assert all(0 < value <= 1 for value in told.values())


def test_evaluation_goes_by_ids_whatever_the_row_numbers(data, trained):
    _, test = data.split_random(0.2)
    table = {
        "reader": data.queries.ids.at(test.query)[::-1],
        "book": data.targets.ids.at(test.target)[::-1],
        "rating": test.y[::-1],
    }
    other = Dataset.of(table)
    assert other.queries.ids.at([0]) != data.queries.ids.at([0])
    assert trained.evaluate(other)["rmse"] == pytest.approx(trained.evaluate(test)["rmse"])
    with pytest.raises(DataError, match="1 pairs have ids that are not known, such as 'nobody'"):
        trained.evaluate(Dataset.of({"reader": ["nobody"], "book": ["b1"], "rating": [1.0]}))
    with pytest.raises(TypeError, match=r"pairs\(...\) makes one of a table"):
        trained.evaluate("ratings.csv")


def test_unknown_metrics_and_rankings_without_a_depth_are_refused(data, trained):
    with pytest.raises(UnknownNameError, match="no metric is called 'rsme'; did you mean 'rmse'"):
        trained.evaluate(data, "rsme")
    with pytest.raises(ValueError, match="metric 'ndcg': it needs the option 'k'"):
        trained.evaluate(data, "ndcg")
    with pytest.raises(ValueError, match="k: expected at least 1"):
        trained.evaluate(data, "ndcg@ten")
    with pytest.raises(ValueError, match="metric 'rmse': there is no option 'k'; it has none"):
        trained.evaluate(data, "rmse@10")


@attrs.frozen
class TwoClasses(losses.Logistic):
    """A loss for two classes as a plugin has it."""

    metrics: ClassVar[tuple[str, ...]] = ("auc",)


@pytest.mark.parametrize(
    ("loss", "y", "expected"),
    [
        (losses.Square(), [1.0, 5.0], ["rmse", "mae"]),
        (losses.Logistic(), [0.0, 1.0], ["log_loss", "auc"]),
        (losses.Logistic(), [0.0, 0.5], ["log_loss"]),  # no two classes
        (losses.Logistic(), [0.0, 0.0], ["log_loss"]),
        (losses.Logistic(), [1.0, 1.0], ["ndcg@10", "recall@20"]),  # positives only
        (losses.Square(), [3.0, 3.0], ["ndcg@10", "recall@20"]),
        (TwoClasses(), [0.0, 1.0], ["auc"]),
        (TwoClasses(), [1.0, 1.0], ["ndcg@10", "recall@20"]),
    ],
)
def test_metrics_suit_the_loss_and_the_data(loss, y, expected):
    assert [metric.name for metric in suitable_metrics(loss, np.array(y))] == expected
    assert [metric.name for metric in suitable_metrics(loss, np.array(y), positives=True)] == ["ndcg@10", "recall@20"]


def test_a_loss_of_two_classes_is_not_judged_by_rmse(data):
    classes = attrs.evolve(data, y=(data.y > 3).astype(float))
    train, test = classes.split_random(0.2)
    trained = FMF(rank=2, rounds=3, loss=TwoClasses()).fit(train, validate=0.2)
    assert trained.metric == "auc"
    assert list(trained.evaluate(test)) == ["auc"]
    assert trained.evaluate(test)["auc"] > 0.6
    tuned = FMF(rank=2, rounds=2, l2=0.5, loss=TwoClasses()).tune(train, trials=2, progress=False)
    assert (tuned.metric, tuned.larger) == ("auc", True)


@pytest.mark.parametrize("negatives", [0, 2])
def test_positives_only_are_judged_by_rankings(positives, negatives):
    train, test = positives.split_random(0.2)
    trained = FMF(rank=2, rounds=2, loss="logistic", negatives=negatives).fit(train, validate=0.2)
    assert trained.metric == "ndcg@10"
    assert list(trained.evaluate(test)) == ["ndcg@10", "recall@20"]
    with pytest.raises(ValueError, match="auc: it needs at least one positive and one negative"):
        trained.evaluate(test, "auc")


def within_half(y, predicted, weight):
    """Return the share of predictions that are at most a half off."""
    return np.mean(np.abs(predicted - y) <= 0.5)


WORST = Metric("worst", lambda on: float(np.abs(on.prediction - on.y).max()))
"""The largest error: a metric of a user's own."""


def test_metrics_of_users_are_measured_beside_those_by_name(data, trained):
    _, test = data.split_random(0.2)
    told = trained.evaluate(test, ["rmse", WORST, within_half])
    off = np.abs(trained.model.predict(test.query, test.target) - test.y)
    assert list(told) == ["rmse", "worst", "within_half"]
    assert told["worst"] == pytest.approx(off.max())
    assert told["within_half"] == pytest.approx((off <= 0.5).mean())
    assert trained.evaluate(test, WORST) == {"worst": told["worst"]}


@pytest.mark.parametrize(("metric", "choose"), [(WORST, np.argmin), (evaluation.metric_of(within_half), np.argmax)])
def test_metrics_of_users_choose_the_round(data, metric, choose):
    trained = FMF(rank=8, l2=0.001, rounds=12, patience=2).fit(data, validate=0.3, metric=metric)
    best = choose(trained.validation)
    assert trained.metric == metric.name
    assert len(trained.model.history) == best + 1
    _, held_out = data.split_random(0.3, 0)
    assert trained.evaluate(held_out, [metric])[metric.name] == pytest.approx(trained.validation[best])


def test_a_metric_says_on_what_it_cannot_be_measured(data, trained):
    picky = Metric("picky", lambda on: 0.0, refusal=lambda y: "it wants more pairs" if len(y) < 10_000 else None)
    with pytest.raises(ValueError, match="picky: it wants more pairs"):
        trained.evaluate(data, picky)
    with pytest.raises(ValueError, match="picky: it wants more pairs"):
        FMF(rank=1).fit(data, validate=0.1, metric=picky)


def test_rankings_know_that_they_rank_and_the_others_which_way_is_better():
    assert metric_of("ndcg@5").ranks
    assert metric_of("ndcg@5").larger
    assert not metric_of("rmse").ranks
    assert [metric_of(name).larger for name in ("rmse", "mae", "log_loss", "auc")] == [False, False, False, True]


def within(tolerance: float = 0.5) -> Metric:
    """Make the share of predictions that are close, as a plugin's metric."""
    return Metric("within", lambda on: float(np.mean(np.abs(on.prediction - on.y) <= tolerance)), larger=True)


def hits(k: int) -> Metric:
    return evaluation.of_ranking("hits", lambda ranking, k: float(ranking.hits[:, :k].any(axis=1).mean()), k)


@pytest.fixture
def offered(monkeypatch):
    """A plugin that offers metrics, and one that offers something else."""
    specs = [Spec("within", within), Spec("hits", hits), Spec("odd", dict)]
    mine = registry(mine=plugin(fmfkit_metrics=specs))
    monkeypatch.setattr(evaluation, "get_registry", lambda: mine)


@pytest.mark.usefixtures("offered")
def test_a_plugin_s_metrics_are_asked_for_by_name_with_options(data, trained):
    _, test = data.split_random(0.2)
    told = trained.evaluate(test, ["mine:within", "within:tolerance=0.1", "rmse", "hits@5", "hits:k=2"])
    assert list(told) == ["mine:within", "within:tolerance=0.1", "rmse", "hits@5", "hits:k=2"]
    off = np.abs(trained.model.predict(test.query, test.target) - test.y)
    assert told["mine:within"] == pytest.approx((off <= 0.5).mean())
    assert told["within:tolerance=0.1"] == pytest.approx((off <= 0.1).mean())
    assert 0 < told["hits:k=2"] < told["hits@5"] <= 1
    assert trained.compare(test, "hits@5").larger
    with pytest.raises(PluginLoadError, match=r"metric 'odd': it made {}, which is no Metric"):
        trained.evaluate(test, "odd")


@pytest.mark.usefixtures("offered")
def test_a_plugin_s_metric_chooses_and_tests_in_a_recipe_and_may_be_a_loss_s_own(data):
    settings = FMF(rank=2, rounds=2, l2=0.1, loss=Close())
    outcome = Recipe(settings=settings, test=0.2, metrics=["within:tolerance=0.2"]).run(data)
    assert list(outcome.metrics) == ["within:tolerance=0.2"]
    assert outcome.tested.metric == "within:tolerance=0.2"
    assert outcome.held_out.metric == "mine:within"
    chosen = Recipe(settings=settings, metric="within").run(data)
    assert chosen.held_out.metric == "within"


@attrs.frozen
class Close(losses.Square):
    """A loss that is judged by a plugin's metric."""

    metrics: ClassVar[tuple[str, ...]] = ("mine:within",)


def test_a_metric_that_is_given_itself_is_compared_in_a_recipe(data):
    outcome = Recipe(settings=FMF(rank=2, rounds=2, l2=0.1), test=0.2, metrics=[WORST]).run(data)
    assert outcome.tested.metric == "worst"


def test_pairs_that_the_model_was_trained_on_are_warned_of(data):
    train, test = data.split_random(0.2)
    zero = attrs.evolve(train, y=np.where(np.arange(len(train)) % 2, 0.0, train.y))  # a rating of 0 is a pair, too
    trained = FMF(rank=1, l2=1.0, rounds=1).fit(zero)
    trained.evaluate(test)  # warnings are errors here
    with pytest.warns(
        UserWarning, match=rf"^{len(train):,} of 3,000 pairs are among those that the model was trained on.*hold"
    ) as w:
        trained.evaluate(data)
    assert w[0].filename == __file__
    with pytest.warns(UserWarning, match=rf"{len(train):,} of {len(train):,} pairs"):
        trained.compare(train)


def test_what_is_ranked_first_is_measured(data, trained):
    _, test = data.split_random(0.2)
    rows = np.unique(trained.pairs(test).query)
    ranked = trained.model.recommend(rows, 5, exclude=trained.seen).targets
    known = np.bincount(trained.seen.indices, minlength=120)
    told = trained.evaluate(test, ["coverage@5", "gini@5", "novelty@5"])
    assert told["coverage@5"] == len(np.unique(ranked)) / 120
    assert told["novelty@5"] == pytest.approx(np.mean(np.log2(81 / (1 + known[ranked]))))
    assert 0 < told["gini@5"] < 1
    assert [evaluation.metric_of(f"{name}@5").larger for name in ("coverage", "gini", "novelty")] == [True, False, True]


def test_all_rankings_of_a_model_are_made_once(data, trained):
    class Counting:
        loss, asked = trained.model.loss, []

        def recommend(self, queries, k, *, exclude):
            self.asked.append(k)
            return trained.model.recommend(queries, k, exclude=exclude)

    on = evaluation.Judged(Counting(), trained.pairs(data.split_random(0.2)[1]), trained.seen)
    deep, shallow = on.ranking(20), on.ranking(5)
    assert Counting.asked == [20]
    assert shallow.recall(5) == deep.recall(5) == trained.evaluate(on.data, "recall@5")["recall@5"]
    np.testing.assert_array_equal(on.ranked(5), on.ranked(20)[:, :5])
    on.ranking(500)  # no more than there are
    assert Counting.asked == [20, 120]
