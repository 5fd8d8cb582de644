from fmfkit_bench.results import sections


def test_schedulers_are_compared(bench, tmp_path):
    out = tmp_path / "out.json"
    assert "random 500" in bench("schedulers", "--scale", 0.002, "--rank", 4, "--rounds", 2, "--json", out)
    (table,) = sections.read(out).sections[0].tables
    rows = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    assert {"random 50", "size balanced 500"} <= {row["scheduler"] for row in rows}
    assert all(0 < row["least eta"] <= row["median eta"] <= 1 for row in rows)
    assert any(row["s to equal objective"] is not None for row in rows)
