from fmfkit_bench.results import sections


def test_losses_are_compared_with_the_built_in_one(bench, tmp_path):
    out = tmp_path / "out.json"
    settings = ("--scale", 0.002, "--rank", 8, "--rounds", 1, "--repeats", 1, "--threads", 1)
    assert "NumPy" in bench("losses", *settings, "--json", out)
    rows = sections.read(out).sections[0].tables[0].rows
    assert rows[0][0] == "built in"
    assert rows[0][4] == 1.0
    assert rows[-1][0] == "NumPy"


def test_losses_by_name_are_compared_with_the_one_that_suits_the_shape(bench, tmp_path):
    out = tmp_path / "out.json"
    settings = ("--scale", 0.002, "--rank", 8, "--rounds", 2, "--repeats", 1, "--threads", 1)
    bench("losses", "--loss", "logistic", "--shape", "weibo", "--loss", "square", *settings, "--json", out)
    (table,) = sections.read(out).sections[0].tables
    rows = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    assert [row["loss"] for row in rows] == ["logistic", "square"]
    assert (rows[0]["ratio"], rows[0]["CPU ratio"]) == (1.0, 1.0)
    assert all(row["CPU s/round"] > 0 and row["spread"] >= 0 for row in rows)


def test_losses_that_are_unknown_or_refuse_the_data_are_named(bench):
    assert "no loss is called 'hubber'" in bench("losses", "--loss", "hubber", code=2)
    settings = ("--scale", 0.002, "--rank", 2)
    assert "logistic cannot be trained on ml10m" in bench("losses", "--loss", "logistic", *settings, code=1)
