"""The time and memory of loading a model, in a process of its own.

The process is ``python -m fmfkit_bench.serving.loading SYSTEM FILE...``; it prints JSON.
"""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import scipy.sparse as sp
from fmfkit_bench import core
from fmfkit_bench.speed import machine

from fmfkit import Recommender


@attrs.frozen
class Loaded:
    """What loading took."""

    seconds: float
    bytes: int | None
    """Memory after loading beyond what there was before; None where the system does not show it."""


def save(model: Recommender, folder: Path) -> list[Path]:
    """Write a model of fmfkit's, with its ids and training pairs."""
    path = folder / "model.fmf"
    model.save(path)
    return [path]


def save_implicit(model: Any, known: sp.csr_matrix, folder: Path) -> list[Path]:
    """Write a model of implicit's, and the training pairs that it must be given."""
    paths = [folder / "implicit.npz", folder / "known.npz"]
    model.save(str(paths[0]))
    sp.save_npz(paths[1], known, compressed=False)
    return paths


def measure(system: str, paths: list[Path]) -> Loaded:
    """Load in a new process."""
    command = [sys.executable, "-W", "ignore", "-m", "fmfkit_bench.serving.loading", system, *map(str, paths)]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return Loaded(**json.loads(out))


def _load(system: str, paths: list[str]) -> Any:
    if system == "fmfkit":
        return Recommender.load(paths[0])
    als: Any = importlib.import_module("implicit.cpu.als")
    return als.AlternatingLeastSquares.load(paths[0]), sp.load_npz(paths[1])


def main(system: str, *paths: str) -> None:
    """Load a model, and print what it took."""
    core.all_threads()  # loads the compiled core
    np.ones(2) @ np.ones(2)
    if system != "fmfkit":
        importlib.import_module("implicit.cpu.als")
    before = machine.resident_bytes()
    began = time.perf_counter()
    kept = _load(system, list(paths))
    seconds = time.perf_counter() - began
    after = machine.resident_bytes()
    taken = None if before is None or after is None else after - before
    print(json.dumps(attrs.asdict(Loaded(seconds, taken))))
    del kept


if __name__ == "__main__":
    main(*sys.argv[1:])
