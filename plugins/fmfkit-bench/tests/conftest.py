import numpy as np
import pytest
import scipy.sparse as sp


def write(path, *, positives, cold, mutual=False):
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
    if mutual:  # links among the targets, in both directions
        queries, taste = targets, group
        link = np.triu(rng.random((targets, targets)) < np.where(group[:, None] == group, 0.8, 0.1), 1)
        (row, col), score = np.nonzero(link), np.ones(int(link.sum()))
        test = np.tile(rng.random(len(row)) < 0.1, 2)
        row, col, score = np.append(row, col), np.append(col, row), np.append(score, score)
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


@pytest.fixture
def npz(tmp_path):
    """Return a function that writes a data file and returns its path."""

    def make(name="data", *, positives=False, cold=False, mutual=False):
        path = tmp_path / f"{name}.npz"
        write(path, positives=positives, cold=cold, mutual=mutual)
        return path

    return make
