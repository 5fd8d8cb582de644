import pytest
from fmfkit_bench.results import sections

SETTINGS = ("--scale", 0.002, "--rank", 8, "--rounds", 2, "--repeats", 1, "--threads", 1)


def test_regularizers_by_name_are_compared_with_the_elastic_net(bench, tmp_path):
    out = tmp_path / "out.json"
    bench("regularizers", "--regularizer", "builtin:elastic_net", *SETTINGS, "--json", out)
    (table,) = sections.read(out).sections[0].tables
    rows = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    assert [row["regularizer"] for row in rows] == ["elastic_net", "elastic_net with l1", "builtin:elastic_net"]
    assert (rows[0]["ratio"], rows[0]["CPU ratio"]) == (1.0, 1.0)
    assert all(row["CPU s/round"] > 0 for row in rows)


def test_all_that_plugins_offer_are_measured_by_default(bench):
    pytest.importorskip("fmfkit_regularizers")
    assert "regularizers:mcp on 1 threads" in bench("regularizers", *SETTINGS)


def test_unknown_regularizers_are_refused(bench):
    assert "no regularizer is called 'ridge'" in bench("regularizers", "--regularizer", "ridge", code=2)
