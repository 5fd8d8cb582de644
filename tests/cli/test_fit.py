"""fmfkit fit: from a file of pairs to a model file."""

import json
import re
import signal
import subprocess
import sys

import numpy as np
import pytest
from command import invoke, printed, run

from fmfkit.recommend.recommender import Recommender


def test_what_was_learnt_on_is_reported_and_new_books_are_tested_on(fitted):
    _, output = fitted
    assert " pairs of 40 queries (0 without pairs) and 60 targets (12 without)" in output
    assert re.search(r"target.genres +tags +4 ", output)
    assert float(re.search(r"held-out pairs \(cold-target\): rmse (\d\.\d+)", output).group(1)) < 0.7


def test_the_outcome_is_told_as_json(shop):
    outcome = json.loads(printed("fit", "ratings.csv", "--out", "m", "--rank", "2", "--test", "0.1", "--json"))
    assert outcome["model"] == "m"
    assert outcome["rounds"] == Recommender.load("m").model.history[-1].round
    assert set(outcome["test"]) == {"rmse", "mae"}
    assert "test" not in json.loads(printed("fit", "ratings.csv", "--rank", "2", "--rounds", "1", "--json"))


def test_a_search_tells_what_it_found_in_the_words_of_the_command_line(shop):
    arguments = ["fit", "ratings.csv", "--targets", "books.csv", "--rank", "4", "--test", "0.2"]
    output = invoke(*arguments, "--tune", "4", "--l2", "3")
    told = re.search(r"^rmse \d\.\d+ with (.*)$", output, re.MULTILINE).group(1)
    assert told.startswith("--l2 ")
    again = invoke(*arguments, *told.split())
    assert again.splitlines()[-1] == output.splitlines()[-1]


def test_growth_and_balance_are_options_and_keys_of_a_file(shop):
    options = ["--rank", "4", "--l2", "0.5", "--growth", "0.5", "--balance", "0.2"]
    invoke("fit", "ratings.csv", *options, "--out", "options.fmf")
    lines = [
        '[data]\npairs = "ratings.csv"',
        "[model]\nrank = 4\nl2 = 0.5\ngrowth = 0.5\nbalance = 0.2",
        '[recipe]\nout = "file.fmf"',
    ]
    (shop / "fit.toml").write_text("\n".join(lines))
    invoke("fit", "fit.toml")
    first, second = (Recommender.load(name) for name in ("options.fmf", "file.fmf"))
    assert first.settings == second.settings
    assert (first.settings.growth, first.settings.balance) == (0.5, 0.2)
    np.testing.assert_array_equal(first.model.P, second.model.P)


CONFIG = """
[data]
pairs = "ratings.csv"
history = true
targets = {table = "books.csv", blocks = [{kind = "tags", column = "genres"}]}
[model]
rank = 4
rounds = 3
negatives_fresh = true
[recipe]
test = 0.2
"""


def test_options_override_a_file_and_flags_can_be_switched_off(shop):
    (shop / "fit.toml").write_text(CONFIG)
    output = invoke("fit", "fit.toml", "--rank", "2", "--no-history", "--no-negatives-fresh", "--out", "from-file.fmf")
    assert "held-out pairs (random)" in output
    told = json.loads(invoke("inspect", "from-file.fmf", "--json"))
    assert told["rank"] == 2
    assert told["rounds"] <= 3
    assert told["settings"]["negatives_fresh"] is False
    assert list(told["targets"]["blocks"]) == ["indicator", "genres"]
    assert list(told["queries"]["blocks"]) == ["indicator"]
    invoke("fit", "fit.toml")
    assert list(Recommender.load("model.fmf").model.X.blocks) == ["indicator", "history"]


@pytest.mark.parametrize("options", [[], ["--loss", "logistic", "--negatives", "4"]])
def test_positives_only_are_tested_by_a_ranking(shop, options):
    result = run("fit", "liked.csv", "--targets", "books.csv", "--rank", "4", "--test", "0.1", *options)
    assert result.exit_code == 0, result.output
    assert re.search(r"held-out pairs \(per-query\): ndcg@10 \d\.\d+, recall@20 \d\.\d+$", result.output, re.M)


def test_negatives_are_drawn_for_positives_only(shop):
    arguments = ["liked.csv", "--targets", "books.csv", "--loss", "logistic", "--negatives", "3", "--l2", "0.05"]
    ranking = ["--choose-by", "ndcg@5", "--test", "0.2", "--metric", "ndcg@5"]
    output = invoke("fit", *arguments, "--negatives-fresh", *ranking)
    assert float(re.search(r"per-query\): ndcg@5 (\d\.\d+)$", output, re.M).group(1)) > 0.1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--strength", "target.genre=2"], "strengths: there is no 'target.genre'"),
        (["--rating", "stars"], "there is no column 'stars' for the rating"),
        (["--loss", "sqare"], "did you mean 'square'"),
        (["--split", "time", "--test", "0.1"], "the pairs have no time"),
        (["--out", "nowhere/model.fmf"], "there is no folder to write it to"),
        (["--metric", "rsme", "--test", "0.1"], "no metric is called 'rsme'"),
        (["--tune", "2", "--validate", "0"], "it needs a validation part"),
        (["--regularizer", "elastic_net", "--l2", "3"], "replaces l2, which would be ignored"),
        (["--loss", "logistic"], "the logistic loss takes y between 0 and 1"),
    ],
)
def test_mistakes_are_told_in_a_line_with_exit_code_1(shop, arguments, message):
    result = run("fit", "ratings.csv", *arguments)
    assert result.exit_code == 1
    assert message in result.output
    assert "Traceback" not in result.output
    assert not (shop / "model.fmf").exists()


def test_an_interrupt_stops_after_the_round_and_saves(shop):
    command = [sys.executable, "-m", "fmfkit", "fit", "ratings.csv", "--rounds", "1000000", "--validate", "0"]
    process = subprocess.Popen(command, cwd=shop, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    for line in process.stderr:
        if "round 3/" in line:
            break
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 130, err
    assert "interrupted" in out
    assert (shop / "model.fmf").exists()


def test_a_fit_tells_how_good_it_is_beside_what_anybody_could_predict(shop):
    output = invoke("fit", "ratings.csv", "--targets", "books.csv", "--rank", "4", "--test", "0.2")
    number = r"\d\.\d+"
    assert re.search(r"^model.fmf: \d+ rounds, trained again on all training pairs$", output, re.M)
    assert re.search(rf"^validation: rmse {number} \(biases alone {number}, the mean {number}\)$", output, re.M)
    assert re.search(rf"^beside: biases alone {number}, the mean {number}  \(rmse\)$", output, re.M)
    result = run("fit", "ratings.csv", "--rank", "4", "--test", "0.2", "--no-refit", "--json")
    told = json.loads(result.stdout)
    assert told["baselines"].keys() == {"validation", "test"}
    assert told["refitted"] is False


def test_a_fit_that_learns_nothing_says_so_and_what_to_try(shop):
    output = invoke("fit", "ratings.csv", "--l2", "1000", "--rounds", "3")
    assert output.splitlines()[-1].startswith("not clearly better than biases alone and the mean: leave out l2")


def test_a_report_is_written_beside_the_model_and_tells_the_command(shop, monkeypatch):
    options = ["--rank", "2", "--rounds", "3", "--test", "0.2", "--report", "report.html"]
    monkeypatch.setattr(sys, "argv", ["/bin/fmfkit", "fit", "a file.csv"])
    invoke("fit", "ratings.csv", "--targets", "books.csv", *options)
    page = (shop / "report.html").read_text()
    assert "<code>fmfkit fit &#x27;a file.csv&#x27;</code>" in page
    assert "held-out pairs, rmse is" in page
    assert "no features: target title (it is the label)" in page
    result = run("fit", "ratings.csv", "--report", "nowhere/report.html", "--out", "other.fmf")
    assert result.exit_code == 1
    assert "nowhere/report.html: there is no folder to write it to" in result.output
    assert not (shop / "other.fmf").exists()
