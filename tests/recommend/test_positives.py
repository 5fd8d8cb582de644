"""What settings become for data that has positives only, and for data that has ratings."""

import attrs
import numpy as np
import pytest
from bookshop import clicks

from fmfkit import FMF, Penalty, Recipe
from fmfkit.errors import DataError
from fmfkit.metrics import Ranking
from fmfkit.recommend.positives import POSITIVES, settled
from fmfkit.recommend.recommender import Recommender
from fmfkit.regularizers import ElasticNet

FRONT = FMF(rank=2, rounds=2)


def pairs_of(front, data, **options):
    """Return y of the given pairs that a fit is trained on, and the model."""
    shown = []
    trained = front.fit(data, callbacks=shown.append, **options)
    pairs = shown[0].problem.query.pairs
    return pairs.y[pairs.y > 0], trained


def test_the_data_decides_and_the_model_remembers(data, positives, tmp_path):
    for given, expected in (
        (data, "ratings"),
        (positives, "positives"),
        (attrs.evolve(positives, y=positives.y * 5), "positives"),
    ):
        trained = FRONT.fit(given)
        trained.save(tmp_path / "model")
        assert trained.settings.data == Recommender.load(tmp_path / "model").settings.data == expected
        assert trained.positives is (expected == "positives")
        assert ("positives only" in repr(trained)) is trained.positives
    assert FMF().data == "auto"


def test_two_classes_are_ratings(positives):
    classes = positives.with_negatives(1)
    trained = FMF(rank=2, rounds=2, loss="logistic").fit(classes, validate=0.2)
    assert trained.settings.data == "ratings"
    assert trained.metric == "log_loss"


@pytest.mark.parametrize(
    "call", [FRONT.fit, lambda *a, **o: FRONT.replace(rounds=11).tune(*a, trials=1, **o), Recipe(settings=FRONT).run]
)
def test_what_was_recognised_is_said_in_one_line_where_progress_is_shown(positives, data, capsys, call):
    call(positives, progress=True)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith(f"all {len(positives):,} values are 1: taken as positives only (--ratings or data=")
    assert sum("positives only" in line for line in lines) == 1
    call(positives, progress=False)
    call(data, progress=True)
    assert "positives only" not in capsys.readouterr().err


def test_a_recipe_says_it_in_the_report_instead(positives, capsys):
    reports = []
    Recipe(settings=FRONT, test=0.2, tune=1).run(positives, progress=True, on_report=reports.append)
    (report,) = reports
    assert report.notes[0].startswith(f"all {len(positives):,} values are 1: taken as positives only")
    assert "positives only" not in capsys.readouterr().err


def test_y_of_positives_is_1_whatever_it_was(positives):
    fives = attrs.evolve(positives, y=positives.y * 5)
    y, trained = pairs_of(FRONT, fives)
    assert (y == 1).all()
    assert (trained.seen.data == 1).all()
    assert trained.model.P.tobytes() == FRONT.fit(positives).model.P.tobytes()
    assert FRONT.problem(fives).query.pairs.y.max() == 1


def test_ratings_can_be_taken_as_positives_with_a_warning_that_names_the_switch(data):
    above = data.only(data.y > 0)
    with pytest.warns(UserWarning, match=r"distinct values, .* are all counted as positives; use --ratings or data="):
        y, trained = pairs_of(FRONT.replace(data="positives", l2=0.1), above, validate=0.2)
    assert (y == 1).all()
    assert trained.metric == "ndcg@10"
    test = trained.pairs({"reader": ["r0", "r1", "r2"], "book": ["b111", "b112", "b113"], "rating": [1.0, 4.0, 5.0]})
    told = trained.evaluate(test, ["rmse", "ndcg@10"])
    assert told == trained.evaluate(attrs.evolve(test, y=np.ones(len(test))), ["rmse", "ndcg@10"])
    both = attrs.evolve(test, y=test.y - 3)  # what is at or below 0 did not happen
    assert list(trained.evaluate(both)) == ["ndcg@10", "recall@20"]
    assert trained.evaluate(both, "auc") == trained.evaluate(attrs.evolve(both, y=(both.y > 0).astype(float)), "auc")


def test_what_did_not_happen_is_refused(data):
    zeros = attrs.evolve(data, y=np.where(data.y > 3, data.y, 0))
    count = int((zeros.y == 0).sum())
    for call in (FRONT.replace(data="positives").fit, Recipe(settings=FRONT.replace(data="positives")).run):
        with pytest.raises(DataError, match=rf"data: .* {count:,} of 3,000 pairs have y of 0 or less; leave these out"):
            call(zeros)


def test_positives_can_be_taken_as_ratings_with_a_warning_that_names_the_switch(positives):
    front = FRONT.replace(data="ratings")
    for call in (front.fit, Recipe(settings=front, validate=0).run):
        with pytest.warns(UserWarning, match="values are 1: as ratings, nothing but this number .* use --positives"):
            call(positives)
    assert front.replace(loss="logistic", negatives=2).fit(positives).settings.data == "ratings"  # more can be learnt


def test_validation_holds_out_of_each_query_and_at_random_for_ratings(data, positives):
    for given, front, split in (
        (positives, FRONT, positives.split_per_query),
        (positives, FRONT.replace(data="ratings", loss="logistic", negatives=1), positives.split_random),
        (data, FRONT, data.split_random),
    ):
        seen = front.fit(given, validate=0.2).seen
        assert (seen.toarray() != 0).tolist() == (split(0.2, front.seed)[0].matrix.toarray() != 0).tolist()
    by_hand = positives.split_random(0.2)
    assert FRONT.fit(by_hand[0], validate=by_hand[1]).seen.nnz == len(by_hand[0])


@pytest.mark.parametrize(
    ("asked", "expected"), [(None, "per-query"), ("random", "random"), ("cold-target", "cold-target")]
)
def test_a_recipe_splits_positives_per_query_unless_asked(positives, asked, expected):
    outcome = Recipe(settings=FRONT, test=0.2, validate=0.2, split=asked).run(positives, progress=False)
    assert outcome.split == expected
    rest, test = positives.split(expected, 0.2, 0)
    np.testing.assert_array_equal(outcome.test.target, test.target)
    assert outcome.recommender.seen.nnz == len(rest)  # trained again on the validation part too
    part, held_out = rest.split(expected, 0.2, 1)  # validation follows
    assert outcome.recommender.validation == FRONT.fit(part, validate=held_out).validation
    assert list(outcome.metrics) == ["ndcg@10", "recall@20"]
    assert outcome.recommender.metric == "ndcg@10"


def test_a_recipe_splits_ratings_at_random(data):
    outcome = Recipe(settings=FRONT, test=0.2).run(data, progress=False)
    assert outcome.split == "random"
    np.testing.assert_array_equal(outcome.test.target, data.split_random(0.2, 0)[1].target)


def test_positives_of_queries_with_one_pair_each_are_split_at_random(positives):
    _, first = np.unique(positives.query, return_index=True)
    single = positives.only(first)
    outcome = Recipe(settings=FRONT, test=0.2, validate=0.2).run(single, progress=False)
    assert outcome.split == "random"
    assert len(outcome.test) > 0


def test_a_metric_that_is_asked_for_decides(positives):
    assert FRONT.fit(positives, validate=0.2, metric="map@5").metric == "map@5"
    drawn = FMF(rank=2, rounds=2, loss="logistic", negatives=2)
    assert drawn.fit(positives, validate=0.2, metric="auc").metric == "auc"


def by_popularity(train, test, k=10):
    """Return the NDCG of recommending the most popular targets."""
    often = np.bincount(train.target, minlength=train.shape[1])
    score = np.where(train.matrix.toarray() > 0, -1, often)
    return Ranking.of(np.argsort(-score, axis=1, kind="stable")[:, :k], test.matrix).ndcg(k)


def test_without_a_setting_positives_are_ranked_far_better_than_by_popularity():
    train, test = clicks().split_per_query(0.2)
    trained = FMF().fit(train, validate=0.1)
    assert trained.evaluate(test)["ndcg@10"] > 2 * by_popularity(train, test)
    assert max(trained.validation) > 1.5 * trained.validation[0]


def test_positives_have_defaults_of_their_own_and_what_is_given_stays(positives):
    settings = settled(FMF(), positives).settings
    assert (settings.rank, settings.balance) == (POSITIVES["rank"], POSITIVES["balance"])
    assert (settings.cells, settings.negatives) == (POSITIVES["cells"], 0)
    assert settled(FMF(), positives).choose
    assert not settled(FMF(l2=0.7), positives).choose
    given = {"rank": 3, "balance": 0.0, "l2": 0.7, "loss": "square", "scale": "observations", "rounds": 2}
    settings = settled(FMF(**given), positives).settings
    assert {name: getattr(settings, name) for name in given} == given
    assert settled(FMF(cells=None), positives) == settled(FMF(), positives)


def test_drawn_negatives_are_used_as_they_are(positives):
    settings = settled(FMF(negatives=2), positives).settings
    assert settings == FMF(negatives=2, data="positives", cells=0.0, l2=0.5)
    assert FMF(rank=2, rounds=1, negatives=2).fit(positives).settings.cells == 0


@pytest.mark.parametrize("regularizer", ["elastic_net", ElasticNet(l2=0.1), Penalty(ElasticNet(l2=1), scale="uniform")])
def test_a_regularizer_replaces_the_defaults_of_positives_too(positives, regularizer):
    settings = settled(FMF(regularizer=regularizer), positives).settings
    assert settings.regularizer == regularizer
    assert settings.rank == POSITIVES["rank"]
    assert settings.l2 == FMF().l2  # it is not used


def test_positives_without_cells_and_negatives_are_refused(positives):
    with pytest.raises(ValueError, match=r"cells: with 0, and without negatives, .*; leave out cells, or give"):
        FMF(cells=0).fit(positives)


def test_settings_of_ratings_are_as_given_and_leave_out_the_cells(data):
    decided = settled(FMF(l2=0.1), data)
    assert decided.settings == FMF(l2=0.1, data="ratings", cells=0.0)
    assert (decided.found.note, decided.found.warning) == (None, None)
    assert not settled(FMF(), data).choose


def test_a_start_may_draw_negatives_though_its_model_did_not(positives):
    before = FMF(rank=2, rounds=1).fit(positives)
    after = FMF(rounds=1, negatives=3).fit(positives, start=before).settings
    assert (after.negatives, after.cells, after.balance) == (3, 0, before.settings.balance)


@pytest.fixture(scope="module")
def ranker(positives):
    return FMF(rank=2, rounds=2, loss="logistic", negatives=2).fit(positives)


def test_a_start_keeps_what_its_data_was_taken_as(data, trained, positives, ranker):
    equal = attrs.evolve(positives, y=np.full(len(positives), 4.0))
    assert FMF(rounds=1).fit(equal, start=trained).settings.data == "ratings"  # without a warning: it knows more
    y, after = pairs_of(FMF(rounds=1), equal, start=ranker)
    assert after.settings.data == "positives"
    assert (y == 1).all()
    with pytest.warns(UserWarning, match="are all counted as positives"):
        y, after = pairs_of(FMF(rounds=1), data.only(data.y > 0), start=ranker)
    assert after.settings.data == "positives"
    assert (y == 1).all()


def test_a_start_refuses_another_decision(data, trained, positives, ranker, tmp_path):
    ranker.save(tmp_path / "model")
    for start in (ranker, Recommender.load(tmp_path / "model")):
        with pytest.raises(ValueError, match="data: the model to start from was trained on 'positives'; asked for 'ra"):
            FMF(data="ratings").fit(positives, start=start)
        FMF(data="positives", rounds=1).fit(positives, start=start)  # the same may be said
        FMF(data="auto", rounds=1).fit(positives, start=start)
    with pytest.raises(ValueError, match="data: the model to start from was trained on 'ratings'; asked for 'posi"):
        FMF(data="positives").fit(data, start=trained)


def test_a_start_of_a_recipe_decides_the_split(positives, ranker, data):
    with (
        pytest.warns(UserWarning, match="are all counted as positives"),
        pytest.warns(UserWarning, match=r"of 600 pairs are among those that the model was trained on"),  # by the start
    ):
        outcome = Recipe(settings=FMF(rounds=1), test=0.2).run(data.only(data.y > 0), start=ranker, progress=False)
    assert outcome.split == "per-query"
