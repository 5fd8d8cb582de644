"""Files of all kinds on the command line: untidy ones, pipes, and those that loaders read."""

import os
from pathlib import Path

import pytest
from bookshop import write_files
from command import invoke, run


@pytest.fixture(autouse=True)
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_files(tmp_path)
    lines = (tmp_path / "ratings.csv").read_text().replace(",", ";").replace(".", ",").split("\n")
    (tmp_path / "export.csv").write_text("\n".join([*lines[:9], "u1;2", *lines[9:], ""]))
    rows = "".join(f"{(n * 7) % 5 + 1} {n % 12}:1 {12 + n % 11}:1\n" for n in range(60))
    (tmp_path / "a.libfm").write_text(rows)


def fit(*arguments):
    return run("fit", *arguments, "--rounds", "1", "--validate", "0", "--rank", "2", "--l2", "0.1")


def test_bad_rows_are_left_out_if_asked_for_and_it_is_said():
    refused = fit("export.csv")
    assert refused.exit_code == 1
    assert "Error: export.csv: 1 of 1,201 rows do not have 3 fields" in refused.output
    assert "line 10 (2 fields)" in refused.output
    taken = fit("export.csv", "--bad-rows", "skip", "--targets", "books.csv")
    assert taken.exit_code == 0
    assert "warning: export.csv: 1 of 1,201 rows" in taken.output
    assert "1200 pairs of 40 queries" in taken.output


def test_toml_files_say_what_becomes_of_bad_rows():
    with open("fit.toml", "w") as file:
        file.write('[data]\npairs = "export.csv"\nbad_rows = "skip"\n')
    assert fit("fit.toml").exit_code == 0
    with open("fit.toml", "w") as file:
        file.write('[data]\npairs = "export.csv"\nbad_rows = "drop"\n')
    assert "drop is none of ['error', 'skip'] @ config.data.bad_rows" in fit("fit.toml").output


def test_loaders_of_files_with_features_are_known_by_name():
    done = fit("a.libfm", "--loader", "libsvm:duplicates=last")
    assert done.exit_code == 0, done.output
    assert "60 pairs of 12 queries (0 without pairs) and 11 targets" in done.output
    refused = fit("ratings.csv", "--loader", "libsvm")
    assert "line 1: expected 'y index:value ...', got 'user,book,rating'" in refused.output


def test_a_pipe_is_read_as_a_shell_gives_it():
    reading, writing = os.pipe()
    os.write(writing, b"user,item,rating\n1,2,3\n2,2,4\n2,3,5\n")
    os.close(writing)
    done = fit(f"/dev/fd/{reading}")
    os.close(reading)
    assert "3 pairs of 2 queries" in done.output
    assert done.exit_code == 0


def test_the_column_that_answers_show_can_be_named():
    lines = Path("books.csv").read_text().replace("title", "Titel", 1)
    Path("buecher.csv").write_text(lines)
    said = fit("ratings.csv", "--targets", "buecher.csv", "--rank", "2", "--rounds", "1")
    assert "answers show ids: --label Titel, or label=, names the column" in said.output
    invoke("fit", "ratings.csv", "--targets", "buecher.csv", "--label", "Titel", "--rank", "2", "--rounds", "1")
    assert "Book, the " in invoke("recommend", "model.fmf", "--query", "u3")
    Path("fit.toml").write_text('[data]\npairs = "ratings.csv"\n[data.targets]\ntable = "buecher.csv"\n')
    invoke("fit", "fit.toml", "--label", "Titel", "--rank", "2", "--rounds", "1")
    assert "Book, the " in invoke("recommend", "model.fmf", "--query", "u3")
    assert "there is no table of targets to take the label" in fit("ratings.csv", "--label", "Titel").output
