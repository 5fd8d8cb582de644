"""Files that have features instead of ids become data sets."""

import numpy as np
import pytest

from fmfkit import FMF, load_data
from fmfkit.data.formats import load_libsvm, load_svdfeature
from fmfkit.errors import DataError

LIBFM = "5 0:1 3:1\n3 1:1 3:1\n1 2:1 4:1\n2 2:1 3:1\n"
"""Three queries and two targets, one-hot."""
DESCRIBED = "5 0:1 2:0.5 5:1\n3 0:1 2:0.5 6:1\n1 1:1 2:1 5:1\n"
"""Two queries with a feature each, and two targets."""
SVD = "5 0 2 1 0:1 9:0.5 7:1\n3 0 2 1 0:1 9:0.5 2:1\n1 0 2 1 1:1 9:1 7:1\n"


def write(path, text):
    path.write_text(text)
    return path


def test_one_hot_columns_of_libfm_become_ids(tmp_path):
    data = load_libsvm(write(tmp_path / "a.libfm", LIBFM))
    assert data.queries.ids.at(data.query) == [0, 1, 2, 2]
    assert data.targets.ids.at(data.target) == [0, 0, 1, 0]  # counted from the first column of targets
    assert data.y.tolist() == [5, 3, 1, 2]
    assert data.queries.blocks == data.targets.blocks == ()


@pytest.mark.parametrize(
    ("load", "text", "target"),
    [(lambda path: load_libsvm(path, queries=5), DESCRIBED, [0, 1, 0]), (load_svdfeature, SVD, [7, 2, 7])],
)
def test_further_columns_become_features(tmp_path, load, text, target):
    data = load(write(tmp_path / "a", text))
    assert data.queries.ids.at(data.query) == [0, 0, 1]
    assert data.targets.ids.at(data.target) == target
    features = data.queries.matrices["features"].toarray()
    np.testing.assert_array_equal(features, [[0.5], [1]])
    assert data.queries.learnt[0].features == (("2",) if text == DESCRIBED else ("9",))
    FMF(rank=2, rounds=1).fit(data)


def test_instances_without_a_feature_of_their_own_are_numbered(tmp_path):
    data = load_svdfeature(write(tmp_path / "a", "5 0 2 1 0:1 1:1 0:1\n4 0 1 1 0:1 1:1\n3 0 1 1 1:1 0:1\n"))
    assert data.queries.ids.at(data.query) == [0, 1, 2]
    assert data.queries.matrices["features"].toarray().tolist() == [[1, 1], [1, 0], [0, 1]]


def test_loaders_have_names_and_options(tmp_path):
    path = write(tmp_path / "a", DESCRIBED)
    assert load_data(path, "libsvm:queries=5").shape == (2, 2)
    assert load_data(write(tmp_path / "b", SVD), "svdfeature").shape == (2, 2)
    twice = write(tmp_path / "c", LIBFM + "4 0:1 3:1\n")
    with pytest.raises(DataError, match="1 rows repeat a pair"):
        load_data(twice, "libsvm")
    assert load_data(twice, "libsvm:duplicates=last").y.tolist() == [3, 1, 2, 4]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("", r"which columns describe queries, and which targets\?.*--loader libsvm:queries=943"),
        (":queries=7", "queries=7, expected 1 to 6: the file has 7 columns"),
        (":queries=-1", "queries=-1, expected 1 to 6"),
    ],
)
def test_files_whose_columns_cannot_be_told_apart_are_refused(tmp_path, options, message):
    with pytest.raises(ValueError, match=message):
        load_data(write(tmp_path / "a", DESCRIBED), f"libsvm{options}")
