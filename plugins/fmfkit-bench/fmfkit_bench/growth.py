"""How the time of a round grows with the pairs, with the features' values and with the rank, each alone."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator
from functools import partial

import attrs
import numpy as np
import scipy.sparse as sp
from fmfkit_bench.shapes import Shape

from fmfkit import Problem, fit, solvers

RANK = 64


def problems(shape: Shape) -> Iterator[tuple[str, list[tuple[float, Callable[[], Problem]]]]]:
    """Yield what grows, and problems of growing size: (size, how to build it)."""
    parts = (0.25, 0.5, 1.0)
    yield "|O|", [(part, partial(shape.problem, RANK, sample=part)) for part in parts]
    yield "‖X‖₀", [(part, partial(thinned(shape, part).problem, RANK)) for part in parts]
    yield "d", [(rank, partial(shape.problem, rank)) for rank in (16, 32, 64, 128)]


def thinned(shape: Shape, part: float) -> Shape:
    """Return the shape with a random part of the values of its queries' features."""
    rng = np.random.default_rng(0)
    thin = {}
    for name, matrix in (shape.X or {}).items():
        coo = sp.coo_array(matrix)
        keep = rng.random(coo.nnz) < part
        kept = (coo.data[keep], (coo.row[keep], coo.col[keep]))
        thin[name] = sp.csr_array(kept, shape=matrix.shape)
    return attrs.evolve(shape, X=thin)


def exponents(shape: Shape, threads: int, rounds: int, report: Callable[[str], None]) -> dict[str, float]:
    """Return, for each quantity, the slope of log time over log size."""
    slopes = {}
    for quantity, sizes in problems(shape):
        seconds = []
        for size, build in sizes:
            history = fit(build(), solver=solvers.PL2M(), rounds=rounds, threads=threads).history
            seconds.append(statistics.median(record.seconds for record in history[1:]))
            report(f"growth with {quantity}: {size:g} takes {seconds[-1]:.3f} s a round")
        slopes[quantity] = float(np.polyfit(np.log([size for size, _ in sizes]), np.log(seconds), 1)[0])
    return slopes
