from fmfkit_bench.results import sections


def test_data_shows_how_much_features_help(bench, tmp_path):
    out = tmp_path / "out.json"
    output = bench("data", "--scale", 0.01, "--rank", 4, "--rounds", 4, "--json", out)
    assert "ids and features" in output
    (section,) = sections.read(out).sections
    sizes, blocks, errors = section.tables
    assert [row[:2] for row in blocks.rows] == [["queries", "user"], ["queries", "history"]]
    assert sizes.rows[0][0] == blocks.rows[0][2]
    best = dict(errors.rows)
    assert section.claims[0].holds == (best["ids and features"] < best["ids only"])
