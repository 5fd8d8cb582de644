from fmfkit_bench.results import sections


def test_losses_are_compared_with_the_built_in_one(bench, tmp_path):
    out = tmp_path / "out.json"
    settings = ("--scale", 0.002, "--rank", 8, "--rounds", 1, "--repeats", 1, "--threads", 1)
    assert "NumPy" in bench("losses", *settings, "--json", out)
    rows = sections.read(out).sections[0].tables[0].rows
    assert rows[0][0] == "built in"
    assert rows[0][3] == 1.0
    assert rows[-1][0] == "NumPy"
