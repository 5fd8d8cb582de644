"""fmfkit predict: the ratings of pairs of a file."""

import io

import numpy as np
import polars as pl
from command import invoke, printed, run

from fmfkit.recommend.recommender import Recommender


def test_pairs_of_a_file_are_predicted(model, shop):
    (shop / "ask.csv").write_text("user,book\nu3,7\nu4,9\n")
    lines = printed("predict", model, "ask.csv").splitlines()
    assert lines[0] == "user,book,predicted"
    assert [line.rpartition(",")[0] for line in lines[1:]] == ["u3,7", "u4,9"]
    expected = Recommender.load(model).predict(["u3", "u4"], [7, 9])
    np.testing.assert_allclose([float(line.rpartition(",")[2]) for line in lines[1:]], expected, rtol=1e-6)
    invoke("predict", model, "ask.csv", "--out", "predicted.csv")
    assert (shop / "predicted.csv").read_text().splitlines() == lines


def test_unknown_ids_in_a_file_are_named(model, shop):
    (shop / "ask.csv").write_text("user,book\nu3,7\nnobody,9\n")
    result = run("predict", model, "ask.csv")
    assert result.exit_code == 1
    assert "pairs, queries: 1 ids are not known, such as 'nobody'" in result.output


def test_unknown_ids_are_left_out_or_answered_on_request(model, shop):
    (shop / "ask.csv").write_text("user,book\nu3,7\nnobody,9\nnobody,7\n")
    result = run("predict", model, "ask.csv")
    assert result.output.count("nobody") == 1
    skipped = printed("predict", model, "ask.csv", "--unknown", "skip").splitlines()
    assert [line.rpartition(",")[0] for line in skipped] == ["user,book", "u3,7"]
    every = printed("predict", model, "ask.csv", "--unknown", "features").splitlines()
    assert [line.rpartition(",")[0] for line in every[1:]] == ["u3,7", "nobody,9", "nobody,7"]
    invoke("predict", model, "ask.csv", "--unknown", "skip", "--clip", "--out", "predicted.parquet")
    low, high = Recommender.load(model).range_of_y
    assert pl.read_parquet(shop / "predicted.parquet")["predicted"].is_between(low, high).all()


def test_intervals_are_columns_of_their_own(shop):
    invoke("fit", "ratings.csv", "--rank", "4")
    table = pl.read_csv(io.StringIO(printed("predict", "model.fmf", "ratings.csv", "--interval", "0.9")))
    assert table.columns[-3:] == ["predicted", "low", "high"]
    assert ((table["low"] < table["predicted"]) & (table["predicted"] < table["high"])).all()
    result = run("predict", "model.fmf", "ratings.csv", "--interval", "90")
    assert result.exit_code == 2
