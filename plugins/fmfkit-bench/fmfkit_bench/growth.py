"""How the time of a round grows with the pairs, with the features' values and with the rank, each alone."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from functools import partial

import attrs
import numpy as np
import scipy.sparse as sp
from fmfkit_bench.shapes import Shape

from fmfkit import Problem, fit, solvers

RANK = 64
PARTS = (0.25, 0.5, 1.0)
QUANTITIES = ("|O|", "‖X‖₀", "d")
Sizes = dict[str, list[tuple[float, Callable[[], Problem]]]]
"""What grows, and problems of growing size: (size, how to build it)."""


def sizes(shape: Shape) -> Sizes:
    """Return growing problems of a shape."""
    thin = {part: attrs.evolve(shape, X=thinned(shape.X, part)) for part in PARTS}
    return {
        "|O|": [(part, partial(shape.problem, RANK, sample=part)) for part in PARTS],
        "‖X‖₀": [(part, partial(thin[part].problem, RANK)) for part in PARTS],
        "d": [(rank, partial(shape.problem, rank)) for rank in (16, 32, 64, 128)],
    }


def thinned(blocks: dict[str, sp.csr_array] | None, part: float) -> dict[str, sp.csr_array]:
    """Return feature blocks with a random part of their values."""
    rng = np.random.default_rng(0)
    thin = {}
    for name, matrix in (blocks or {}).items():
        coo = sp.coo_array(matrix)
        keep = rng.random(coo.nnz) < part
        kept = (coo.data[keep], (coo.row[keep], coo.col[keep]))
        thin[name] = sp.csr_array(kept, shape=matrix.shape)
    return thin


def exponents(growing: Sizes, threads: int, rounds: int, report: Callable[[str], None]) -> dict[str, float]:
    """Return, for each quantity, the slope of log time over log size."""
    slopes = {}
    for quantity, problems in growing.items():
        seconds = []
        for size, build in problems:
            history = fit(build(), solver=solvers.PL2M(), rounds=rounds, threads=threads).history
            seconds.append(statistics.median(record.seconds for record in history[1:]))
            report(f"growth with {quantity}: {size:g} takes {seconds[-1]:.3f} s a round")
        slopes[quantity] = float(np.polyfit(np.log([size for size, _ in problems]), np.log(seconds), 1)[0])
    return slopes
