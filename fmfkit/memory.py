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
            block 8, shared features: 88 f a row (96 where values are left out), 32 f a feature, 16 f a row of the
            other side
            block 1: 8 + 2 f bytes a feature value for the sets, 2 f more where values were left out, 3 f a row,
            2 f a row of the other side, f a feature
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
    real, biases = problem.dtype.itemsize, (problem.query_bias, problem.target_bias)
    widths = [rank + bias for bias in biases]
    alone = [block > 1 and not side.features.shared.any() for side in problem.sides]
    work = sum(side.pairs.rows for side in problem.sides) * _native.stride(sized) * real
    work += 0 if all(alone) else problem.pairs * real
    work += max(side.features.cols for side in problem.sides) * _native.LINE
    for side, other, by_itself in zip(problem.sides, problem.sides[::-1], alone, strict=True):
        if by_itself:
            work += _alone(side, rank, threads, real)
        else:
            work += (_block if block > 1 else _dimension)(side, other.pairs.rows, real)
    return Memory(
        data=sum(_stored(side) for side in problem.sides),
        model=sum(side.features.cols * width * real for side, width in zip(problem.sides, widths, strict=True)),
        work=work,
    )


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
    return threads * (_native.lines_room(longest, line) * line + longest * real) + chunks + side.features.cols * real


def _block(side: Side, other_rows: int, real: int) -> int:
    left_out = side.features.row_scale is not None
    by_row = 6 * _native.BLOCK + _native.WIDE + 1 + (_native.BLOCK if left_out else 0)
    by_feature = 4 * _native.BLOCK
    small = 2 * POINTER * side.features.cols  # where columns begin, and which are cut
    delta = _native.BLOCK + 2
    return real * (by_row * side.pairs.rows + (by_feature + delta) * side.features.cols + 16 * other_rows) + small


def _dimension(side: Side, other_rows: int, real: int) -> int:
    features: Features = side.features
    values = 2 * real if features.row_scale is not None else 0
    sets = (2 * INDEX + 2 * real + values) * features.nonzeros
    small = 4 * POINTER * features.cols
    return sets + real * (3 * side.pairs.rows + 2 * other_rows + features.cols) + small


__all__ = ["Memory", "memory"]
