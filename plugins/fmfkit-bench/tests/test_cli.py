import json

import attrs
import pytest
from click.testing import CliRunner
from fmfkit_bench.speed import Record

from fmfkit.cli import main


def invoke(*arguments):
    result = CliRunner().invoke(main, ["bench", *arguments])
    assert result.exit_code == 0, result.output
    return result.output


def test_speed_compares_the_solvers_and_writes_records(tmp_path):
    out = tmp_path / "records.json"
    output = invoke(
        "speed", "--scale", "0.002", "--rank", "8", "--rounds", "3", "--threads", "1", "--threads", "2",
        "--solver", "block", "--solver", "dimension", "--solver", "sgd", "--solver", "hogwild", "--json", str(out),
    )  # fmt: skip
    assert "ml10m: seconds per round against B = 1" in output
    assert "ml10m: two threads against one" in output
    written = json.loads(out.read_text())
    assert len(written["records"]) == 8
    for record in written["records"]:
        assert record["seconds_per_round"] > 0
        assert record["rounds"] == {"sgd": 6}.get(record["solver"], 3)
        assert set(record) == {field.name for field in attrs.fields(Record)}
    descent = [record for record in written["records"] if record["solver"] in ("block", "dimension")]
    assert any(record["seconds_to_objective"] is not None for record in descent)
    racing = [record for record in written["records"] if record["solver"] in ("block", "sgd")]
    assert all(record["seconds_to_test_error"] is not None for record in racing)


def test_targets_runs_all_that_the_table_needs(tmp_path):
    out = tmp_path / "records.json"
    output = invoke("speed", "--targets", "--scale", "0.002", "--rank", "8", "--rounds", "2", "--json", str(out))
    written = json.loads(out.read_text())
    assert {record["shape"] for record in written["records"]} == {"ml10m", "weibo", "flickr"}
    told = [target["what"] for target in written["targets"]]
    for what in (
        "seconds per round against Hogwild!",
        "exponent",
        "peak memory of a process",
        "two threads against one",
    ):
        assert any(what in line for line in told), what
        assert what in output


def test_data_shows_how_much_features_help():
    output = invoke("data", "--scale", "0.002", "--rank", "4", "--rounds", "2")
    assert output.count("best test error") == 2


@pytest.mark.parametrize("arguments", [["speed", "--shape", "netflix"], ["speed", "--scale", "0"], ["nonsense"]])
def test_wrong_use_exits_with_2(arguments):
    assert CliRunner().invoke(main, ["bench", *arguments]).exit_code == 2


def test_help_of_fmfkit_lists_bench():
    assert "bench" in CliRunner().invoke(main, ["--help"]).output


def test_top_and_tables_compare_with_others():
    assert "ml10m: top 5 of " in invoke("top", "--scale", "0.002", "-k", "5", "--repeats", "1", "--rank", "8")
    assert "times as long" in invoke("tables", "--rows", "2000", "--repeats", "1")


def test_losses_and_schedulers_are_compared():
    output = invoke("losses", "--scale", "0.002", "--rank", "8", "--rounds", "1", "--repeats", "1", "--threads", "1")
    assert "NumPy" in output
    output = invoke("schedulers", "--scale", "0.002", "--rank", "4", "--rounds", "2")
    assert "random 500" in output
