"""How many bytes coordinate descent works in, by what it does on each side.

With q queries, p targets, |O| pairs, ‖X‖₀ and ‖Z‖₀ stored feature values, n and m features, rank d, f = 4 or 8 bytes to
a real: embeddings take (q + p) d f, rows padded to 32 bytes; scores f |O|, unless all features are rows' own; and for
each side

- by panels, a row's own features only: 8 MiB a thread, or less where no row has so many pairs;
- by panels, shared features: 89 f a row (97 where values are left out), 42 f + 16 a feature, 16 f a row of the other
  side;
- by panels, shared features and l1 > 0: 90 f a row, 16 f a row of the other side, 12 bytes for each row that one of the
  eight sets touches, and as below for the sets;
- one dimension at a time: 8 + 2 f bytes a feature value for the sets, 2 f more where values were left out, 3 f a row,
  2 f a row of the other side, f a feature; 2 f or 3 f a pair, not f, for a loss written in Python.

64 bytes a feature of the larger side while an embedding is made. The small change of a round, at most 100 bytes a row
or feature, is left out.
"""

from __future__ import annotations

import numpy as np

from fmfkit._kernels import components
from fmfkit._kernels.buffers import LINE
from fmfkit._kernels.descent import PANEL
from fmfkit._kernels.panel import WIDE, lines_room
from fmfkit._kernels.scoring import stride
from fmfkit.problem.features import Features
from fmfkit.problem.problem import Problem
from fmfkit.problem.strengths import Side

POINTER = 8
INDEX = 4


def work_bytes(problem: Problem, panels: bool, threads: int) -> int:
    """Return what rounds of coordinate descent need beside the problem and the parameters."""
    paths = [_path(problem, side, panels) for side in problem.sides]
    real = problem.dtype.itemsize
    work = sum(side.pairs.rows for side in problem.sides) * stride(problem) * real
    work += 0 if paths == ["alone", "alone"] else problem.pairs * real * _per_pair(problem)
    work += max(side.features.cols for side in problem.sides) * LINE
    for side, other, path in zip(problem.sides, problem.sides[::-1], paths, strict=True):
        if path == "alone":
            work += _alone(side, problem.rank, threads, real)
        else:
            work += {"together": _together, "sets": _sets, "dimension": _dimension}[path](side, other.pairs.rows, real)
    return work


def _path(problem: Problem, side: Side, panels: bool) -> str:
    """Return what is done on a side, without a scheduler: see ``Panel``."""
    if not panels or not components.takes_panels(side):
        return "dimension"
    if not side.features.shared.any() and components.loss_code(problem.loss) != components.EXTERNAL:
        return "alone"
    return "sets" if any(components.elastic_net(part.regularizer)[0] > 0 for part in side.parts) else "together"


def _per_pair(problem: Problem) -> int:
    """Return how many numbers a pair needs: its score; for a loss in Python its gradient, and maybe its curvature."""
    if components.loss_code(problem.loss) != components.EXTERNAL:
        return 1
    return 2 + (np.ndim(components.beta_or_curvature(problem)) > 0)


def _alone(side: Side, rank: int, threads: int, real: int) -> int:
    longest = int(np.diff(side.pairs.ptr).max(initial=0))
    line = -(-rank // PANEL) * PANEL * real
    chunks = POINTER * (len(side.pairs.chunk) - 1)
    return threads * (lines_room(longest, line) * line + longest * real) + chunks + side.features.cols * real


ROW_OF_PANELS = 6 * PANEL + WIDE
"""Numbers that panels keep for a row."""


def _together(side: Side, other_rows: int, real: int) -> int:
    by_row = ROW_OF_PANELS + 1 + (PANEL if side.features.row_scale is not None else 0)
    by_feature = 4 * PANEL + PANEL + 2
    small = 2 * POINTER * side.features.cols  # where columns begin, and which are cut
    return real * (by_row * side.pairs.rows + by_feature * side.features.cols + 2 * PANEL * other_rows) + small


def _sets(side: Side, other_rows: int, real: int) -> int:
    runs = (INDEX + POINTER) * min(side.features.nonzeros, 8 * side.features.rows)
    by_row = ROW_OF_PANELS + 2
    rows = real * (by_row * side.pairs.rows + 2 * PANEL * other_rows + 3 * side.features.cols)
    return _laid_out(side.features, real) + runs + rows


def _dimension(side: Side, other_rows: int, real: int) -> int:
    return _laid_out(side.features, real) + real * (3 * side.pairs.rows + 2 * other_rows + side.features.cols)


def _laid_out(features: Features, real: int) -> int:
    """Return the bytes of a round's sets, with the values that were left out."""
    values = 2 * real if features.row_scale is not None else 0
    return (2 * INDEX + 2 * real + values) * features.nonzeros + 4 * POINTER * features.cols


__all__ = ["work_bytes"]
