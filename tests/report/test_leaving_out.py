"""What a feature block is worth."""

import attrs
import numpy as np
import pytest
from shelf import shelf, trained_on

from fmfkit.recommend.evaluation import metric_of
from fmfkit.recommend.resampling import judged_by
from fmfkit.report.leaving_out import without, worth


@pytest.mark.parametrize("side", ["query", "target"])
def test_without_a_block_scores_are_those_of_rows_that_have_none_of_its_features(side):
    trained, _, test = trained_on(shelf(history=True))
    model = trained.model
    on = trained.pairs(test)
    block = "history" if side == "query" else "genres"
    features, W = (model.X, model.P) if side == "query" else (model.Z, model.Q)
    dense = np.hstack([features.block(name).toarray() * (name != block) for name in features.blocks]) @ W
    rows = on.query if side == "query" else on.target
    mine, rank = dense[rows], model.rank
    theirs = model.target_embedding[on.target] if side == "query" else model.query_embedding[on.query]
    bias = model.target_bias[on.target] if side == "query" else model.query_bias[on.query]
    expected = model.offset + (mine[:, :rank] * theirs).sum(axis=1) + mine[:, rank] + bias
    left = without(model, side, block)
    np.testing.assert_allclose(left.score(on.query, on.target), expected, rtol=1e-4, atol=1e-5)
    queries = np.array([0, 5], np.int32)
    ranked = left.recommend(queries, 3, exclude=trained.seen)
    every = np.arange(model.Z.rows)
    for query, best in zip(queries, ranked.targets, strict=True):
        scores = left.score(np.full_like(every, query), every)
        scores[trained.seen[[query]].indices] = -np.inf
        np.testing.assert_array_equal(best, np.argsort(-scores, kind="stable")[:3])


def test_blocks_are_worth_what_the_metric_loses_without_them(shelved):
    trained, _, test = shelved
    on = judged_by(trained, test)
    found = worth(on, metric_of("rmse"), trained.model, 30, 0.9)
    assert list(found) == ["query.indicator", "target.indicator", "target.genres"]
    for name, one in found.items():
        other = attrs.evolve(on, model=without(trained.model, *name.split(".")))
        lost = metric_of("rmse").measure(other) - metric_of("rmse").measure(on)
        assert one.value == pytest.approx(lost)
        assert one.low <= one.value <= one.high
    assert found["query.indicator"].low > 0  # nothing else says what a reader likes
