"""Data by the names of loaders."""

import json

import pytest
from fake_plugins import plugin, registry

from fmfkit import Dataset, Spec, load_data
from fmfkit.errors import DataError, UnknownNameError
from fmfkit.recommend import loading


def lines(path, *, start: int = 0):
    """Read a table of pairs from lines of JSON, as a plugin's loader."""
    with open(path) as file:
        rows = [json.loads(line) for line in file][start:]
    return {name: [row[name] for row in rows] for name in rows[0]}


def whole(path):
    return Dataset.of(lines(path), query="user")


@pytest.fixture
def file(tmp_path, monkeypatch):
    mine = registry(mine=plugin(fmfkit_loaders=[Spec("lines", lines), Spec("whole", whole)]))
    monkeypatch.setattr(loading, "get_registry", lambda: mine)
    rows = [{"user": u, "item": i, "stars": u + i, "old": 1.0} for u in range(4) for i in range(3)]
    path = tmp_path / "pairs.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


def test_a_loader_s_table_becomes_a_data_set_with_the_options_of_one(file):
    assert len(load_data(file, "lines")) == 12
    assert len(load_data(str(file), "mine:lines:start=3")) == 9
    assert load_data(file, "lines", rating="old").y.tolist() == [1.0] * 12


def test_a_loader_s_data_set_is_taken_as_it_is(file):
    assert len(load_data(file, "whole")) == 12
    with pytest.raises(ValueError, match="rating: the loader 'whole' returns a whole data set; leave them out"):
        load_data(file, "whole", rating="old")


def test_loaders_and_options_that_do_not_exist_are_told(file):
    with pytest.raises(UnknownNameError, match="no loader is called 'linse'; did you mean 'lines'"):
        load_data(file, "linse")
    with pytest.raises(ValueError, match=r"loader 'lines': there is no option 'begin'; it has \['start'\]"):
        load_data(file, "lines:begin=3")
    with pytest.raises(ValueError, match="loader 'lines': start must be of type int, got 'x'"):
        load_data(file, "lines:start=x")


def test_movielens_is_built_in(tmp_path):
    with pytest.raises(DataError, match="no MovieLens files"):
        load_data(tmp_path, "movielens")
    (tmp_path / "ratings.csv").write_text("userId,movieId,rating,timestamp\n1,10,4.0,5\n2,10,3.0,6\n")
    (tmp_path / "movies.csv").write_text("movieId,title,genres\n10,Heat,Crime|Drama\n")
    assert len(load_data(tmp_path, "movielens")) == 2
    assert load_data(tmp_path, "movielens:history=true").history
