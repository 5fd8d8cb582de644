"""fmfkit similar: what is most like some targets, or queries."""

import json

from command import invoke, run

from fmfkit.recommend.recommender import Recommender


def test_similar_targets_and_queries_are_shown(model):
    trained = Recommender.load(model)
    shown = invoke("similar", model, "--target", "7", "-k", "2")
    assert shown.startswith("7\n")
    assert shown.count("Book, the ") == 2
    told = [json.loads(line) for line in invoke("similar", model, "--query", "u3", "-k", "2", "--json").splitlines()]
    assert [row["similar"] for row in told] == trained.similar(queries=["u3"], k=2)["similar"].to_list()


def test_one_side_must_be_asked_about(model):
    for arguments in ((), ("--target", "7", "--query", "u3")):
        result = run("similar", model, *arguments)
        assert result.exit_code == 2
        assert "give --target or --query" in result.output


def test_ids_that_are_not_known_are_named_or_left_out(model):
    result = run("similar", model, "--target", "7000")
    assert result.exit_code == 1
    assert "targets: 1 ids are not known, such as 7000" in result.output
    assert invoke("similar", model, "--target", "7000", "--unknown", "skip") == ""
    assert (
        "target: this model's ids are whole numbers, got 'seven'" in run("similar", model, "--target", "seven").output
    )
