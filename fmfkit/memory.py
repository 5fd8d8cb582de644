"""How much memory training takes, told before it starts.

With q queries, p targets, |O| pairs, ‖X‖₀ and ‖Z‖₀ stored feature values, n and m features, rank d, f = 4 or 8 bytes to
a real:

=========== ===================================================================================================
data        pairs, twice (by query and by target): 4 + f bytes each, f more with weights; features, twice (by row
            and by column): 4 bytes a value, f more unless values are one per row; strengths: f per feature and part
model       (n + m) d f, and f more for each feature of a side with a bias
work        embeddings: (q + p) d f, rows padded to 32 bytes; scores: f |O|, unless all features are rows' own;
            for each side, by what its solver does:

            block 8, a row's own features only: 8 MiB a thread, or less where no row has so many pairs
            block 8, shared features: 89 f a row (97 where values are left out), 42 f + 16 a feature, 16 f a row of the
            other side
            block 8, shared features and l1 > 0: 90 f a row, 16 f a row of the other side, 12 bytes for each row that
            one of the eight sets touches, and as below for the sets
            block 1: 8 + 2 f bytes a feature value for the sets, 2 f more where values were left out, 3 f a row,
            2 f a row of the other side, f a feature; 2 f or 3 f a pair, not f, for a loss written in Python
=========== ===================================================================================================

and 64 bytes a feature of the larger side while an embedding is made. What is left out: Python and its libraries, some
80 MB, and the small change of a round, at most 100 bytes a row or feature.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import attrs
import numpy as np

from fmfkit import _native
from fmfkit._native.block import lines_room
from fmfkit.interfaces import Reals
from fmfkit.problem import Features, Problem, Side

POINTER = 8
INDEX = 4


@attrs.frozen
class Memory:
    """Bytes that training needs."""

    data: int
    """The problem: pairs and features."""
    model: int
    """P and Q."""
    work: int
    """Embeddings, scores and the solver's buffers."""

    @property
    def total(self) -> int:
        """All of it."""
        return self.data + self.model + self.work


def memory(problem: Problem, rank: int, block: int, threads: int) -> Memory:
    """Return what training ``problem`` with PL2M takes, were its rank ``rank``."""
    sized = attrs.evolve(problem, rank=rank)
    paths = [_path(problem, side, block) for side in problem.sides]
    real, biases = problem.dtype.itemsize, (problem.query_bias, problem.target_bias)
    widths = [rank + bias for bias in biases]
    work = sum(side.pairs.rows for side in problem.sides) * _native.stride(sized) * real
    work += 0 if paths == ["alone", "alone"] else problem.pairs * real * _per_pair(problem)
    work += max(side.features.cols for side in problem.sides) * _native.LINE
    for side, other, path in zip(problem.sides, problem.sides[::-1], paths, strict=True):
        if path == "alone":
            work += _alone(side, rank, threads, real)
        else:
            work += {"together": _together, "sets": _sets, "dimension": _dimension}[path](side, other.pairs.rows, real)
    return Memory(
        data=sum(_stored(side) for side in problem.sides),
        model=sum(side.features.cols * width * real for side, width in zip(problem.sides, widths, strict=True)),
        work=work,
    )


def _path(problem: Problem, side: Side, block: int) -> str:
    """Return what PL2M does on a side, without a scheduler: see ``PL2M``."""
    if block == 1 or not _native.takes_blocks(side):
        return "dimension"
    if not side.features.shared.any() and _native.loss_code(problem.loss) != _native.EXTERNAL:
        return "alone"
    return "sets" if any(_native.elastic_net(part.regularizer)[0] > 0 for part in side.parts) else "together"


def _per_pair(problem: Problem) -> int:
    """Return how many numbers a pair needs: its score; for a loss in Python its gradient, and maybe its curvature."""
    if _native.loss_code(problem.loss) != _native.EXTERNAL:
        return 1
    return 2 + (np.ndim(_native.curvature_of_first(problem)) > 0)


def _stored(side: Side) -> int:
    pairs, features = side.pairs, side.features
    arrays: Iterable[Any] = (*_arrays(pairs), *_arrays(features), *(part.strength for part in side.parts))
    return sum(array.nbytes for array in arrays)


def _arrays(holder: Any) -> list[Reals]:
    return [value for value in attrs.asdict(holder, recurse=False).values() if isinstance(value, np.ndarray)]


def _alone(side: Side, rank: int, threads: int, real: int) -> int:
    longest = int(np.diff(side.pairs.ptr).max(initial=0))
    line = -(-rank // _native.BLOCK) * _native.BLOCK * real
    chunks = POINTER * (len(side.pairs.chunk) - 1)
    return threads * (lines_room(longest, line) * line + longest * real) + chunks + side.features.cols * real


ROW_OF_BLOCKS = 6 * _native.BLOCK + _native.WIDE
"""Numbers that the block form keeps for a row."""


def _together(side: Side, other_rows: int, real: int) -> int:
    by_row = ROW_OF_BLOCKS + 1 + (_native.BLOCK if side.features.row_scale is not None else 0)
    by_feature = 4 * _native.BLOCK + _native.BLOCK + 2
    small = 2 * POINTER * side.features.cols  # where columns begin, and which are cut
    return real * (by_row * side.pairs.rows + by_feature * side.features.cols + 2 * _native.BLOCK * other_rows) + small


def _sets(side: Side, other_rows: int, real: int) -> int:
    runs = (INDEX + POINTER) * min(side.features.nonzeros, 8 * side.features.rows)
    by_row = ROW_OF_BLOCKS + 2
    rows = real * (by_row * side.pairs.rows + 2 * _native.BLOCK * other_rows + 3 * side.features.cols)
    return _laid_out(side.features, real) + runs + rows


def _dimension(side: Side, other_rows: int, real: int) -> int:
    return _laid_out(side.features, real) + real * (3 * side.pairs.rows + 2 * other_rows + side.features.cols)


def _laid_out(features: Features, real: int) -> int:
    """Return the bytes of a round's sets, with the values that were left out."""
    values = 2 * real if features.row_scale is not None else 0
    return (2 * INDEX + 2 * real + values) * features.nonzeros + 4 * POINTER * features.cols


__all__ = ["Memory", "memory"]
