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
from fmfkit_bench.data.shapes import Shape
from fmfkit_bench.speed import elsewhere, machine

from fmfkit import fit

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


if __name__ == "__main__":
    fit(elsewhere.read(Path(sys.argv[1]), int(sys.argv[2])), rounds=ROUNDS, threads=int(sys.argv[3]))
    print(machine.peak_bytes())
