"""fmfkit inspect: what a model file holds."""

import json

from command import invoke


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


def test_learnt_strengths_are_shown_by_block_the_one_that_matters_most_first(shop):
    invoke("fit", "ratings.csv", "--targets", "books.csv", "--rank", "4")
    told = json.loads(invoke("inspect", "model.fmf", "--json"))["strengths"]
    assert told.keys() == {"query.indicator", "target.indicator", "target.genres"}
    line = next(line for line in invoke("inspect", "model.fmf").splitlines() if line.startswith("strengths"))
    assert line.split()[1] == max(told, key=told.get)
