"""HTML that is written by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pages import Page

from fmfkit.report.html import Html, escaped, name_of, number, table, tag


@given(text=st.text(), attribute=st.text())
def test_any_text_is_shown_as_it_is_and_makes_no_element(text, attribute):
    page = Page(tag("p", text, title=attribute))
    assert [name for name, _ in page.elements] == ["p"]
    if text.isprintable() and attribute.isprintable():
        assert page.text == text
        assert page.elements[0][1]["title"] == attribute


def test_what_is_html_already_is_left_as_it_is():
    assert tag("p", tag("b", "<"), [" & ", None, 3]) == "<p><b>&lt;</b> &amp; 3</p>"
    assert isinstance(tag("p"), Html)
    assert escaped(["a", Html("<br>")]) == "a<br>"


def test_attributes_are_named_as_html_names_them():
    made = tag("input", class_="a", aria_label='"', name="n", checked=True, hidden=None, disabled=False)
    assert made == '<input class="a" aria-label="&quot;" name="n" checked>'


def test_titles_keep_their_direction_to_themselves():
    assert name_of("\u202eevil") == "<bdi>\u202eevil</bdi>"


def test_a_table_has_a_caption_and_names_its_rows():
    page = Page(table("Numbers", ("", "value"), [("one", 1), ("two", "<2>")]))
    assert [a["scope"] for a in page.all("th")] == ["col", "col", "row", "row"]
    assert "<2>" in page.text
    assert page.elements[0][1]["aria-label"] == "Numbers"


@pytest.mark.parametrize(
    ("value", "told"), [(3.0, "3"), (12345, "12,345"), (0.123456, "0.1235"), (float("nan"), "unknown"), (1e-7, "1e-07")]
)
def test_numbers_are_for_people(value, told):
    assert number(value) == told
