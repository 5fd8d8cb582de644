"""fmfkit export: vectors for other systems."""

import numpy as np
import polars as pl
from command import invoke, run

from fmfkit.recommend.recommender import Recommender


def test_vectors_are_written_to_a_folder(model, shop):
    assert invoke("export", model, "--out", "vectors").split() == [
        "vectors/queries.parquet",
        "vectors/targets.parquet",
        "vectors/about.json",
    ]
    assert pl.read_parquet(shop / "vectors" / "targets.parquet").height == Recommender.load(model).model.Z.rows
    invoke("export", model, "--to", "npy", "--out", "vectors")
    assert np.load(shop / "vectors" / "queries.npy").shape == (40, 6)


def test_a_file_is_no_folder(model, shop):
    result = run("export", model, "--out", "ratings.csv")
    assert result.exit_code == 2
    assert "is a file" in result.output
