from fmfkit_bench.results import sections


def test_tables_compares_with_polars(bench, tmp_path):
    out = tmp_path / "out.json"
    output = bench("tables", "--rows", 2000, "--repeats", 1, "--json", out)
    assert "times as long as polars" in output
    (table,) = sections.read(out).sections[0].tables
    rows = {row[0]: row for row in table.rows}
    assert rows["polars"][3] == 1.0
    assert rows["fmfkit"][3] == rows["fmfkit"][2] / rows["polars"][2]
