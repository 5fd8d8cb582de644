import json

import pytest
from click.testing import CliRunner
from fmfkit_bench import pages, sections
from fmfkit_bench.sections import Claim, Results, Section, Table

from fmfkit.cli import main

TABLE = Table("Errors", ["system", "RMSE", "agree"], [["a|b <i>", 0.812345, True], ["c", None, False]])
RESULTS = Results(
    "Side by side",
    {"command": "fmfkit bench peers x.npz", "date": "2026-01-02", "cores": 2},
    [Section("x", "Data & co", "About it.", [TABLE], [], [Claim("it holds", "x", False, "1 of 2")])],
)


def test_what_is_written_is_read_again(tmp_path):
    sections.write(RESULTS, tmp_path / "a.json")
    assert sections.read(tmp_path / "a.json") == RESULTS


def test_other_files_are_refused_with_what_was_expected(tmp_path):
    (tmp_path / "a.json").write_text(json.dumps({"title": 1}))
    with pytest.raises(ValueError, match=r"a\.json: expected results that a benchmark wrote"):
        sections.read(tmp_path / "a.json")
    result = CliRunner().invoke(main, ["bench", "results", str(tmp_path / "a.json"), "--out", str(tmp_path / "b.md")])
    assert result.exit_code == 1
    assert "expected results" in result.output
    assert not (tmp_path / "b.md").exists()


def test_the_page_of_results_is_made_from_json_and_names_cores_and_date(tmp_path):
    sections.write(RESULTS, tmp_path / "a.json")
    result = CliRunner().invoke(main, ["bench", "results", str(tmp_path / "a.json"), "--out", str(tmp_path / "b.md")])
    assert result.exit_code == 0, result.output
    page = (tmp_path / "b.md").read_text()
    assert "date 2026-01-02, cores 2." in page
    assert "    fmfkit bench peers x.npz" in page
    assert "| a\\|b <i> | 0.8123 | yes |" in page
    assert "| it holds | x | FAIL | 1 of 2 |" in page


def test_terminal_and_html_show_tables_and_verdicts():
    text = pages.terminal(RESULTS.sections[0])
    assert "a|b <i>  0.8123  yes" in text
    assert "c             -  no" in text
    assert "FAIL  it holds (x): 1 of 2" in text
    page = pages.page(RESULTS, None)
    assert "Claims: 0 of 1 hold" in page
    assert "a|b &lt;i&gt;" in page
    assert "<td class=fail>FAIL</td>" in page


def test_about_tells_of_the_machine():
    told = sections.about("a command", rank=4)
    assert told["command"] == "a command"
    assert told["rank"] == 4
    assert told["cores"] >= 1
