"""fmfkit compare: two models on the same pairs."""

import json

import pytest
from command import invoke, printed, run


@pytest.fixture
def two(model, shop):
    """Two models of which the second learns more, and ratings that neither was trained on."""
    lines = (shop / "ratings.csv").read_text().splitlines()
    (shop / "train.csv").write_text("\n".join(lines[:1000]))
    (shop / "test.csv").write_text("\n".join([lines[0], *lines[1000:]]))
    for name, rank in (("a.fmf", 1), ("b.fmf", 4)):
        options = ["--rank", rank, "--l2", 0.02 if rank > 1 else 50, "--validate", 0, "--out", name]
        invoke("fit", "train.csv", "--targets", "books.csv", *options)
    return "a.fmf", "b.fmf"


def test_the_better_of_two_models_is_named(two):
    lines = printed("compare", *two, "test.csv", "--metric", "rmse", "--metric", "gini@5").splitlines()
    assert lines[0] == "201 pairs; intervals of 95%; the difference is b.fmf less a.fmf"
    assert lines[1] == "rmse"
    assert lines[2].startswith("  a.fmf  ")
    assert lines[4].startswith("  difference  -")
    assert lines[5].startswith("  b.fmf is better (p = 0.0")
    assert lines[10] == "  it has no interval: what it is depends on how many queries there are"


def test_a_difference_that_may_be_chance_is_said_to_be_one(two):
    assert "the difference may be chance (p = 1)" in printed("compare", "a.fmf", "a.fmf", "test.csv", "--metric", "mae")


def test_the_comparison_is_told_as_json(two):
    told = json.loads(
        printed("compare", *two, "test.csv", "--json", "--level", "0.5", "--metric", "rmse", "--metric", "gini@5")
    )
    assert told["rmse"]["better"] == "second"
    assert (
        told["rmse"]["difference"]["low"] < told["rmse"]["difference"]["value"] < told["rmse"]["difference"]["high"] < 0
    )
    assert told["gini@5"]["p"] is None
    assert told["gini@5"]["difference"]["high"] is None


def test_training_pairs_are_warned_of_and_other_files_refused(two, shop):
    assert (
        "warning: 999 of 999 pairs are among those that the model was trained on"
        in run("compare", *two, "train.csv").stderr
    )
    (shop / "new.csv").write_text("user,book,rating\nnobody,1,3\n")
    result = run("compare", *two, "new.csv")
    assert result.exit_code == 1
    assert "1 ids are not known, such as 'nobody'" in result.output
