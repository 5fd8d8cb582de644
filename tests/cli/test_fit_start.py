"""fmfkit fit --start: a model is gone on from with its own settings."""

import json

import pytest
from command import invoke, run

from fmfkit import losses
from fmfkit.recommend.recommender import Recommender

MORE = "user,book,rating\nnew,3,5\nnew,99,1\nu3,99,2\n"
LIKED = "user,book\nnew,3\nnew,99\nu3,99\n"


def test_a_model_is_gone_on_from_with_new_ids_and_its_own_settings(model, shop):
    (shop / "more.csv").write_text(MORE)
    invoke("fit", "more.csv", "--start", model, "--out", "more.fmf", "--rounds", "2")
    after = Recommender.load("more.fmf")
    assert (after.settings.l2, after.model.rank, after.settings.rounds) == (0.02, 4, 2)
    assert after.validation == ()  # unless asked for
    best = invoke("recommend", "more.fmf", "--query", "new", "-k", "2")
    assert best.count("Book, the ") == 2
    told = json.loads(invoke("inspect", "more.fmf", "--json"))
    assert (told["queries"]["count"], told["targets"]["count"]) == (41, 61)


@pytest.fixture
def ranker(shop):
    """A model of two classes, with negatives and another solver."""
    options = ["--loss", "logistic", "--negatives", "2", "--solver", "pl2m", "--rank", "3", "--rounds", "2"]
    invoke("fit", "liked.csv", *options, "--out", "ranker.fmf")
    (shop / "more.csv").write_text(LIKED)
    (shop / "more.toml").write_text('[data]\npairs = "more.csv"\n')
    return "ranker.fmf"


@pytest.mark.parametrize("source", ["more.csv", "more.toml"])
def test_a_start_keeps_the_loss_the_negatives_and_the_solver_of_its_model(ranker, source):
    invoke("fit", source, "--start", ranker, "--out", "more.fmf")
    told = json.loads(invoke("inspect", "more.fmf", "--json"))
    assert told["loss"] == "Logistic()"
    assert told["rank"] == 3
    after = Recommender.load("more.fmf")
    assert after.model.loss == losses.Logistic()
    assert (after.settings.negatives, after.settings.solver) == (2, "pl2m")
    assert after.validation == ()


@pytest.mark.parametrize("source", ["more.csv", "more.toml"])
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--loss", "square"], "loss: the model to start from was trained with Logistic()"),
        (["--rank", "4"], "rank: expected 3, as the model to start from has, got 4"),
        (["--tune", "3", "--validate", "0.1"], "leave out tune, or start"),
    ],
)
def test_a_start_refuses_another_loss_another_rank_and_a_search(ranker, shop, source, options, message):
    result = run("fit", source, "--start", ranker, "--out", "more.fmf", *options)
    assert result.exit_code == 1
    assert message in result.output
    assert not (shop / "more.fmf").exists()


def test_a_file_can_refuse_and_give_settings_too(ranker, shop):
    (shop / "more.toml").write_text('[data]\npairs = "more.csv"\n[model]\nloss = "square"\n')
    result = run("fit", "more.toml", "--start", ranker)
    assert result.exit_code == 1
    assert "loss: the model to start from was trained with Logistic()" in result.output
    (shop / "more.toml").write_text(
        '[data]\npairs = "more.csv"\n[model]\nl2 = 0.7\n[recipe]\nvalidate = 0.3\nout = "more.fmf"\n'
    )
    invoke("fit", "more.toml", "--start", ranker)
    after = Recommender.load("more.fmf")
    assert (after.settings.l2, after.settings.negatives) == (0.7, 2)
    assert len(after.validation) > 0


@pytest.fixture
def renamed(shop):
    """A model of a table whose names say nothing: its columns were found by place."""
    ratings = (shop / "ratings.csv").read_text().replace("user,book,rating", "Kunde,Artikel,Note")
    (shop / "bewertungen.csv").write_text(ratings)
    invoke("fit", "bewertungen.csv", "--rank", "2", "--rounds", "2", "--out", "renamed.fmf")
    return "renamed.fmf"


def test_an_update_is_read_by_the_names_of_its_model_in_whatever_order_its_columns_stand(renamed, shop):
    (shop / "more.csv").write_text("Artikel,Note,Kunde\n3,5,new\n99,1,new\n")
    invoke("fit", "more.csv", "--start", renamed, "--rounds", "1", "--out", "more.fmf")
    after = Recommender.load("more.fmf")
    assert "new" in after.encoder.queries.ids.values
    assert 99 in after.encoder.targets.ids.values


def test_an_update_without_the_names_of_its_model_is_refused(renamed, shop):
    (shop / "more.csv").write_text("Artikel,Note,User\n3,5,new\n")
    result = run("fit", "more.csv", "--start", renamed, "--out", "more.fmf")
    assert result.exit_code == 1
    assert "pairs: there is no column 'Kunde' for the query; the columns are ['Artikel', 'Note', 'User']" in (
        result.output
    )
    invoke("fit", "more.csv", "--start", renamed, "--query", "User", "--rounds", "1", "--out", "more.fmf")
    assert "new" in Recommender.load("more.fmf").encoder.queries.ids.values
