import html
import re

import pytest
from fmfkit_bench.paper.command import EXPERIMENTS
from fmfkit_bench.results import sections

pytest.importorskip("matplotlib")


def test_all_experiments_give_a_report_that_needs_nothing_else(bench, tmp_path):
    settings = ("--scale", 0.0005, "--rank", 4, "--rounds", 3, "--threads", 2)
    output = bench("paper", *settings, "--out", tmp_path)
    results = sections.read(tmp_path / "results.json")
    assert [section.name for section in results.sections] == list(EXPERIMENTS)
    assert results.about["cores"] >= 1
    assert results.about["command"] == "fmfkit bench paper --scale 0.0005 --rank 4 --rounds 3 --seed 0"
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", results.about["date"])
    for what in ("features help", "follows L2M", "smaller |S|", "within noise", "faster than Hogwild!", "linear"):
        assert any(what in claim.what for claim in results.claims), what
        assert what in output
    for name in ("test-rmse", "convergence", "speedup"):
        assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert b"<svg" in (tmp_path / f"{name}.svg").read_bytes()
    report = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert report.count("data:image/svg+xml;base64,") == 3
    assert not re.search(r'(src|href)="(?!data:|#)', report)
    for section in results.sections:
        assert f'<h2 id="{section.name}">{html.escape(section.title)}</h2>' in report
        for table in section.tables:
            assert f"<h3>{html.escape(table.title)}</h3>" in report


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_each_experiment_runs_alone_on_a_shape(bench, tmp_path, name):
    settings = ("--shape", "ml10m", "--scale", 0.0005, "--rank", 4, "--rounds", 2, "--threads", 1)
    bench("paper", name, *settings, "--out", tmp_path)
    (section,) = sections.read(tmp_path / "results.json").sections
    assert section.name == name
    assert section.tables[0].rows


@pytest.mark.parametrize("arguments", [["nonsense"], ["--scale", "2"], ["--data", "absent.npz"]])
def test_wrong_use_exits_with_2(bench, arguments):
    bench("paper", *arguments, code=2)
