"""fmfkit evaluate: a model on pairs of a file."""

import json
import re

import pytest
from command import invoke, printed, run


def test_a_model_is_measured_on_a_file(model):
    measured = json.loads(printed("evaluate", model, "ratings.csv", "--json", "--metric", "rmse"))
    assert list(measured) == ["rmse"]
    assert 0 < measured["rmse"] < 1
    line = printed("evaluate", model, "ratings.csv")
    first, second = line.splitlines()
    assert re.fullmatch(rf"1200 pairs: rmse {measured['rmse']:.4f}, mae \d\.\d+", first)
    assert re.fullmatch(r"beside: biases alone \d\.\d+, the mean \d\.\d+  \(rmse\)", second)


def test_positives_only_are_measured_by_rankings(shop):
    invoke("fit", "liked.csv", "--rank", "2", "--rounds", "1", "--test", "0.1")
    assert re.search(
        r"^\d+ pairs: ndcg@10 \d\.\d+, recall@20 \d\.\d+$", invoke("evaluate", "model.fmf", "liked.csv"), re.M
    )


def test_pairs_that_the_model_was_trained_on_are_warned_of_once(model):
    result = run("evaluate", model, "ratings.csv")
    assert re.findall(r"warning: (\d+) of 1,200 pairs are among those that the model was trained on", result.stderr)
    assert result.output.count("was trained on") == 1


def test_a_model_is_measured_from_cold_to_hot(model):
    lines = printed("evaluate", model, "ratings.csv", "--strata", "--metric", "mae").splitlines()[2:]
    who = r"(query|target) with (\d+|\d+ to \d+|none \(cold\)) training pairs"
    pattern = who + r": (\d+) pairs, mae \d\.\d+ \([\d.]+ to [\d.]+\)"
    found = [re.fullmatch(pattern, line) for line in lines]
    assert all(found), lines
    assert "target with none (cold)" in lines[4]  # a fifth of the books was held out
    for side in ("query", "target"):
        assert sum(int(one[3]) for one in found if one[1] == side) == 1200
    told = json.loads(printed("evaluate", model, "ratings.csv", "--strata", "--metric", "mae", "--json"))
    assert [part["pairs"] for part in told["strata"]] == [int(one[3]) for one in found]
    assert told["strata"][0]["mae"]["low"] < told["strata"][0]["mae"]["value"] < told["strata"][0]["mae"]["high"]


def test_unknown_ids_in_a_file_are_named(model, shop):
    (shop / "ask.csv").write_text("user,book,rating\nu3,7,1\nu4,8,2\nnobody,9,2\n")
    result = run("evaluate", model, "ask.csv")
    assert result.exit_code == 1
    assert "pairs, queries: 1 ids are not known, such as 'nobody'" in result.output
    assert printed("evaluate", model, "ask.csv", "--unknown", "skip").startswith("2 pairs: rmse ")


@pytest.mark.parametrize("command", [["evaluate", "model"], ["predict", "model"], ["compare", "model", "model"]])
def test_rows_that_cannot_be_read_are_listed_or_left_out_as_by_fit(model, shop, command):
    first, *models = command
    (shop / "export.csv").write_text("user,book,rating\nu1,3,4\nu1,5,3\nu2,3,2\nu2,Gesamt,9\nu3,7\n")
    asked = [first, *(model for _ in models), "export.csv"]
    refused = run(*asked)
    assert refused.exit_code == 1
    assert "1 of 5 rows do not have 3 fields as the first line does: line 6 (2 fields)" in refused.output
    result = run(*asked, "--bad-rows", "skip")
    assert result.exit_code == 0, result.output
    assert "warning: pairs: 1 of 4 values of 'book', the target, are missing or no numbers, as the ids" in result.stderr
