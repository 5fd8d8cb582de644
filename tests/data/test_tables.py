"""Tables come from files, frames and mappings; what is no table is refused."""

import gzip
import io
import os
import threading

import numpy as np
import polars as pl
import pytest
from bookshop import PAIRS

from fmfkit.data import (
    Dataset,
    read_table,
)
from fmfkit.errors import DataError


@pytest.mark.parametrize("form", ["csv", "tsv", "parquet", "arrow", "csv.gz", "pandas", "pyarrow", "polars", "lazy"])
def test_tables_come_from_everywhere(tmp_path, form):
    frame = pl.DataFrame(PAIRS)
    path = tmp_path / f"pairs.{form}"
    if form in ("csv", "csv.gz"):
        import gzip

        text = frame.write_csv().encode()
        path.write_bytes(gzip.compress(text) if form.endswith("gz") else text)
    elif form == "tsv":
        frame.write_csv(path, separator="\t")
    elif form == "parquet":
        frame.write_parquet(path)
    elif form == "arrow":
        frame.write_ipc(path)
    source = path
    if form == "pandas":
        source = pytest.importorskip("pandas").DataFrame(PAIRS)
    elif form == "pyarrow":
        source = pytest.importorskip("pyarrow").table(PAIRS)
    elif form in ("polars", "lazy"):
        source = frame if form == "polars" else frame.lazy()
    assert read_table(source).equals(frame)


def test_numbers_of_several_kinds_and_pandas_missing_values_are_taken():
    pd = pytest.importorskip("pandas")
    assert read_table({"rating": [4, 3.5, 5]})["rating"].to_list() == [4, 3.5, 5]
    table = pd.DataFrame({"item": [1, 2, 3], "g": pd.array(["a", None, "b"], dtype="string")})
    assert read_table(table)["g"].to_list() == ["a", None, "b"]


BAD = {
    "an empty file": (("e.csv", b""), "the file is empty"),
    "a file with a header only": (("h.csv", b"user,item\n"), "no rows"),
    "an unknown kind of file": (("x.docx", b"x"), "expected a file called .csv"),
}


@pytest.mark.parametrize("what", BAD)
def test_files_that_are_no_tables_are_refused_by_their_path(tmp_path, what):
    (name, content), message = BAD[what]
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match=f"{name}: .*{message}"):
        read_table(tmp_path / name)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"user": [1, 2], "item": [1]}, "pairs: columns differ in length"),
        ({"user": [1, "a"]}, r"column 'user' mixes values of kinds \['int', 'str'\]"),
        ({"user": np.ones((2, 2))}, r"column 'user' is not flat: its shape is \(2, 2\)"),
        ({"user": []}, "pairs: the table has no rows"),
    ],
)
def test_columns_that_make_no_table_are_refused_by_name(columns, message):
    with pytest.raises(DataError, match=message):
        read_table(columns, "pairs")


def test_other_objects_and_missing_files_are_refused(tmp_path):
    with pytest.raises(TypeError, match="pairs: expected a path, a polars or pandas frame"):
        read_table(42, "pairs")
    with pytest.raises(FileNotFoundError, match="there is no such file"):
        read_table(tmp_path / "nowhere.csv")


@pytest.mark.parametrize("values", [["a", "\ud800"], np.array(["a", "\ud800"])])
def test_half_a_character_is_no_text(values):
    with pytest.raises(DataError, match="column 'user' holds values that make no column"):
        Dataset.of({"user": values, "item": [1, 2]})


def test_a_damaged_archive_is_told(tmp_path):
    (tmp_path / "pairs.csv.gz").write_bytes(gzip.compress(b"user,item,rating\n1,2,3\n" * 50)[:-20])
    with pytest.raises(DataError, match=r"pairs\.csv\.gz: (could not be read|the table has no rows)"):
        Dataset.of(tmp_path / "pairs.csv.gz")


def test_a_column_may_have_no_name(tmp_path):
    (tmp_path / "pairs.csv").write_text(",item,rating\n1,2,3\n2,3,4\n")
    assert Dataset.of(tmp_path / "pairs.csv").columns["query"] == ""


@pytest.mark.parametrize("kind", ["csv", "parquet", "arrow"])
def test_a_pipe_is_read_by_what_it_holds(tmp_path, kind):
    frame, pipe, content = pl.DataFrame({"user": [1, 2], "item": [3, 4]}), tmp_path / "pipe", io.BytesIO()
    {"csv": frame.write_csv, "parquet": frame.write_parquet, "arrow": frame.write_ipc}[kind](content)
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(content.getvalue(),))
    writer.start()
    assert read_table(pipe).equals(frame)
    writer.join()


def test_an_empty_pipe_and_a_folder_are_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=(tmp_path / "pipe").write_bytes, args=(b"",))
    writer.start()
    with pytest.raises(DataError, match="pipe: the file is empty"):
        read_table(tmp_path / "pipe")
    writer.join()
    with pytest.raises(DataError, match=r"it is a folder, expected a file; .*--loader movielens"):
        read_table(tmp_path)


@pytest.mark.parametrize(
    "content", ["user,age\n0405,12\n77,\n", "user;age\n0405;12\n77;\n", "user,age\n0405,12\n\n77,1\n"]
)
def test_columns_stay_as_they_are_written_where_that_is_asked_for(tmp_path, content):
    path = tmp_path / "t.csv"
    path.write_text(content)
    found = read_table(path, text=["user", "other"])
    assert found["user"].to_list() == ["0405", "77"]
    assert found["age"].dtype == pl.Int64
