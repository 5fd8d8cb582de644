import json

import numpy as np
import pytest
from click.testing import CliRunner
from fmfkit_bench import real, shapes

from fmfkit.cli import main


def test_files_are_read_with_their_features_and_parts(npz):
    data = real.load(npz())
    assert (data.cold, data.positives_only, data.train.implicit) == (None, False, True)
    assert [block.title for block in data.train.queries.blocks] == ["words"]
    assert not data.plain_train.targets.blocks
    np.testing.assert_array_equal(data.test.score, data.plain_test.score)
    data = real.load(npz(positives=True, cold=True))
    assert (data.cold, data.positives_only) == ("query", True)
    train, held_out = data.parts(data.train, 0)
    assert not np.isin(held_out.query, train.query).any()


def test_links_that_go_both_ways_are_held_out_both_ways(npz):
    data = real.load(npz(mutual=True))
    train, held_out = data.parts(data.train, 0)
    assert 0 < len(held_out) < len(train)
    assert real.links(train) is not None
    assert not np.isin(real.links(held_out), real.links(train)).all()
    one_way = real.load(npz(positives=True))
    assert real.links(one_way.train) is None


def test_tables_and_generated_data_are_read_too(tmp_path):
    rows = "\n".join(f"u{k % 7},i{k % 5},{k % 3}" for k in range(40) if k < 35)
    (tmp_path / "pairs.csv").write_text(f"user,item,rating\n{rows}\n")
    data = real.load(tmp_path / "pairs.csv")
    assert data.name == "pairs"
    assert len(data.train) + len(data.test) == 35
    shape = shapes.generate("yahoo", 0.00005)
    data = real.load(real.write(shape, tmp_path))
    assert data.train.shape == (shape.queries, shape.targets)
    assert [block.title for block in data.train.targets.blocks] == ["album", "artist"]
    assert data.train.implicit


def test_files_of_svdfeature_are_read_too(tmp_path):
    lines = [f"{k % 5} 0 2 1 {k % 6}:1 {6 + k % 2}:0.5 {k % 7}:1" for k in range(42)]
    (tmp_path / "pairs.feature").write_text("\n".join(lines))
    data = real.load(tmp_path / "pairs.feature")
    assert (data.name, data.train.shape, len(data.train) + len(data.test)) == ("pairs", (6, 7), 42)
    assert [block.title for block in data.train.queries.blocks] == ["features"]
    arguments = [
        "bench",
        "paper",
        "features",
        "--data",
        str(tmp_path / "pairs.feature"),
        "--rank",
        "4",
        "--rounds",
        "2",
    ]
    result = CliRunner().invoke(main, [*arguments, "--out", str(tmp_path / "out")])
    assert result.exit_code == 0, result.output
    assert "pairs: test part" in result.output


@pytest.mark.parametrize(("positives", "cold"), [(False, True), (True, True)])
def test_accuracy_shows_that_features_help(npz, tmp_path, positives, cold):
    command = [
        "bench",
        "accuracy",
        str(npz(positives=positives, cold=cold)),
        "--rank",
        "4",
        "--trials",
        "4",
        "--rounds",
        "8",
    ]
    result = CliRunner().invoke(main, [*command, "--ratio", "4", "--json", str(tmp_path / "out.json")])
    assert result.exit_code == 0, result.output
    plain, full = json.loads((tmp_path / "out.json").read_text())
    assert (plain["features"], full["features"]) == (False, True)
    assert full["test"] > plain["test"] if positives else full["test"] < plain["test"]
    assert full["metric"] in result.output
