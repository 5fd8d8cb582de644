"""Each feature's strengths, made from a penalty, the features and the pairs."""

from __future__ import annotations

from typing import Any, cast

import attrs
import numpy as np
from numpy.typing import NDArray

from fmfkit.arguments import suggestion
from fmfkit.interfaces import Regularizer, RowRegularizer
from fmfkit.problem.features import SCALE_ROWS, Features
from fmfkit.problem.objective import LearntPenalty, Penalties, Penalty
from fmfkit.problem.pairs import Pairs
from fmfkit.typing import Reals, Scale, SideName


@attrs.frozen(eq=False)
class Part:
    """A penalised part of one side's parameters, the factors or the bias: a regularizer and its strengths."""

    regularizer: Regularizer
    strength: Reals  # (features)
    growth: Reals  # (groups, columns) multiplies the strengths
    columns: slice
    group: NDArray[np.int32] | None = None  # (features) None where there is one group

    @property
    def by_row(self) -> bool:
        """Whether the regularizer takes a feature's whole row of parameters."""
        return isinstance(self.regularizer, RowRegularizer)

    @property
    def matrix(self) -> Reals:
        """The strength of each feature in each of the part's columns."""
        return self.matrix_in(self.columns)

    def matrix_in(self, columns: slice) -> Reals:
        """Return the strength of each feature in some of the part's columns of the parameters."""
        growth = self.growth[:, columns.start - self.columns.start : columns.stop - self.columns.start]
        return np.asarray(self.strength[:, None] * (growth if self.group is None else growth[self.group]))

    def strength_in(self, column: int, features: Any = slice(None)) -> Reals:
        """Return the strengths of features, all or some, in one column of the parameters."""
        growth = self.growth[:, column - self.columns.start]
        return np.asarray(self.strength[features] * (growth[0] if self.group is None else growth[self.group[features]]))


@attrs.frozen(eq=False)
class Spread:
    """What one side pays because the other side's embedding is uncertain: Σ_i ½ weight_i Σ_k variance_k U_ik²."""

    weight: Reals
    """(rows) the curvature of all pairs of the row."""
    variance: Reals
    """(rank) of the other side's embedding, on average over the pairs."""


@attrs.frozen(eq=False)
class Side:
    """One side of a problem."""

    name: SideName
    pairs: Pairs
    features: Features
    factors: Part
    bias: Part | None
    bias_slot: int | None
    """Where the embedding holds this side's bias; the other side's embedding is 1 there."""
    cells: Reals | None = None
    """(rows) how much each row's cells count in the term over all cells; None where there is no such term."""
    spread: Spread | None = None
    """Where strengths are learnt."""

    @property
    def parts(self) -> tuple[Part, ...]:
        """The bias first, if there is one, then the factors: the order in which they are updated."""
        return (self.factors,) if self.bias is None else (self.bias, self.factors)


def observed(features: Features, totals: Reals) -> NDArray[np.float64]:
    """Return Σ_i x_is² totals_i of each feature."""
    total = np.zeros(features.cols)
    for part in range(0, features.rows, SCALE_ROWS):
        ptr = features.row_ptr[part : part + SCALE_ROWS + 1]
        values = features.values_by_row(part, part + SCALE_ROWS)
        squares = np.square(values, dtype=np.float64) * np.repeat(totals[part : part + SCALE_ROWS], np.diff(ptr))
        total += np.bincount(features.row_index[ptr[0] : ptr[-1]], weights=squares, minlength=features.cols)
    return total


@attrs.frozen(eq=False)
class Frequencies:
    """How often the features of a side are observed."""

    features: NDArray[np.float64]
    """(features) Σ_i x_is² |O_i|."""
    mean: float
    """|O_i|, on average over the instances that have pairs."""

    def scaled(self, scale: Scale) -> NDArray[np.float64]:
        """Return what the strengths of features are multiplied by."""
        if scale == "uniform":
            return np.ones(len(self.features))
        often = 1 + self.features
        if scale == "observations":
            return often
        return (1 + self.mean) * (often / (1 + self.mean)) ** float(scale)


def part_of(penalty: Penalty, features: Features, often: Frequencies, columns: slice) -> Part:
    """Return a part; ``often`` says how often features are observed."""
    with np.errstate(over="ignore"):
        growth = (1.0 + np.arange(columns.stop - columns.start)) ** penalty.growth
    strength = np.ones(features.cols)
    for block, factor in penalty.strengths.items():
        if block in features.blocks:
            strength[features.blocks[block]] = factor
    strength *= often.scaled(penalty.scale)
    return Part(
        penalty.regularizer,
        _in_precision(penalty, strength, growth, features.dtype),
        growth[None].astype(features.dtype),
        columns,
    )


def _in_precision(
    penalty: Penalty, strength: NDArray[np.float64], growth: NDArray[np.float64], dtype: np.dtype[Any]
) -> Reals:
    """Return strengths in the precision of the problem, if it can hold what becomes of them."""
    with np.errstate(over="ignore"):
        narrow = strength.astype(dtype)
        largest = max(getattr(penalty.regularizer, "l1", 1.0), getattr(penalty.regularizer, "l2", 1.0), 1.0)
        fits = np.isfinite(narrow * dtype.type(largest * growth[-1]))
    if not fits.all():
        raise ValueError(
            f"penalty: the strength of feature {int(np.flatnonzero(~fits)[0])} is too large for {dtype}: "
            "scale the features down, lower l1, l2 and growth, or use scale='uniform'"
        )
    return cast(Reals, narrow)


def check_blocks(penalties: Penalties | LearntPenalty, X: Features, Z: Features) -> None:
    """Refuse strengths of feature blocks that there are not. A penalty for both sides may name blocks of either."""
    if isinstance(penalties, LearntPenalty):
        known = [*(f"query.{name}" for name in X.blocks), *(f"target.{name}" for name in Z.blocks)]
        if unknown := [name for name in penalties.strengths if name not in known]:
            hint = suggestion(unknown[0], known)
            raise ValueError(f"penalty: there is no feature block {unknown[0]!r}; there are {known}{hint}")
        return
    both = penalties.P == penalties.Q
    for part, mine, theirs in (("P", X, Z), ("query_bias", X, Z), ("Q", Z, X), ("target_bias", Z, X)):
        known = [*mine.blocks, *(theirs.blocks if both else ())]
        for block in getattr(penalties, part).strengths:
            if block not in known:
                hint = suggestion(block, known)
                raise ValueError(f"penalty: {part} has no feature block {block!r}; there are {known}{hint}")


__all__ = ["Frequencies", "Part", "Side", "Spread", "check_blocks", "observed", "part_of"]
