import json

import numpy as np
import pytest
import scipy.sparse as sp
from click.testing import CliRunner
from fmfkit_bench import real

from fmfkit.cli import main


def write(path, *, positives, cold):
    """Queries with a taste for groups of targets, which features tell of."""
    rng = np.random.default_rng(0)
    queries, targets = 120, 30
    taste, group = rng.integers(0, 3, queries), rng.integers(0, 3, targets)
    row, col = np.divmod(rng.choice(queries * targets, 1500, replace=False), targets)
    score = 3.0 + (taste[row] == group[col]) + 0.1 * rng.normal(size=len(row))
    if positives:
        liked = taste[row] == group[col]
        row, col, score = row[liked], col[liked], np.ones(int(liked.sum()))
    test = row >= 100 if cold else rng.random(len(row)) < 0.1
    parts = {"train": ~test, "test": test}
    arrays = {}
    for name, which in parts.items():
        arrays |= {f"{name}_rows": row[which], f"{name}_cols": col[which], f"{name}_vals": score[which]}
    history = sp.csr_array((np.ones((~test).sum()), (row[~test], col[~test])), shape=(queries, targets))
    blocks = {
        "X": {"indicator": sp.eye_array(queries), "implicit": history, "words": sp.csr_array(np.eye(3)[taste])},
        "Z": {"indicator": sp.eye_array(targets), "groups": sp.csr_array(np.eye(3)[group])},
    }
    for side, named in blocks.items():
        matrix = sp.csr_array(sp.hstack(list(named.values()), format="csr"))
        arrays |= {f"{side}_{part}": getattr(matrix, part) for part in ("indptr", "indices", "data")}
        arrays[f"{side}_shape"] = np.array(matrix.shape)
        arrays[f"{side}_block_names"] = np.array(list(named))
        arrays[f"{side}_block_offsets"] = np.cumsum([0, *(block.shape[1] for block in named.values())])
    np.savez(path, **arrays)


def test_files_are_read_with_their_features_and_parts(tmp_path):
    write(tmp_path / "a.npz", positives=False, cold=False)
    data = real.load(tmp_path / "a.npz")
    assert (data.cold, data.positives_only, data.train.implicit) == (None, False, True)
    assert [block.title for block in data.train.queries.blocks] == ["words"]
    assert not data.plain_train.targets.blocks
    np.testing.assert_array_equal(data.test.score, data.plain_test.score)
    write(tmp_path / "b.npz", positives=True, cold=True)
    data = real.load(tmp_path / "b.npz")
    assert (data.cold, data.positives_only) == ("query", True)
    train, held_out = data.parts(data.train, 0)
    assert not np.isin(held_out.query, train.query).any()


@pytest.mark.parametrize(("positives", "cold"), [(False, True), (True, True)])
def test_accuracy_shows_that_features_help(tmp_path, positives, cold):
    write(tmp_path / "a.npz", positives=positives, cold=cold)
    command = ["bench", "accuracy", str(tmp_path / "a.npz"), "--rank", "4", "--trials", "4", "--rounds", "8"]
    result = CliRunner().invoke(main, [*command, "--ratio", "4", "--json", str(tmp_path / "out.json")])
    assert result.exit_code == 0, result.output
    plain, full = json.loads((tmp_path / "out.json").read_text())
    assert (plain["features"], full["features"]) == (False, True)
    assert full["test"] > plain["test"] if positives else full["test"] < plain["test"]
    assert full["metric"] in result.output
