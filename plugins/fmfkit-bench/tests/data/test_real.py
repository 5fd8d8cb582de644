import numpy as np
import pytest
from fmfkit_bench import core
from fmfkit_bench.data import real, shapes


def test_files_are_read_with_their_features_and_parts(npz):
    data = real.load(npz())
    assert (data.cold, data.positives_only, core.has_history(data.train)) == (None, False, True)
    assert [block.title for block in data.train.queries.blocks] == ["words"]
    assert not data.plain_train.targets.blocks
    np.testing.assert_array_equal(core.y_of(data.test), core.y_of(data.plain_test))
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
    assert core.has_history(data.train)


def test_files_of_svdfeature_are_read_too(tmp_path, bench):
    lines = [f"{k % 5} 0 2 1 {k % 6}:1 {6 + k % 2}:0.5 {k % 7}:1" for k in range(42)]
    (tmp_path / "pairs.feature").write_text("\n".join(lines))
    data = real.load(tmp_path / "pairs.feature")
    assert (data.name, data.train.shape, len(data.train) + len(data.test)) == ("pairs", (6, 7), 42)
    assert [block.title for block in data.train.queries.blocks] == ["features"]
    out = tmp_path / "out"
    shown = bench("paper", "features", "--data", tmp_path / "pairs.feature", "--rank", 4, "--rounds", 2, "--out", out)
    assert "pairs: test part" in shown


@pytest.mark.parametrize("name", real.FROM_TRAINING)
def test_blocks_made_from_training_pairs_are_replaced_by_history_features(npz, name):
    path = npz()
    with np.load(path) as file:
        arrays = dict(file)
    names = [name if block == core.HISTORY else block for block in arrays["X_block_names"]]
    np.savez(path, **arrays | {"X_block_names": np.array(names)})
    data = real.load(path)
    assert core.has_history(data.train)
    assert [block.title for block in data.train.queries.blocks] == ["words"]
