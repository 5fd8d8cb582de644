"""fmfkit recommend: the best targets, by name."""

import json

import numpy as np
import pytest
from command import invoke, run

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


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["recommend", "books.csv"], "not a model file"),
        (["recommend", "model.fmf", "--query", "nobody"], "queries: 1 ids are not known, such as 'nobody'"),
    ],
)
def test_mistakes_are_told_in_a_line_with_exit_code_1(model, arguments, message):
    result = run(*arguments)
    assert result.exit_code == 1
    assert message in result.output
    assert "Traceback" not in result.output
