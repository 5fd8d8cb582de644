"""How a text file writes a table is recognised from how it begins."""

import pytest

from fmfkit.data.forms import recognise

NAMED = [
    "a,b\n1,2\n",
    "user,item\nann,emma\nbob,emma\n",
    ",0,1\nx,3,4\n",
    "id,2019,2020\n7,3,4\n",
    "who,1\n2,3\n",
    "x\n",
]


def test_separators_within_text_do_not_count():
    assert recognise("book,genres\n1,a|b\n2,c|d\n3,a|d\n", ",").separator == ","
    assert recognise("id;title\n1;a, b\n2;c, d\n", ",").separator == ";"
    assert recognise("word\nsea\nland\n", "\t").separator == "\t"
    assert recognise("reader,interests\n1,sea|war|love\n2,farm|city|town\n", ",").first_line == 1
    assert recognise("id;author\n1;King, Stephen\n2;Gaunt, J.\n", ",").separator == ";"
    assert recognise("Report\nid;mark\n1;2,5\n2;3,5\n3;4,5\n", ",").first_line == 2


def test_commas_are_decimal_only_where_no_point_is():
    assert recognise("a;b\n1,5;2\n", ";").decimal_comma
    assert not recognise("a;b\n1,5;2.5\n", ";").decimal_comma
    assert not recognise("a,b\n1,5\n", ",").decimal_comma


@pytest.mark.parametrize("column", ["0\n1", "0\n10", "00\n1", "0.5\n1.5", "0a\n01", "10\n20"])
def test_numbers_and_text_are_no_codes(column):
    cells = "\n".join(f"{cell};x" for cell in column.split("\n"))
    assert not recognise(f"a;b\n{cells}\n", ";").codes


@pytest.mark.parametrize("text", NAMED)
def test_a_first_line_of_names_is_a_header(text):
    assert recognise(text, ",").header
