"""This version of fmfkit beside another, which is installed in another environment: seconds of a round, by turns."""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from fmfkit_bench.data.shapes import Shape
from fmfkit_bench.speed import elsewhere, footprint


def ratios(
    python: Path, shape: Shape, rank: int, threads: Sequence[int], rounds: int, repeats: int, say: Callable[[str], None]
) -> dict[int, float]:
    """Return how many times as long a round takes in the other environment, by threads: the median of the repeats."""
    found: dict[int, list[float]] = {team: [] for team in threads}
    with tempfile.TemporaryDirectory() as folder:
        footprint.write(shape, Path(folder))
        for _ in range(repeats):
            for team in threads:
                before, now = (_seconds(one, folder, rank, team, rounds) for one in (python, Path(sys.executable)))
                found[team].append(before / now)
                say(f"{shape.name} on {team} threads: {before:.3f} s a round before, {now:.3f} s now")
    return {team: statistics.median(some) for team, some in found.items()}


def _seconds(python: Path, folder: str, rank: int, threads: int, rounds: int) -> float:
    # -P: of the installed fmfkit, not of one in the folder of the script
    command = [str(python), "-P", elsewhere.__file__, folder, str(rank), str(threads), str(rounds)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{python}: could not train:\n{done.stderr[-2000:]}")
    return float(done.stdout)


__all__ = ["ratios"]
