"""How the time of a round grows with the pairs, with the values of the features and with the rank, each alone."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import attrs
import numpy as np
import scipy.sparse as sp
from fmfkit_bench import core
from fmfkit_bench.data.pairs import Blocks
from numpy.typing import NDArray

from fmfkit import Problem, fit

PARTS = (0.25, 0.5, 1.0)
QUANTITIES = ("|O|", "‖X‖₀", "d")
Sizes = dict[str, list[tuple[float, Callable[[], Problem]]]]
"""What grows, and problems of growing size: (size, how to build it)."""


def sizes(task: Any, draws: NDArray[Any], ranks: Sequence[int], rank: int) -> Sizes:
    """Return growing problems.

    Args:
        task: an attrs class with training pairs ``train``, blocks ``X`` and ``problem(rank)``: a shape or a case.
        draws: a uniform random number for each training pair, which decides about the parts it is in.
        ranks: the ranks to grow through.
        rank: the rank of the other problems.
    """
    fewer = {part: attrs.evolve(task, train=task.train.only(draws < part)) for part in PARTS}
    thin = {part: attrs.evolve(task, X=thinned(task.X, part)) for part in PARTS}
    return {
        "|O|": [(part, partial(fewer[part].problem, rank)) for part in PARTS],
        "‖X‖₀": [(part, partial(thin[part].problem, rank)) for part in PARTS],
        "d": [(rank, partial(task.problem, rank)) for rank in ranks],
    }


def thinned(blocks: Blocks | None, part: float) -> Blocks:
    """Return feature blocks with a random part of their values."""
    rng = np.random.default_rng(0)
    thin = {}
    for name, matrix in (blocks or {}).items():
        coo = sp.coo_array(matrix)
        keep = rng.random(coo.nnz) < part
        kept = (coo.data[keep], (coo.row[keep], coo.col[keep]))
        thin[name] = sp.csr_array(kept, shape=matrix.shape)
    return thin


def exponents(growing: Sizes, threads: int, rounds: int, say: Callable[[str], None]) -> dict[str, float]:
    """Return, for each quantity, the slope of log time over log size."""
    slopes = {}
    for quantity, problems in growing.items():
        seconds = []
        for size, build in problems:
            history = fit(build(), solver=core.panel(), rounds=rounds, threads=threads).history
            seconds.append(statistics.median(record.seconds for record in history[1:]))
            say(f"growth with {quantity}: {size:g} takes {seconds[-1]:.3f} s a round")
        slopes[quantity] = float(np.polyfit(np.log([size for size, _ in problems]), np.log(seconds), 1)[0])
    return slopes


__all__ = ["PARTS", "QUANTITIES", "Sizes", "exponents", "sizes", "thinned"]
