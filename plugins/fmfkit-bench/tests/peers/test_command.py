import pytest
from fmfkit_bench.results import sections
from fmfkit_bench.results.sections import Section

SMALL = ("--rank", 4, "--rounds", 8, "--trials", 3, "--threads", 2, "--budget", 20)


@pytest.mark.parametrize(
    ("given", "metrics", "other"),
    [
        ({}, ["RMSE"], "means"),
        ({"positives": True, "mutual": True}, ["P@1", "MAP", "MAP@5", "recall@20", "ndcg@20"], "counts"),
    ],
)
def test_fmfkit_and_a_plugins_system_run_side_by_side(toys, npz, bench, tmp_path, given, metrics, other):
    out = tmp_path / "out.json"
    peers = [word for name in (other, "absent", "broken") for word in ("--peer", name)]
    output = bench("peers", npz(**given), *SMALL, *peers, "--json", out)
    (found,) = sections.read(out).sections
    table, skipped = found.tables
    assert table.columns[1 : 1 + len(metrics)] == metrics
    rows = {row[0]: dict(zip(table.columns, row, strict=True)) for row in table.rows}
    assert set(rows) == {"fmfkit", other}
    assert rows["fmfkit"]["runs agree"] == "yes"
    for row in rows.values():
        assert row["s"] > 0
        assert row["trials"] == 3
    assert dict(skipped.rows) == {
        "absent": "not installed (python -m pip install no-such-package)",
        "broken": "does not rank positives" if "P@1" in metrics else "failed: ValueError: it broke",
    }
    assert len(found.claims) == 2
    for claim in found.claims:
        assert f"{'pass' if claim.holds else 'FAIL'}  {claim.what} (data): {claim.found}" in output


def test_a_broken_package_is_named_and_the_others_run(toys, installed, npz, bench, tmp_path):
    installed("wrecked", "raise RuntimeError('it is wrecked')")
    out = tmp_path / "out.json"
    output = bench("peers", npz(), *SMALL, "--peer", "means", "--json", out)
    reason = "RuntimeError: it is wrecked"
    assert f"the adapter package wrecked (wrecked 1.0) could not be loaded and is left out: {reason}" in output
    measured, skipped = sections.read(out).sections[0].tables
    assert {row[0] for row in measured.rows} == {"fmfkit", "means"}
    assert skipped.rows == [["wrecked (wrecked 1.0)", f"could not be loaded: {reason}"]]


def test_generated_data_runs_too(toys, bench):
    output = bench("peers", "--shape", "ml10m", "--scale", 0.002, "--peer", "means", *SMALL)
    assert "ml10m: on the test part" in output


def test_the_file_of_an_interrupted_run_names_the_command_for_what_it_holds(npz, bench, tmp_path, monkeypatch):
    def interrupted(race, files, say):
        yield Section("one", "one", "")
        raise KeyboardInterrupt

    monkeypatch.setattr("fmfkit_bench.peers.race.Race.run", interrupted)
    first, out = npz(), tmp_path / "out.json"
    bench("peers", first, "--shape", "ml10m", "--scale", 0.002, "--json", out, code=1)
    command = sections.read(out).about["command"]
    assert command.startswith(f"fmfkit bench peers {first.name} --rank 64")
    assert "--shape" not in command


def test_wrong_use_exits_with_2(npz, bench):
    bench("peers", npz(), "--peer", "nobody", code=2)
    bench("peers", "absent.npz", code=2)
    assert "such as recall@20" in bench("peers", npz(), "--choose-by", "rmse", code=2)
    assert "give FILES" in bench("peers", code=2)
