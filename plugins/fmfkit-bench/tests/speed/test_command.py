import sys

import pytest
from fmfkit_bench.results import sections


def rows_of(table):
    return [dict(zip(table.columns, row, strict=True)) for row in table.rows]


def test_speed_compares_the_solvers_and_writes_results(bench, tmp_path):
    out = tmp_path / "results.json"
    settings = ("--scale", 0.002, "--rank", 8, "--rounds", 3, "--threads", 1, "--threads", 2)
    solvers = [word for name in ("panel", "pl2m", "sgd", "hogwild") for word in ("--solver", name)]
    output = bench("speed", *settings, *solvers, "--json", out)
    assert "ml10m: seconds per round against PL2M" in output
    assert "ml10m: two threads against one" in output
    speed, *limits, goals = sections.read(out).sections
    assert [section.name for section in limits] == ["phases-ml10m-1", "phases-ml10m-2"]
    rows = rows_of(speed.tables[0])
    assert len(rows) == 8
    for row in rows:
        assert row["s/round"] > 0
        assert row["rounds"] == {"sgd": 6}.get(row["solver"], 3)
    assert any(row["s to objective"] is not None for row in rows if row["solver"] in ("panel", "pl2m"))
    assert all(row["s to test error"] is not None for row in rows if row["solver"] in ("panel", "sgd"))
    assert [row["threads"] for row in rows_of(speed.tables[1])] == [1, 2]
    assert goals.name == "goals"


def test_goals_runs_everything_that_the_table_needs(bench, tmp_path):
    out = tmp_path / "results.json"
    settings = ("--scale", 0.002, "--rank", 8, "--rounds", 2, "--before", sys.executable)
    output = bench("speed", "--targets", *settings, "--json", out)
    written = sections.read(out).sections
    assert {"speed-ml10m", "speed-weibo", "speed-flickr", "goals"} <= {section.name for section in written}
    shown = [row["goal"] for row in rows_of(written[-1].tables[0])]
    wanted = (
        "seconds per round against Hogwild!",
        "exponent",
        "peak memory of a process",
        "two threads against one",
        "two threads against one, PL2M",
        "two threads against one, a core busy elsewhere",
        "share of the machine's limit",
        "against the version before, 1 threads",
        "against the version before, 2 threads",
    )
    for what in wanted:
        assert any(what in goal for goal in shown), what
        assert what in output


@pytest.mark.parametrize("arguments", [["--shape", "netflix"], ["--scale", "0"], ["--solver", "block"]])
def test_wrong_use_exits_with_2(bench, arguments):
    bench("speed", *arguments, code=2)
