"""How long it takes to make a data set of a large CSV file with text ids, beside polars alone reading it."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import attrs
import numpy as np
import polars as pl

from fmfkit import Dataset


@attrs.frozen
class Outcome:
    """Medians."""

    rows: int
    file_bytes: int
    polars_seconds: float
    dataset_seconds: float

    @property
    def ratio(self) -> float:
        """How many times as long as polars a data set takes."""
        return self.dataset_seconds / self.polars_seconds


def measure(rows: int, repeats: int, seed: int, say: Callable[[str], None]) -> Outcome:
    """Write a file with ``rows`` different pairs of text ids, and read it both ways in turn."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "pairs.csv"
        _frame(rows, seed).write_csv(path)
        seconds: dict[str, list[float]] = {"polars": [], "dataset": []}
        ways: dict[str, Callable[[Path], object]] = {"polars": pl.read_csv, "dataset": Dataset.of}
        for _ in range(repeats):
            for name, way in ways.items():
                began = time.perf_counter()
                way(path)
                seconds[name].append(time.perf_counter() - began)
                say(f"{name}: {seconds[name][-1]:.2f} s")
        medians = {name: statistics.median(times) for name, times in seconds.items()}
        return Outcome(rows, path.stat().st_size, medians["polars"], medians["dataset"])


def _frame(rows: int, seed: int) -> pl.DataFrame:
    """Return pairs in the shape of MovieLens 10M: 7 users and 1 item for each 1000 pairs, items by popularity."""
    rng = np.random.default_rng(seed)
    users, items = max(rows * 7 // 1000, 10), max(rows // 1000, 10)
    user = rng.integers(0, users, 2 * rows)
    item = (items * rng.random(2 * rows) ** 2).astype(np.int64)
    keys = np.sort(user * items + item)
    keys = rng.permutation(keys[np.append(True, keys[1:] != keys[:-1])])[:rows]
    user, item = np.divmod(keys, items)
    return pl.DataFrame({
        "user": pl.select(pl.format("user-{}", pl.Series(user))).to_series(),
        "item": pl.select(pl.format("item-{}", pl.Series(item))).to_series(),
        "rating": rng.integers(1, 11, len(keys)) / 2,
    })  # fmt: skip


__all__ = ["Outcome", "measure"]
