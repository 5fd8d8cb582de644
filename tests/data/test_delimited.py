"""Text tables as people export them are read, and what was recognised or is wrong is said."""

import gzip
import warnings

import pytest

from fmfkit.data import Dataset, read_table
from fmfkit.errors import DataError

MESSY = """Kunde;Titel;Bewertung
5;"Der ""gute"" Mensch; oder nicht";4,5
6;Käse
7;Öl;3
8;Für, alle;x;y

9;"zwei
Zeilen";2,5
"""
ALIKE = ["1,5,3.5\n2,6,4\n", "u1,b1\nu2,b1\n", "7,2020-01-01\n8,2021-01-01\n", "3,x\n4,y\n", "1,2\n"]
"""Without a header: the kinds below are those of the first line, or its values recur."""


def write(path, text, encoding="utf-8"):
    path.write_bytes(text.encode(encoding))
    return path


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
@pytest.mark.filterwarnings("ignore:.*Windows-1252")
def test_a_messy_export_is_read_without_its_bad_rows_which_are_listed_by_line(tmp_path, encoding, packed):
    path = write(tmp_path / "export.csv", MESSY, encoding)
    if packed:
        path = tmp_path / "export.csv.gz"
        path.write_bytes(gzip.compress(MESSY.encode(encoding)))
    told = r"2 of 5 rows do not have 3 fields as the first line does: lines 3 \(2 fields\), 5 \(4 fields\)"
    with pytest.raises(DataError, match=told + "; mend them, or leave them out: bad_rows='skip', or --bad-rows skip"):
        read_table(path)
    with pytest.warns(UserWarning, match=told + "; they are left out"):
        frame = read_table(path, bad_rows="skip")
    assert frame.to_dict(as_series=False) == {
        "Kunde": [5, 7, 9],
        "Titel": ['Der "gute" Mensch; oder nicht', "Öl", "zwei\nZeilen"],
        "Bewertung": [4.5, 3, 2.5],
    }


def test_another_encoding_than_utf_8_is_said_with_its_line(tmp_path):
    path = write(tmp_path / "l.csv", "user,item\nann,1\nJosé,2\n", "latin-1")
    with pytest.warns(UserWarning, match=r"l\.csv: it is not UTF-8 \(line 3\), so it is read as Windows-1252"):
        assert read_table(path)["user"].to_list() == ["ann", "José"]
    path.write_bytes(b"user,item\nann,1\n\x81,2\n")  # Windows-1252 has no such letter
    with pytest.warns(UserWarning, match="not UTF-8"):
        assert read_table(path)["user"].to_list() == ["ann", "\x81"]


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("ending", ["csv", "tsv", "txt"])
def test_the_separator_is_recognised_whatever_the_file_is_called(tmp_path, separator, ending):
    rows = [["user", "item", "rating"], ["1", "2", "3.5"], ["2", "2", "4"]]
    path = write(tmp_path / f"a.{ending}", "\n".join(separator.join(row) for row in rows))
    assert read_table(path).to_dict(as_series=False) == {"user": [1, 2], "item": [2, 2], "rating": [3.5, 4]}


@pytest.mark.parametrize(
    "text", ["item;user\n00042;ann\n10001;bob\n", "item;user\n00042;José\n10001;bob\n", "00042;ann\n10001;ann\n"]
)
def test_codes_that_lose_their_zeros_as_numbers_are_said(tmp_path, text):
    path = tmp_path / "a.csv"
    path.write_bytes(text.encode("latin-1"))
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        assert read_table(path).to_series(0).to_list() == [42, 10001]
    column = "item" if "item" in text else "column_1"
    told = [str(one.message) for one in said if "begin with 0" in str(one.message)]
    assert told == [
        f"{path}: digits that begin with 0 are read as numbers, without their zeros: {column!r} (such as 00042); to "
        "keep them, give a frame with text instead of the file"
    ]


@pytest.mark.parametrize("text", ALIKE)
def test_a_first_line_that_looks_like_data_is_data_and_it_is_said(tmp_path, text):
    path = write(tmp_path / "a.csv", text)
    with pytest.warns(UserWarning, match=r"a\.csv: its first line looks like data, .* columns are called column_1"):
        frame = read_table(path)
    assert frame.height == text.count("\n")
    assert frame.columns[:2] == ["column_1", "column_2"]


def test_pairs_without_a_header_keep_their_first_row(tmp_path):
    path = write(tmp_path / "u.csv", "196\t242\t3\t881250949\n186\t302\t3\t891717742\n22\t377\t1\t878887116\n")
    with pytest.warns(UserWarning, match="its first line looks like data"):
        data = Dataset.of(path, time="column_4")
    assert data.y.tolist() == [3, 3, 1]
    assert data.queries.ids.at([0, 1, 2]) == [196, 186, 22]
    assert data.time.tolist() == [881250949, 891717742, 878887116]


def test_bad_values_are_listed_by_the_lines_of_the_file(tmp_path):
    path = write(tmp_path / "a.csv", 'user,item,rating\n1,"two\nlines",3\n2,b,bad\n\n3,c,4\n,d,5\n')
    with pytest.raises(DataError, match=r"1 of 4 values of 'user', the query, are missing: line 7; mend them"):
        Dataset.of(path)
    with pytest.warns(UserWarning, match="line") as told:
        data = Dataset.of(path, bad_rows="skip")
    assert ["line 7;" in str(one.message) or "line 4 ('bad');" in str(one.message) for one in told] == [True, True]
    assert data.y.tolist() == [3, 4]


def test_short_rows_are_not_filled_up_in_silence_but_missing_values_are_fine(tmp_path):
    path = write(tmp_path / "a.csv", "book,genre\n1,a\n2,\n3,b\n")
    assert read_table(path)["genre"].to_list() == ["a", None, "b"]
    path = write(tmp_path / "b.csv", "book,genre\n1,a\n2\n3,b\n")
    with pytest.raises(DataError, match=r"1 of 3 rows do not have 2 fields .*: line 3 \(1 fields\)"):
        read_table(path)


def test_a_value_of_another_kind_far_below_makes_a_column_of_text(tmp_path):
    path = write(tmp_path / "a.csv", "item,x,flag\n" + "1,2,true\n" * 12_000 + "a,2.5,false\n")
    frame = read_table(path)
    assert [str(kind) for kind in frame.dtypes] == ["String", "Float64", "Boolean"]
    assert frame.row(-1) == ("a", 2.5, False)


def test_many_bad_rows_are_listed_in_part(tmp_path):
    path = write(tmp_path / "a.csv", "user,item\n" + "1,2\n" * 50 + "1\n" * 12)
    with pytest.raises(DataError, match=r"12 of 62 rows .*, 61 \(1 fields\) and 2 more; mend"):
        read_table(path)


def test_a_quote_that_is_never_closed_is_told_by_its_line(tmp_path):
    path = write(tmp_path / "a.csv", 'user,item\n1,2\n3,"4\n' + "5,6\n" * 40_000)
    with pytest.raises(DataError, match=r"line 3 could not be read .*; is a quote never closed"):
        read_table(path)


def test_columns_called_alike_get_numbers(tmp_path):
    text = "user, item,item\n1,2,3\n2,2,3\n"
    quick = read_table(write(tmp_path / "a.csv", text))
    slow = read_table(write(tmp_path / "b.csv", text, "utf-16"))
    assert quick.columns == slow.columns
    assert len(set(quick.columns)) == 3
    assert quick.columns[:2] == ["user", "item"]


ABOVE = {
    "a title": ("Bericht: Noten, erstellt am 3.1.2017\n\n", 3),
    "a title in as many fields": ("Bericht;;\n", 2),
    "two lines": ("Bericht\nStand: heute\n", 3),
}


@pytest.mark.parametrize("ending", ["", "José;7;2,5\n"])
@pytest.mark.parametrize("above", ABOVE)
def test_lines_above_the_header_are_passed_over_and_it_is_said(tmp_path, above, ending):
    text, line = ABOVE[above]
    rows = "".join(f"{n};{n % 7};{n % 5},5\n" for n in range(50)) + ending
    path = write(tmp_path / "a.csv", text + "Kunde;Artikel;Note\n" + rows, "latin-1")
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        frame = read_table(path)
    assert frame.columns == ["Kunde", "Artikel", "Note"]
    assert frame["Note"][:3].to_list() == [0.5, 1.5, 2.5]
    assert any(f"the table is taken to begin at line {line}; what stands above" in str(one.message) for one in said)


@pytest.mark.parametrize("said", ["sep=;", "SEP=;\r", '"sep=;"'])
def test_a_line_by_which_excel_says_what_separates_fields_is_taken_at_its_word(tmp_path, said):
    path = write(tmp_path / "a.csv", f"{said}\nKunde;Note\n1;2,5\n2;3,5\n")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read_table(path).to_dict(as_series=False) == {"Kunde": [1, 2], "Note": [2.5, 3.5]}


def test_bad_rows_below_a_title_are_named_by_their_lines_in_the_file(tmp_path):
    rows = "".join(f"{n};{n % 7};{n % 5},5\n" for n in range(50))
    path = write(tmp_path / "a.csv", f"Bericht\n\nKunde;Artikel;Note\n{rows}7;x\n")
    with pytest.warns(UserWarning, match="begin at line 3"), pytest.raises(DataError, match=r"line 54 \(2 fields\)"):
        read_table(path)


@pytest.mark.parametrize("bad_rows", ["error", "skip"])
def test_a_first_line_that_no_row_agrees_with_is_named_as_the_odd_one(tmp_path, bad_rows):
    path = write(tmp_path / "a.csv", "user,item\n" + "".join(f"{n},{n % 7},{n % 5}\n" for n in range(50)))
    with pytest.raises(DataError, match=r"line 1, the first, has 2 fields, but 50 of the 50 rows below it have 3"):
        read_table(path, bad_rows=bad_rows)
