"""fmfkit inspect: what a model file holds."""

import json

import numpy as np
from command import invoke

from fmfkit import Recommender


def test_what_a_model_file_holds_is_told_for_people_and_programs(model):
    told = json.loads(invoke("inspect", model, "--json"))
    assert told["targets"] == {"count": 60, "blocks": {"indicator": 60, "genres": 4}}
    assert told["queries"]["count"] == 40
    assert (told["rank"], told["loss"], told["metric"]) == (4, "Square()", "rmse")
    assert told["settings"]["l2"] == 0.02
    assert told["columns"]["rating"] == "rating"
    shown = invoke("inspect", model)
    assert "targets      60: indicator (60), genres (4)" in shown
    assert f"rounds       {told['rounds']}" in shown
    assert "(validation)" in shown


def test_features_that_remain_are_listed_where_some_have_vanished(shop):
    lasso = ["--regularizer", "elastic_net:l1=1,l2=0", "--validate", "0", "--rounds", "40"]
    invoke("fit", "ratings.csv", "--targets", "books.csv", "--rank", "4", *lasso)
    trained = Recommender.load("model.fmf")
    names, rows = trained.encoder.targets.names()["genres"], np.abs(trained.model.Q[-4:]).max(axis=1)
    remain = [names[s] for s in np.argsort(-rows) if rows[s]]
    assert 0 < len(remain) < 4
    assert json.loads(invoke("inspect", "model.fmf", "--json"))["remain"] == {"target.genres": remain}
    told = f"remain       target.genres: {len(remain)}: {', '.join(remain)}  (the others are zero)"
    assert told in invoke("inspect", "model.fmf")


def test_learnt_strengths_are_shown_by_block_the_one_that_matters_most_first(shop):
    invoke("fit", "ratings.csv", "--targets", "books.csv", "--rank", "4")
    told = json.loads(invoke("inspect", "model.fmf", "--json"))["strengths"]
    assert told.keys() == {"query.indicator", "target.indicator", "target.genres"}
    line = next(line for line in invoke("inspect", "model.fmf").splitlines() if line.startswith("strengths"))
    assert line.split()[1] == max(told, key=told.get)
