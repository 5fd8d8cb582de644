from fmfkit_bench.results import sections


def test_schedulers_are_compared(bench, tmp_path):
    out = tmp_path / "out.json"
    assert "random 500" in bench(
        "schedulers", "--scale", 0.002, "--rank", 4, "--rounds", 2, "--repeats", 1, "--json", out
    )
    (table,) = sections.read(out).sections[0].tables
    rows = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    assert {"random 50", "size balanced 500"} <= {row["scheduler"] for row in rows}
    assert all(0 < row["least eta"] <= row["median eta"] <= 1 for row in rows)
    assert any(row["CPU s to equal"] is not None for row in rows)


def test_the_sets_of_many_features_are_timed(bench, tmp_path):
    out = tmp_path / "out.json"
    bench("schedulers", "--scale", 0.002, "--rank", 2, "--rounds", 1, "--features", 1200, "--json", out)
    (table,) = sections.read(out).sections[1].tables
    rows = {row[0]: dict(zip(table.columns, row, strict=True)) for row in table.rows}
    assert rows["random 500"]["sets"] == 3
    assert all(row["CPU s for sets"] > 0 for row in rows.values())
