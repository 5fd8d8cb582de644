import numpy as np
import pytest
import scipy.sparse as sp
from click.testing import CliRunner
from fmfkit_bench.core import HISTORY
from fmfkit_bench.data import real
from fmfkit_bench.peers.interface import Task
from fmfkit_bench.peers.judging import Judge
from fmfkit_bench.results.sections import Claim, Results, Section, Table

from fmfkit.cli import main


def write(path, *, positives, cold, mutual=False):
    """Queries with a taste for groups of targets, which features show."""
    rng = np.random.default_rng(0)
    queries, targets = 120, 30
    taste, group = rng.integers(0, 3, queries), rng.integers(0, 3, targets)
    row, col = np.divmod(rng.choice(queries * targets, 1500, replace=False), targets)
    y = 3.0 + (taste[row] == group[col]) + 0.1 * rng.normal(size=len(row))
    if positives:
        liked = taste[row] == group[col]
        row, col, y = row[liked], col[liked], np.ones(int(liked.sum()))
    test = row >= 100 if cold else rng.random(len(row)) < 0.1
    if mutual:  # links among the targets, in both directions
        queries, taste = targets, group
        link = np.triu(rng.random((targets, targets)) < np.where(group[:, None] == group, 0.8, 0.1), 1)
        (row, col), y = np.nonzero(link), np.ones(int(link.sum()))
        test = np.tile(rng.random(len(row)) < 0.1, 2)
        row, col, y = np.append(row, col), np.append(col, row), np.append(y, y)
    parts = {"train": ~test, "test": test}
    arrays = {}
    for name, which in parts.items():
        arrays |= {f"{name}_rows": row[which], f"{name}_cols": col[which], f"{name}_vals": y[which]}
    history = sp.csr_array((np.ones((~test).sum()), (row[~test], col[~test])), shape=(queries, targets))
    blocks = {
        "X": {"indicator": sp.eye_array(queries), HISTORY: history, "words": sp.csr_array(np.eye(3)[taste])},
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


@pytest.fixture
def bench():
    """Return a function that runs ``fmfkit bench`` and returns what it prints."""

    def run(*arguments, code=0):
        result = CliRunner().invoke(main, ["bench", *map(str, arguments)])
        assert result.exit_code == code, result.output
        return result.output

    return run


@pytest.fixture
def task_of():
    """Return a function that makes a task of a file, and a judge of what is held out."""

    def make(path, threads=1):
        data = real.load(path)
        train, held_out = data.parts(data.train, 0)
        task = Task(
            data=train,
            ranking=data.positives_only,
            cold=data.cold,
            rank=4,
            threads=threads,
            seed=0,
            rounds=4,
        )
        return task, Judge.of(task, held_out)

    return make


@pytest.fixture
def results():
    """Return small results with a claim that does not hold."""
    table = Table("Errors", ["system", "RMSE", "agree"], [["a|b <i>", 0.812345, True], ["c", None, False]])
    about = {"command": "fmfkit bench peers x.npz", "date": "2026-01-02", "cores": 2}
    section = Section("x", "Data & co", "About it.", [table], [], [Claim("it holds", "x", False, "1 of 2")])
    return Results("Side by side", about, [section])
