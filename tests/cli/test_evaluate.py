"""fmfkit evaluate: a model on pairs of a file."""

import json
import re

from command import invoke, run


def test_a_model_is_measured_on_a_file(model):
    measured = json.loads(invoke("evaluate", model, "ratings.csv", "--json", "--metric", "rmse"))
    assert list(measured) == ["rmse"]
    assert 0 < measured["rmse"] < 1
    line = invoke("evaluate", model, "ratings.csv")
    first, second = line.splitlines()
    assert re.fullmatch(rf"1200 pairs: rmse {measured['rmse']:.4f}, mae \d\.\d+", first)
    assert re.fullmatch(r"beside: biases alone \d\.\d+, the mean \d\.\d+  \(rmse\)", second)


def test_positives_only_are_measured_by_rankings(shop):
    invoke("fit", "liked.csv", "--rank", "2", "--rounds", "1", "--test", "0.1")
    assert re.search(
        r"^\d+ pairs: ndcg@10 \d\.\d+, recall@20 \d\.\d+$", invoke("evaluate", "model.fmf", "liked.csv"), re.M
    )


def test_unknown_ids_in_a_file_are_named(model, shop):
    (shop / "ask.csv").write_text("user,book,rating\nu3,7,1\nnobody,9,2\n")
    result = run("evaluate", model, "ask.csv")
    assert result.exit_code == 1
    assert "pairs, queries: 1 ids are not known, such as 'nobody'" in result.output
