"""fmfkit demo: features help."""

import re

import polars as pl
from command import invoke, run

from fmfkit.data import Dataset


def test_demo_shows_that_features_help_on_known_and_most_on_new_books():
    output = invoke("demo", "--rounds", "12")
    rows = {line[:24].strip(): [float(x) for x in re.findall(r"\d+\.\d+", line)] for line in output.splitlines()[-3:]}
    mean, plain, featured = rows["mean rating"], rows["plain MF, ids only"], rows["FMF, ids and features"]
    assert featured[0] < plain[0] < mean[0]
    assert featured[1] < 0.9 * plain[1]
    assert "round 12/12" in output


def test_demo_writes_files_to_play_with_that_fit_reads_as_they_are(tmp_path):
    folder = tmp_path / "to play" / "with"
    said = invoke("demo", "--write", str(folder))
    assert f"cd '{folder}'" in said
    assert "fmfkit fit ratings.csv --queries readers.csv --targets books.csv" in said
    data = Dataset.of(folder / "ratings.csv", queries=folder / "readers.csv", targets=folder / "books.csv")
    assert data.shape == (3000, 1500)
    assert (data.queries.blocks[0].title, data.targets.blocks[0].title, data.targets.label) == (
        "interests",
        "tags",
        "title",
    )
    assert set(data.y) == set(pl.Series([2, 3, 4, 5, 6, 7, 8, 9, 10]) / 2)
    again = run("demo", "--write", str(folder))
    assert again.exit_code == 1
    assert "ratings.csv: there is such a file already; choose another folder" in again.output
