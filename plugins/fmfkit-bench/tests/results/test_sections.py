import json

import pytest
from fmfkit_bench.results import sections


def test_what_is_written_is_read_again(results, tmp_path):
    sections.write(results, tmp_path / "a.json")
    assert sections.read(tmp_path / "a.json") == results


def test_other_files_are_refused_with_what_was_expected(tmp_path):
    (tmp_path / "a.json").write_text(json.dumps({"title": 1}))
    with pytest.raises(ValueError, match=r"a\.json: expected results that a benchmark wrote"):
        sections.read(tmp_path / "a.json")


def test_about_describes_the_machine():
    about = sections.about("a command", rank=4)
    assert about["command"] == "a command"
    assert about["rank"] == 4
    assert about["cores"] >= 1


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "-"), (True, "yes"), (0.00012345, "0.0001234"), (12345.6, "12,346"), (1234, "1,234"), ("a", "a")],
)
def test_cells_are_shown_with_four_digits_that_count(value, text):
    assert sections.as_text(value) == text
