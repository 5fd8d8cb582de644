"""The peak memory of training, data included, in a process of its own.

The process is ``python -m fmfkit_bench.speed.footprint FOLDER RANK THREADS``.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from fmfkit_bench import core
from fmfkit_bench.data.pairs import Blocks, Pairs
from fmfkit_bench.data.shapes import Shape
from fmfkit_bench.speed import machine

from fmfkit import Problem, fit

ROUNDS = 2


def measure(shape: Shape, rank: int, threads: int) -> int | None:
    """Return the peak memory, in bytes, of a new process that reads the training data, and trains."""
    with tempfile.TemporaryDirectory() as folder:
        write(shape, Path(folder))
        command = [sys.executable, "-m", "fmfkit_bench.speed.footprint", folder, str(rank), str(threads)]
        out = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    return int(out) if out != "None" else None


def write(shape: Shape, folder: Path) -> None:
    """Save what training needs."""
    np.savez(folder / "pairs.npz", query=shape.train.query, target=shape.train.target, y=shape.train.y)
    np.savez(folder / "about.npz", shape=shape.size, loss=shape.loss, strength=shape.strength)
    for side, blocks in (("X", shape.X), ("Z", shape.Z)):
        for order, (name, matrix) in enumerate((blocks or {}).items()):
            sp.save_npz(folder / f"{side}-{order}-{name}.npz", matrix, compressed=False)


def read(folder: Path, rank: int) -> Problem:
    """Build the problem that ``write`` saved."""
    about = np.load(folder / "about.npz")
    queries, targets = map(int, about["shape"])

    def blocks(side: str) -> Blocks | None:
        files = sorted(folder.glob(f"{side}-*.npz"))
        return {file.stem.split("-", 2)[2]: sp.csr_array(sp.load_npz(file)) for file in files} or None

    with np.load(folder / "pairs.npz") as saved:
        pairs = Pairs(saved["query"], saved["target"], saved["y"])
    return core.Given(
        pairs=pairs,
        shape=(queries, targets),
        X=blocks("X"),
        Z=blocks("Z"),
        loss=str(about["loss"]),
        penalty=core.elastic_net(float(about["strength"])),
    ).problem(rank)


if __name__ == "__main__":
    fit(read(Path(sys.argv[1]), int(sys.argv[2])), rounds=ROUNDS, threads=int(sys.argv[3]))
    print(machine.peak_bytes())
