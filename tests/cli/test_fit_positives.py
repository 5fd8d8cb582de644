"""fmfkit fit on data that has positives only: recognised, said, and decided by two flags."""

import json
import re

import pytest
from command import invoke, printed, run

from fmfkit.recommend.positives import POSITIVES
from fmfkit.recommend.recommender import Recommender

SMALL = ["--rank", "4", "--rounds", "3"]
NOTE = "pairs have no ratings: taken as positives only"


def test_positives_are_recognised_and_it_is_said_once(shop):
    output = invoke("fit", "liked.csv", *SMALL, "--test", "0.1")
    assert output.count("taken as positives only") == 1
    assert re.search(rf"^the 672 {NOTE}", output, re.MULTILINE)
    assert re.search(r"held-out pairs \(per-query\): ndcg@10 \d\.\d+, recall@20 \d\.\d+$", output, re.M)
    assert "positives only" not in invoke("fit", "ratings.csv", *SMALL)


def test_positives_need_no_setting(shop):
    output = invoke("fit", "liked.csv", "--targets", "books.csv", "--test", "0.1")
    trained = Recommender.load("model.fmf")
    assert (trained.settings.rank, trained.settings.balance) == (POSITIVES["rank"], POSITIVES["balance"])
    assert float(re.search(r"recall@20 (\d\.\d+)$", output, re.M).group(1)) > 0.5


def test_equal_ratings_are_recognised_too(shop):
    (shop / "ones.csv").write_text("user,book,rating\n" + "".join(f"u{n % 30},{n % 17},1\n" for n in range(300)))
    output = invoke("fit", "ones.csv", *SMALL)
    assert "all 300 values are 1: taken as positives only (--ratings or data='ratings' to treat them" in output


def test_what_was_decided_is_told(shop):
    assert json.loads(printed("fit", "liked.csv", *SMALL, "--json"))["data"] == "positives"
    assert json.loads(invoke("inspect", "model.fmf", "--json"))["settings"]["data"] == "positives"
    assert re.search(r"^data +positives$", invoke("inspect", "model.fmf"), re.MULTILINE)
    assert json.loads(printed("fit", "ratings.csv", *SMALL, "--json"))["data"] == "ratings"


def test_ratings_given_as_positives_are_warned_of(shop):
    output = invoke("fit", "ratings.csv", *SMALL, "--positives", "--test", "0.1")
    assert output.count("distinct values") == 1
    assert re.search(r"^warning: 1,\d+ distinct values, .* are all counted as positives; use --ratings", output, re.M)
    assert "held-out pairs (per-query): ndcg@10" in output
    assert Recommender.load("model.fmf").settings.data == "positives"


def test_positives_given_as_ratings_are_warned_of(shop):
    output = invoke("fit", "liked.csv", *SMALL, "--ratings", "--test", "0.1")
    assert output.count("nothing but this number can be learnt") == 1
    assert "warning: all 672 values are 1: as ratings" in output
    assert "use --positives or data='positives'" in output
    assert "held-out pairs (random)" in output
    assert Recommender.load("model.fmf").settings.data == "ratings"


def test_pairs_that_did_not_happen_are_refused(shop):
    (shop / "shown.csv").write_text("user,book,clicked\nu1,1,1\nu1,2,0\nu2,1,1\n")
    result = run("fit", "shown.csv", "--positives")
    assert result.exit_code == 1
    assert "1 of 3 pairs have y of 0 or less; leave these out" in result.output
    assert not (shop / "model.fmf").exists()


@pytest.mark.parametrize("how", ["option", "file"])
def test_options_and_keys_of_a_file_decide_alike(shop, how):
    arguments = ["ratings.csv", "--positives"]
    if how == "file":
        (shop / "fit.toml").write_text('[data]\npairs = "ratings.csv"\n[model]\ndata = "positives"\n')
        arguments = ["fit.toml"]
    invoke("fit", *arguments, *SMALL)
    assert Recommender.load("model.fmf").settings.data == "positives"
    if how == "file":
        invoke("fit", *arguments, *SMALL, "--ratings")  # options override the file
        assert Recommender.load("model.fmf").settings.data == "ratings"


def test_repeated_clicks_become_weights(shop):
    rows = (shop / "liked.csv").read_text().splitlines()
    (shop / "clicks.csv").write_text("\n".join([*rows, *rows[1:], *rows[1:101]]))
    output = invoke("fit", "clicks.csv", *SMALL, "--validate", "0")
    assert "772 rows that repeat a pair became weights" in output
    weight = Recommender.load("model.fmf").weight
    assert sorted(set(weight)) == [2, 3]
    assert (weight == 3).sum() == 100


def test_repeated_ratings_are_counted_where_they_are_positives(shop):
    (shop / "plays.csv").write_text("user,book,seconds\nu1,1,30\nu1,1,50\nu2,1,20\nu2,2,10\nu1,2,9\n")
    result = run("fit", "plays.csv")
    assert result.exit_code == 1
    assert "1 rows repeat a pair" in result.output
    arguments = ["plays.csv", "--positives", "--validate", "0", *SMALL]
    assert "1 rows that repeat a pair became weights" in invoke("fit", *arguments)
    invoke("fit", *arguments, "--duplicates", "last")  # unless asked for something else
    assert Recommender.load("model.fmf").weight is None


def test_counts_are_given_as_weights(shop):
    (shop / "plays.csv").write_text("user,book,plays\nu1,1,30\nu2,1,20\nu2,2,10\nu1,2,9\n")
    output = invoke("fit", "plays.csv", "--weight", "plays", "--validate", "0", *SMALL)
    assert NOTE in output
    assert sorted(Recommender.load("model.fmf").weight) == [9, 10, 20, 30]


def test_another_split_can_be_asked_for(shop):
    output = invoke("fit", "liked.csv", *SMALL, "--test", "0.1", "--split", "random")
    assert "held-out pairs (random): ndcg@10" in output


def test_metrics_can_be_asked_for(shop):
    output = invoke("fit", "liked.csv", *SMALL, "--test", "0.1", "--choose-by", "map@5", "--metric", "precision@1")
    assert re.search(r"\(per-query\): precision@1 \d\.\d+$", output, re.M)
    assert Recommender.load("model.fmf").metric == "map@5"


def test_a_model_that_ranks_by_popularity_alone_is_warned_of(shop):
    output = invoke("fit", "liked.csv", *SMALL, "--l2", "50")
    assert output.count("warning: the model's factors are next to zero") == 1
    assert re.search(r"^warning: .* ranks by popularity alone: give a weaker penalty", output, re.M)
    assert "warning" not in invoke("fit", "liked.csv", *SMALL, "--l2", "0.2")


def test_a_search_on_positives_tells_what_to_add_to_the_command(shop):
    arguments = ["fit", "liked.csv", "--rank", "4", "--rounds", "5", "--test", "0.2"]
    output = invoke(*arguments, "--tune", "3")
    told = re.search(r"^ndcg@10 \d\.\d+ with (.*)$", output, re.MULTILINE).group(1)
    again = invoke(*arguments, *told.split())
    assert again.splitlines()[-1] == output.splitlines()[-1]


def test_cells_and_negatives_are_refused_together(shop):
    result = run("fit", "liked.csv", "--cells", "0.2", "--negatives", "4")
    assert result.exit_code == 1
    assert "cells: 0.2 counts every pair that is not given" in result.output


def test_a_start_keeps_the_decision_and_refuses_another(shop):
    invoke("fit", "liked.csv", *SMALL)
    (shop / "more.csv").write_text("user,book\nnew,3\nnew,99\nu3,99\n")
    invoke("fit", "more.csv", "--start", "model.fmf", "--out", "more.fmf")
    assert Recommender.load("more.fmf").settings.data == "positives"
    result = run("fit", "more.csv", "--start", "model.fmf", "--ratings")
    assert result.exit_code == 1
    assert "data: the model to start from was trained on 'positives'; asked for 'ratings'" in result.output
