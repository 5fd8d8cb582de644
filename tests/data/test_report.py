"""The report counts what a data set holds, and warns of usual mistakes."""

import numpy as np
from bookshop import BOOKS, build

from fmfkit.data import (
    Categorical,
    Numeric,
    Precomputed,
    Tags,
)


def test_the_report_counts_and_warns_of_usual_mistakes():
    books = BOOKS | {"price": [1.0, 1.0, 1.0, 1.0], "kind": ["book"] * 4}
    whole = build(
        targets=books,
        target_blocks=[Tags("genres"), Numeric("price"), Categorical("kind"), Precomputed(np.full((10, 1), 1e3))],
    )
    told = whole.report()
    by_name = {block.name: block for block in told.blocks if block.side == "target"}
    assert (told.pairs, told.queries, told.targets, told.cold_targets) == (6, 3, 4, 1)
    assert (by_name["genres"].features, by_name["genres"].nonzeros, by_name["genres"].without) == (3, 5, 1)
    text = str(told)
    for warning in (
        "target.price: no instance has a feature of it",
        "target.kind: the same for all instances, so it carries no information: 'book'",
        r"target.precomputed: values up to 1000, beside indicators of 1",
    ):
        assert f"warning: {warning}" in text
    assert not build(targets=BOOKS, target_blocks=[Tags("genres")]).report().warnings


def test_the_report_says_how_answers_show_titles_that_are_called_otherwise():
    books = {"book": [*range(1, 10)], "Der Titel": [f"Band {n}" for n in range(9)]}
    note = "answers show ids: --label 'Der Titel', or label=, names the column to show instead"
    assert note in build(targets=books).report().notes
    assert not any("--label" in note for note in build(targets=books, target_label="Der Titel").report().notes)


def test_the_report_tells_of_test_pairs_that_training_knows():
    whole = build(history=True)
    train, test = whole.split_by_time(0.34)
    assert not train.report(test).warnings
    (warning,) = whole.report(test).warnings
    assert "2 of 2 test pairs are in the training data too, and history features show them" in warning
    known = Precomputed(whole.matrix.toarray(), ids=["ann", "bob", "eve"], name="past")
    leaky = build(query_blocks=[known])
    train, test = leaky.split_by_time(0.34)
    assert "query.past: looks like history features made from all pairs" in str(train.report(test))


def test_the_report_warns_of_instances_that_cannot_be_distinguished():
    data = build(targets=BOOKS, target_blocks=[Tags("genres")], target_indicator=False)
    (warning,) = data.report().warnings
    assert warning.startswith("target: no indicators")
