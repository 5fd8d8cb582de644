"""What a fit needs of the data: parts, penalties, negatives, weights."""

import attrs
import numpy as np
import pytest

from fmfkit import FMF, Penalties, Penalty
from fmfkit.data import Dataset
from fmfkit.errors import DataError
from fmfkit.recommend import prepared
from fmfkit.regularizers import ElasticNet


def test_validation_data_must_have_the_same_ids(data):
    with pytest.raises(DataError, match="validate: expected a part of the same data"):
        FMF().fit(data, validate=Dataset.of({"reader": ["r1"], "book": ["b1"], "rating": [1.0]}))


def test_strengths_are_by_side_and_name(data):
    for options in ({"rounds": 3, "l2": 0.5}, {"rounds": 12}):
        bound = FMF(rank=4, strengths={"target.genres": 1e6}, **options).fit(data)
        part = bound.model.Z.blocks["genres"]
        assert np.abs(bound.model.Q[part.start : part.stop]).max() < 1e-3
    with pytest.raises(ValueError, match=r"there is no 'genres'; there are \['query.indicator', 'target.genres'"):
        FMF(strengths={"genres": 1}).fit(data)


@pytest.mark.parametrize("fresh", [False, True])
def test_negatives_are_drawn_once_or_in_each_round(positives, fresh):
    sums = []
    front = FMF(rank=4, loss="logistic", l2=0.05, rounds=4, negatives=2, negatives_fresh=fresh)
    trained = front.fit(positives, callbacks=[lambda event: sums.append(event.problem.query.pairs.other.sum())])
    assert len(sums) == len(trained.model.history) == 5
    assert [record.round for record in trained.model.history] == list(range(5))
    assert len(set(sums[1:])) == (4 if fresh else 1)
    assert trained.seen.nnz == len(positives)


def test_negatives_are_no_training_pairs_do_not_spare_held_out_ones_and_are_drawn_for_validation_too(positives):
    shown = []
    front = FMF(rank=4, loss="logistic", l2=0.05, rounds=12, patience=2, negatives=4, negatives_fresh=True)
    trained = front.fit(positives, validate=0.2, metric="log_loss", callbacks=shown.append)
    assert len(trained.model.history) == int(np.argmin(trained.validation)) + 1
    assert all(event.last == 12 for event in shown)
    train, held_out = positives.split_per_query(0.2, 0)
    spared = []
    for event in shown:
        pairs = event.problem.query.pairs
        key = np.repeat(np.arange(len(pairs.ptr) - 1), np.diff(pairs.ptr)) * 120 + pairs.other
        assert len(np.unique(key)) == len(key)  # no pair is there twice, as itself and drawn
        assert np.isin(train.query.astype(np.int64) * 120 + train.target, key).all()
        spared.append(~np.isin(held_out.query.astype(np.int64) * 120 + held_out.target, key))
    assert not np.all(spared)  # to spare them all would tell which they are
    auc = front.fit(positives, validate=0.2, metric="auc")
    assert auc.validation[-1] > 0.6


def test_growth_bounds_the_later_dimensions(data):
    size = np.square(FMF(rank=8, rounds=5, l2=0.05, growth=3).fit(data).model.P[:, :8]).sum(axis=0)
    assert size[4:].sum() < 1e-3 * size.sum()


@pytest.mark.parametrize("negatives", [0, 2])
def test_balance_weighs_pairs_and_is_not_what_is_remembered(positives, negatives):
    seen = []
    front = FMF(rank=4, loss="logistic", l2=0.05, rounds=2, negatives=negatives, balance=0.4)
    trained = front.fit(positives, callbacks=[lambda event: seen.append(event.problem.target.pairs)])
    drawn = positives.with_negatives(2, seed=front.seed) if negatives else positives
    drawn = drawn.balanced(0.4)
    by_target = drawn.weight[np.lexsort((drawn.query, drawn.target))]
    np.testing.assert_allclose(seen[0].weight, by_target, rtol=1e-5)
    assert trained.settings.balance == 0.4
    assert trained.weight is None


def test_negatives_are_drawn_by_popularity_if_asked(positives):
    counts = {}
    for by in ("uniform", "popularity"):
        seen = []
        front = FMF(rank=2, loss="logistic", rounds=1, negatives=4, negatives_by=by)
        front.fit(positives, callbacks=lambda event, seen=seen: seen.append(event.problem.target.pairs))
        negative = seen[0].y == 0
        counts[by] = np.bincount(seen[0].row[negative], minlength=120)
    often = np.bincount(positives.target, minlength=120)
    assert (counts["popularity"][often == 0] == 0).all()
    assert (counts["uniform"][often == 0] > 0).all()


def test_penalties_of_parts_are_taken_as_they_are(data):
    chosen = Penalties(P=ElasticNet(l2=3), Q=Penalty(ElasticNet(l2=4), scale="uniform"))
    problem = FMF(rank=2, regularizer=chosen).problem(data)
    assert problem.penalty == chosen
    plain = FMF(rank=2, regularizer=ElasticNet(l2=3), growth=0.5, strengths={"target.genres": 2}).problem(data)
    assert Penalty(ElasticNet(l2=3), growth=0.5, strengths={"indicator": 1, "genres": 2}) == plain.penalty.Q
    assert plain.penalty.target_bias.scale == "uniform"


def test_the_penalty_of_a_regularizer_is_per_given_pair_as_that_of_l2_is(positives):
    by_l2 = FMF(rank=4, rounds=3, l2=0.1).fit(positives)
    by_name = FMF(rank=4, rounds=3, regularizer=ElasticNet(l2=0.1)).fit(positives)
    U, V = by_l2.model.query_embedding, by_name.model.query_embedding  # biases differ: bias_l2 is replaced too
    assert np.linalg.norm(U - V) < 0.2 * np.linalg.norm(U)


def test_many_queries_are_judged_by_some_that_have_a_relevant_pair(monkeypatch, data):
    monkeypatch.setattr(prepared, "MOST_JUDGED", 5)
    low = attrs.evolve(data, y=np.where(data.query < 7, 1.0, 0.0))
    train, held_out = low.split_random(0.3)
    made = prepared.Prepared.of(train, held_out, FMF(data="ratings"), None)
    assert len(np.unique(made.judged.query)) == 5
    assert (made.judged.query < 7).all()
