"""Seconds of a round in an environment with any version of fmfkit: ``python elsewhere.py FOLDER RANK THREADS ROUNDS``.

It reads what ``footprint.write`` saved, and uses nothing of fmfkit-bench, which may not be installed there.
"""

from __future__ import annotations

import statistics
import sys
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import fmfkit


def read(folder: Path, rank: int) -> Any:
    """Build the problem."""
    about = np.load(folder / "about.npz")
    with np.load(folder / "pairs.npz") as saved:
        pairs = [saved[name] for name in ("query", "target", "y")]

    def blocks(side: str) -> Any:
        files = sorted(folder.glob(f"{side}-*.npz"))
        return {file.stem.split("-", 2)[2]: sp.csr_array(sp.load_npz(file)) for file in files} or None

    net = fmfkit.regularizers.ElasticNet(l2=float(about["strength"]))
    has_penalty = hasattr(fmfkit, "Penalty")  # versions before called it a regularizer
    penalty: Any = {"penalty": fmfkit.Penalty(net)} if has_penalty else {"regularizer": net}
    queries, targets = map(int, about["shape"])
    X, Z, loss = blocks("X"), blocks("Z"), str(about["loss"])
    return fmfkit.Problem.from_coo(*pairs, shape=(queries, targets), rank=rank, X=X, Z=Z, loss=loss, **penalty)


if __name__ == "__main__":
    history = fmfkit.fit(
        read(Path(sys.argv[1]), int(sys.argv[2])), rounds=int(sys.argv[4]), threads=int(sys.argv[3])
    ).history
    print(statistics.median(record.seconds for record in history[1:]))
