import pytest
from fmfkit_bench.results import sections
from fmfkit_bench.results.report import Report
from fmfkit_bench.results.sections import Figure, Line, Panel, Section


def test_files_are_kept_up_to_date(results, tmp_path, capsys):
    report = Report("Title", "a command", tmp_path / "a.json", tmp_path / "out", {"rank": 4})
    (section,) = results.sections
    for n in (1, 2):
        report.add(section)
        written = sections.read(tmp_path / "a.json")
        assert len(written.sections) == n
        assert written == sections.read(tmp_path / "out" / "results.json")
    assert (written.title, written.about["command"], written.about["rank"]) == ("Title", "a command", 4)
    assert "Data &amp; co" in (tmp_path / "out" / "report.html").read_text()
    assert capsys.readouterr().out.count("== Data & co ==") == 2


def test_nothing_is_written_unless_asked_for(results, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Report("Title", "a command").add(results.sections[0])
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("installed", [True, False])
def test_figures_are_in_the_page_where_they_can_be_drawn(tmp_path, monkeypatch, installed):
    if installed:
        pytest.importorskip("matplotlib")
    monkeypatch.setattr("fmfkit_bench.results.drawing.available", lambda: installed)
    figure = Figure("f", "A caption.", [Panel("p", "x", "y", [Line("a", [1.0, 2.0], [3.0, 4.0])])])
    Report("Title", "a command", None, tmp_path).add(Section("x", "X", "", [], [figure]))
    assert ((tmp_path / "report.html").read_text().count("data:image/svg+xml") == 1) == installed
    assert (tmp_path / "f.png").exists() == installed
