"""Files of MovieLens, libsvm and SVDFeature."""

import numpy as np
import pytest

from fmfkit import Problem, fit
from fmfkit.data.loaders import load_movielens, read_libsvm, read_svdfeature
from fmfkit.errors import DataError


def write(folder, **files):
    for name, content in files.items():
        (folder / name.replace("__", ".")).write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


FORMS = {
    "100k": {
        "u__data": "1\t10\t5\t100\n2\t20\t3\t200\n",
        "u__item": (
            "10|Café (1995)|d||u|0|1|" + "|".join("0" * 17) + "\n20|B|d||u|0|0|" + "|".join("0" * 16) + "|1\n"
        ).encode("latin-1"),
        "u__user": "1|24|M|writer|1\n2|53|F|none|2\n",
    },
    "1m": {
        "ratings__dat": "1::10::5::100\n2::20::3::200\n",
        "movies__dat": "10::Café (1995)::Action\n20::B::Western\n".encode("latin-1"),
        "users__dat": "1::M::24::3::1\n2::F::53::4::2\n",
    },
    "10m": {
        "ratings__dat": "1::10::5::100\n2::20::3::200\n",
        "movies__dat": "10::Café (1995)::Action\n20::B::Western\n",
    },
    "25m": {
        "ratings__csv": "userId,movieId,rating,timestamp\n1,10,5.0,100\n2,20,3.0,200\n",
        "movies__csv": "movieId,title,genres\n10,Café (1995),Action\n20,B,Western\n",
    },
}


@pytest.mark.parametrize("form", FORMS)
def test_movielens_is_read_in_all_its_forms(tmp_path, form):
    data = load_movielens(write(tmp_path, **FORMS[form]))
    assert data.y.tolist() == [5, 3]
    assert data.time.tolist() == [100, 200]
    assert data.targets.labels()[:2].to_list() == ["Café (1995)", "B"]
    assert data.targets.table["genres"].to_list() == ["Action", "Western"]
    assert len(data.queries.blocks) == (3 if form in ("100k", "1m") else 0)


def test_libsvm_files_become_a_matrix(tmp_path):
    path = write(tmp_path, a__txt="1 0:2 3:0.5\n-1.5 2:1 # a remark\n\n0\n") / "a.txt"
    X, y = read_libsvm(path)
    assert y.tolist() == [1, -1.5, 0]
    np.testing.assert_array_equal(X.toarray(), [[2, 0, 0, 0.5], [0, 0, 1, 0], [0, 0, 0, 0]])
    assert read_libsvm(path, features=9)[0].shape == (3, 9)


def test_svdfeature_files_become_pairs_of_instances(tmp_path):
    lines = "5 0 2 1 0:1 3:0.5 7:1\n3 0 2 1 0:1 3:0.5 2:1\n1 0 1 1 1:1 7:1\n"
    read = read_svdfeature(write(tmp_path, a__txt=lines) / "a.txt")
    assert read.query.tolist() == [0, 0, 1]
    assert read.target.tolist() == [0, 1, 0]
    np.testing.assert_array_equal(read.X.toarray(), [[1, 0, 0, 0.5], [0, 1, 0, 0]])
    problem = Problem.from_coo(read.query, read.target, read.y, X=read.X, Z=read.Z, rank=2)
    assert fit(problem, rounds=1).P.shape[0] == 4


BAD = {
    "no MovieLens": (lambda t: load_movielens(t), "no MovieLens files"),
    "a short line": (
        lambda t: load_movielens(write(t, ratings__dat="1::2::3\n", movies__dat="1::a::b\n")),
        "line 1 has 3 parts, expected 4",
    ),
    "a rating that is no number": (
        lambda t: load_movielens(write(t, ratings__dat="1::2::x::3\n", movies__dat="2::a::b\n")),
        "ratings: 1 values of 'rating' are no numbers, such as 'x'",
    ),
    "a csv without its columns": (
        lambda t: load_movielens(write(t, ratings__csv="user,film\n1,2\n", movies__csv="movieId,title\n2,b\n")),
        "ratings: there is no column 'movie' for the movie",
    ),
    "no libsvm": (lambda t: read_libsvm(write(t, a="1 x\n") / "a"), "line 1: expected 'y index:value"),
    "an index out of range": (
        lambda t: read_libsvm(write(t, a="1 5:1\n") / "a", features=3),
        "indices run from 5 to 5",
    ),
    "an index below 0": (lambda t: read_libsvm(write(t, a="1 -1:1\n") / "a"), "line 1: expected 'y index:value"),
    "a huge index": (
        lambda t: read_svdfeature(write(t, a="1 0 1 1 0:1 99999999999:1") / "a"),
        "expected index:value, got",
    ),
    "an empty libsvm file": (lambda t: read_libsvm(write(t, a="\n") / "a"), "the file has no lines"),
    "no SVDFeature": (lambda t: read_svdfeature(write(t, a="1 0 2 1 0:1\n") / "a"), "line 1: expected 'y #global"),
    "global features": (lambda t: read_svdfeature(write(t, a="1 1 0 0 0:1\n") / "a"), "1 global features"),
}


@pytest.mark.parametrize("what", BAD)
def test_other_files_are_refused(tmp_path, what):
    call, message = BAD[what]
    with pytest.raises(DataError, match=message):
        call(tmp_path)


def test_a_folder_without_its_movies_is_told(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"u\.item: there is no such file"):
        load_movielens(write(tmp_path, u__data="1\t2\t3\t4\n"))
