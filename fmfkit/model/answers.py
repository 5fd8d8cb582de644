"""Answers of a model: rankings and explanations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fmfkit._kernels.buffers import padded
from fmfkit._kernels.scoring import PackedTargets
from fmfkit.problem.features import FeatureRows
from fmfkit.typing import Reals


@attrs.frozen(eq=False)
class Ranked:
    """The best targets of some queries, best first; those of equal score, offset apart, by row number."""

    targets: NDArray[np.int32]
    """(queries, k) row numbers; -1 where there are no more."""
    scores: Reals
    """(queries, k); -inf where there are no more."""


@attrs.frozen
class Contribution:
    """What one feature adds to a score."""

    block: str
    feature: int
    """Its column within the block."""
    value: float
    """Its value."""
    adds: float
    name: str = ""
    """What the feature is called, where that is known."""


@attrs.frozen
class Explanation:
    """A score taken apart: offset + the biases + the interaction, which is given twice, by the features of either side.

    ``score`` = ``offset`` + Σ ``query_bias`` + Σ ``target_bias`` + Σ ``by_query``; Σ ``by_query`` = Σ ``by_target``.
    Each list has its largest contributions first.
    """

    score: float
    offset: float
    query_bias: tuple[Contribution, ...]
    target_bias: tuple[Contribution, ...]
    by_query: tuple[Contribution, ...]
    by_target: tuple[Contribution, ...]

    def named(self, query: Mapping[str, Sequence[str]], target: Mapping[str, Sequence[str]]) -> Explanation:
        """Return it with the names of features, by block, of either side."""

        def with_names(parts: tuple[Contribution, ...], names: Mapping[str, Sequence[str]]) -> tuple[Contribution, ...]:
            return tuple(attrs.evolve(c, name=names[c.block][c.feature]) for c in parts)

        return attrs.evolve(
            self,
            query_bias=with_names(self.query_bias, query),
            by_query=with_names(self.by_query, query),
            target_bias=with_names(self.target_bias, target),
            by_target=with_names(self.by_target, target),
        )

    def __str__(self) -> str:
        """Return the score and the five largest contributions of each part."""
        lines = [f"score {self.score:.4f}, of which the offset {self.offset:.4f}"]
        for part in ("query_bias", "target_bias", "by_query", "by_target"):
            listed = getattr(self, part)
            lines.append(f"{part.replace('_', ' ')} {sum(c.adds for c in listed):+.4f}")
            lines += [f"  {c.adds:+.4f}  {c.block}: {c.name or c.feature}" for c in listed[:5]]
        return "\n".join(lines)

    def blocks(self, part: str) -> dict[str, float]:
        """Return what each feature block adds in one of the lists."""
        sums: dict[str, float] = {}
        for contribution in getattr(self, part):
            sums[contribution.block] = sums.get(contribution.block, 0.0) + contribution.adds
        return sums


def contributions(
    features: FeatureRows, row: int, weights_of: Callable[[NDArray[np.int32]], Any]
) -> tuple[Contribution, ...]:
    """Return what the features of a row add, each its value times a weight, the largest first; of -1 there are none."""
    if row < 0:
        return ()
    begin, end = features.row_ptr[row : row + 2]
    columns, values = features.row_index[begin:end], features.values_by_row(row, row + 1)
    adds = values.astype(np.float64) * weights_of(columns)
    return tuple(
        Contribution(*features.block_of(int(columns[n])), float(values[n]), float(adds[n]))
        for n in np.argsort(-np.abs(adds), kind="stable")
    )


def to_compare(embedding: Reals, threads: int) -> tuple[Reals, PackedTargets]:
    """Return embeddings scaled to length one, but for those that are zero, and the same laid out to be searched."""
    norm = np.linalg.norm(embedding, axis=1, keepdims=True)
    unit = padded(embedding / np.where(norm > 0, norm, 1))
    return unit, PackedTargets(unit, 0.0, threads)


__all__ = ["Contribution", "Explanation", "Ranked", "contributions", "to_compare"]
