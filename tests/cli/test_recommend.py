"""fmfkit recommend: the best targets, by name."""

import json
import weakref

import numpy as np
import polars as pl
import pytest
from command import invoke, run

from fmfkit.cli import recommend
from fmfkit.recommend.recommender import Recommender


def test_recommendations_are_shown_by_title(model):
    best = invoke("recommend", model, "--query", "u3", "-k", "3")
    assert best.startswith("u3\n")
    assert best.count("Book, the ") == 3


def test_recommendations_are_printed_as_json_and_written_to_a_file(model, shop):
    told = [json.loads(line) for line in invoke("recommend", model, "--query", "u3", "-k", "3", "--json").splitlines()]
    assert [row["rank"] for row in told] == [1, 2, 3]
    assert {row["query"] for row in told} == {"u3"}
    invoke("recommend", model, "--all", "--out", "best.csv")
    assert len((shop / "best.csv").read_text().splitlines()) == 1 + 40 * 10


def test_training_pairs_are_left_out_unless_asked_for(model):
    known = {row[1] for row in np.argwhere(Recommender.load(model).seen.toarray()[[0]])}
    query = Recommender.load(model).encoder.queries.ids.at([0])[0]
    shown = {
        seen: [
            json.loads(line)["target"]
            for line in invoke("recommend", model, "--query", query, "-k", "60", "--json", *seen).splitlines()
        ]
        for seen in ((), ("--seen",))
    }
    assert len(shown[("--seen",)]) == 60
    assert len(shown[()]) == 60 - len(known)


def test_new_queries_are_described_by_a_table(shop):
    lines = ["user,country", *(f"u{n},{'no' if n % 2 else 'it'}" for n in range(40))]
    (shop / "users.csv").write_text("\n".join(lines))
    invoke("fit", "ratings.csv", "--queries", "users.csv", "--rank", "2", "--rounds", "2")
    (shop / "new.csv").write_text("user,country\nsomebody,no\n")
    assert invoke("recommend", "model.fmf", "--new", "new.csv", "-k", "2").startswith("somebody\n")


@pytest.mark.parametrize("batch", [7, 40, 1000])
def test_all_queries_are_answered_in_batches_and_written_as_one_file(model, shop, monkeypatch, batch):
    monkeypatch.setattr(recommend, "BATCH", batch)
    whole = Recommender.load(model).recommend(k=3)
    for name, read in (("top.parquet", pl.read_parquet), ("top.csv", pl.read_csv)):
        (shop / name).write_text("what was there")
        invoke("recommend", model, "--all", "-k", "3", "--out", name)
        assert read(shop / name).equals(whole)
    assert not list(shop.glob(".fmfkit-*"))
    assert invoke("recommend", model, "--all", "-k", "3", "--json") == whole.write_ndjson()


def test_one_batch_is_held_while_the_next_is_answered(model, monkeypatch):
    held = []

    def answer(self, *args, **options):
        assert sum(one() is not None for one in held) <= 1
        frame = pl.DataFrame({"query": ["u1"], "rank": [1], "target": [2], "label": ["a"], "score": [0.5]})
        held.append(weakref.ref(frame))
        return frame

    monkeypatch.setattr(recommend, "BATCH", 7)
    monkeypatch.setattr(Recommender, "recommend", answer)
    for name in ("top.parquet", "top.csv"):
        held.clear()
        invoke("recommend", model, "--all", "--out", name)
        assert len(held) == 6


def rows(*arguments):
    return [json.loads(line) for line in invoke("recommend", *arguments, "--json").splitlines()]


def test_targets_are_chosen_by_ids_and_attributes(model):
    asked = rows(model, "--query", "u3", "--target", "3", "--target", "4", "--exclude", "4", "--seen")
    assert [row["target"] for row in asked] == [3]
    genres = Recommender.load(model).attributes["genres"].to_list()
    ids = Recommender.load(model).encoder.targets.ids
    old = rows(model, "--query", "u3", "-k", "60", "--where", "genres=old", "--where", "genres!=sea", "--seen")
    assert {row["target"] for row in old} == {
        ids.at([n])[0] for n, held in enumerate(genres) if "old" in held and "sea" not in held
    }


def test_pairs_that_came_after_training_are_taken_into_account(model, shop):
    (shop / "day.csv").write_text("user,book,rating\nu3,7,5\nnew,8,5\n")
    known = rows(model, "--query", "u3", "--pairs", "day.csv", "-k", "60")
    assert 7 not in {row["target"] for row in known}
    assert known != rows(model, "--query", "u3", "-k", "60")
    both = rows(model, "--pairs", "day.csv", "-k", "2")
    assert [row["query"] for row in both] == ["u3", "u3", "new", "new"]


def test_new_targets_and_unknown_queries_are_answered(model, shop):
    (shop / "more.csv").write_text("book,title,genres\n900,Brand new,sea\n")
    best = invoke("recommend", model, "--query", "u3", "--new-targets", "more.csv", "--target", "900")
    assert "Brand new  (900)" in best
    assert rows(model, "--query", "u3", "--query", "nobody", "--unknown", "skip", "-k", "1")[0]["query"] == "u3"
    assert rows(model, "--query", "nobody", "--unknown", "features", "-k", "1")[0]["query"] == "nobody"


@pytest.mark.parametrize("arguments", [(), ("--all", "--query", "u3"), ("--new", "books.csv", "--all")])
def test_whom_to_recommend_to_must_be_said(model, arguments):
    result = run("recommend", model, *arguments)
    assert result.exit_code == 2
    assert "whom to recommend to" in result.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["recommend", "books.csv", "--all"], "not a model file"),
        (["recommend", "model.fmf", "--all", "--out", "no/where.csv"], "there is no folder to write it to"),
        (["recommend", "model.fmf", "--query", "nobody"], "queries: 1 ids are not known, such as 'nobody'"),
    ],
)
def test_mistakes_are_told_in_a_line_with_exit_code_1(model, arguments, message):
    result = run(*arguments)
    assert result.exit_code == 1
    assert message in result.output
    assert "Traceback" not in result.output
