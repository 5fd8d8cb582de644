"""Pairs both ways and features of both sides: checked once, laid out once, whatever is decided later."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

import attrs
import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from fmfkit.problem.division import Division
from fmfkit.problem.features import Features, lay_out
from fmfkit.problem.inputs import (
    check_range,
    feature_blocks,
    largest_sum,
    precision,
    scaling_advice,
    side_size,
    sparse_pairs,
    weights,
)
from fmfkit.problem.pairs import Duplicates, Given, Pairs, weighed
from fmfkit.problem.strengths import observed
from fmfkit.typing import Matrix, Reals, SideName

FeatureInput = Matrix | Mapping[str, Matrix] | None


@attrs.frozen(eq=False, repr=False)
class Observations:
    """Queries, targets, their features, and the y of some pairs. Build them with ``from_scipy`` or ``from_coo``."""

    by_query: Pairs
    """The pairs by query."""
    by_target: Pairs
    """The same pairs by target; none where queries are divided: their shards have them."""
    X: Features
    """The features of the queries."""
    Z: Features
    """The features of the targets."""
    division: Division | None = None
    """How the queries are divided into shards, where those that are here may not be all."""

    @classmethod
    def from_scipy(
        cls,
        Y: Matrix,
        *,
        X: FeatureInput = None,
        Z: FeatureInput = None,
        weight: Matrix | None = None,
        duplicates: Duplicates = "error",
        dtype: DTypeLike = np.float32,
    ) -> Observations:
        """Lay out a sparse matrix of y, queries × targets. Every stored entry is an observation, explicit zeros too.

        Args:
            Y: scipy sparse matrix or array.
            X: features of the queries, one row each; a mapping of names to matrices makes named blocks side by side.
                None means an indicator for each query: plain matrix factorization.
            Z: features of the targets, likewise.
            weight: sparse matrix with the pattern of ``Y``: how much each observation counts; None means 1.
            duplicates: "error" refuses entries for the same pair; "sum" adds up their y and their weights.
            dtype: float32 or float64, for data and parameters.
        """
        Y = sparse_pairs(Y, "Y")
        w = None if weight is None else _weights_of(Y, weight)
        return cls.from_coo(Y.row, Y.col, Y.data, shape=Y.shape, X=X, Z=Z, weight=w, duplicates=duplicates, dtype=dtype)

    @classmethod
    def from_coo(
        cls,
        queries: ArrayLike,
        targets: ArrayLike,
        y: ArrayLike,
        *,
        shape: tuple[int, int] | None = None,
        X: FeatureInput = None,
        Z: FeatureInput = None,
        weight: ArrayLike | None = None,
        duplicates: Duplicates = "error",
        dtype: DTypeLike = np.float32,
        division: Division | None = None,
    ) -> Observations:
        """Lay out index arrays: pair e is (queries[e], targets[e]), its value y[e].

        ``shape`` is (number of queries, number of targets); left out, it comes from X and Z, else from the largest
        indices. With a ``division``, queries, X and pairs are those that are here, targets and Z all. The other
        arguments are those of ``from_scipy``.
        """
        real = precision(dtype)
        if duplicates not in ("error", "sum"):
            raise ValueError(f"duplicates: expected 'error' or 'sum', got {duplicates!r}")
        if shape is not None and (not isinstance(shape, tuple | list) or len(shape) != 2):
            raise ValueError(f"shape: expected (number of queries, number of targets), got {shape!r}")
        x, z = (None if side is None else feature_blocks(name, side, real) for name, side in (("X", X), ("Z", Z)))
        given = Given.of(queries, targets, y, weight, real)
        q = side_size(shape and shape[0], "queries", given.query, x, "X")
        p = side_size(shape and shape[1], "targets", given.target, z, "Z")
        by_query, by_target = given.grouped((q, p), duplicates, divided=division is not None)
        own = None if division is None else division.own
        X_laid, Z_laid = lay_out("X", x, q, real, own), lay_out("Z", z, p, real)
        return cls(by_query, by_target, X_laid, Z_laid, division)

    def with_pairs(
        self,
        queries: ArrayLike,
        targets: ArrayLike,
        y: ArrayLike,
        *,
        weight: ArrayLike | None = None,
        duplicates: Duplicates = "error",
    ) -> Observations:
        """Return other pairs of the same queries and targets; the features stay laid out as they are."""
        given = Given.of(queries, targets, y, weight, self.dtype)
        check_range("queries", given.query, self.shape[0])
        check_range("targets", given.target, self.shape[1])
        by_query, by_target = given.grouped(self.shape, duplicates, divided=self.division is not None)
        return attrs.evolve(self, by_query=by_query, by_target=by_target)

    def with_weight(self, weight: ArrayLike | None) -> Observations:
        """Return the same pairs with other weights, one per pair in the order of ``by_query``; None means 1."""
        w = None if weight is None else weights(weight, self.dtype)
        if w is not None and len(w) != len(self):
            raise ValueError(f"weight: {len(w)} entries for {len(self)} pairs")
        if self.division is not None:
            return attrs.evolve(self, by_query=attrs.evolve(self.by_query, weight=w))
        by_query, by_target = weighed(self.by_query, self.by_target, w)
        return attrs.evolve(self, by_query=by_query, by_target=by_target)

    def __len__(self) -> int:
        """Return the number of pairs."""
        return len(self.by_query)

    @property
    def shape(self) -> tuple[int, int]:
        """The number of queries and of targets."""
        return self.by_query.rows, self.by_target.rows

    @property
    def dtype(self) -> np.dtype[Any]:
        """The precision of data and parameters."""
        return self.by_query.y.dtype

    def observed(self, side: SideName) -> NDArray[np.float64]:
        """Return how often each feature of a side is observed: Σ_i x_is² |O_i|."""
        return self._query_observed if side == "query" else self._target_observed

    @functools.cached_property
    def _query_observed(self) -> NDArray[np.float64]:
        return self.observed_by(self.by_query.totals)

    @functools.cached_property
    def _target_observed(self) -> NDArray[np.float64]:
        return observed(self.Z, self.totals("target"))

    def observed_by(self, totals: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return Σ_i x_is² totals_i of each feature of the queries."""
        found, division = observed(self.X, totals), self.division
        if division is not None:
            shared = self.X.shared
            found[shared] = division.sum(
                (int(shared.sum()),),
                lambda shard: observed(self.X.some_rows(division.rows(shard)), totals[division.rows(shard)])[shared],
            )
        return found

    def totals(self, side: SideName) -> NDArray[np.float64]:
        """Return |O_i| of each instance: the number of its pairs, or the sum of their weights."""
        return self.by_query.totals if side == "query" else self._target_totals

    def counts(self, side: SideName) -> NDArray[np.int64]:
        """Return the number of pairs of each instance."""
        if side == "query" or self.division is None:
            return np.diff((self.by_query if side == "query" else self.by_target).ptr)
        return self._target_counts

    @functools.cached_property
    def _target_totals(self) -> NDArray[np.float64]:
        return self.by_target.totals if self.division is None else self._added_by_target(weighted=True)

    @functools.cached_property
    def _target_counts(self) -> NDArray[np.int64]:
        return self._added_by_target(weighted=False).astype(np.int64)

    def _added_by_target(self, *, weighted: bool) -> NDArray[np.float64]:
        division = self.division
        assert division is not None

        def of(shard: int) -> NDArray[Any]:
            pairs = division.pairs(self.by_query, shard)
            return np.bincount(pairs.other, pairs.weight if weighted else None, minlength=self.shape[1])

        return division.sum((self.shape[1],), of)

    def sum_of(self, side: SideName, values: NDArray[Any]) -> float:
        """Return the sum of a number of each instance."""
        division = self.division
        if side == "target" or division is None:
            return float(values.sum(dtype=np.float64))
        return division.total(lambda shard: values[division.rows(shard)].sum(dtype=np.float64))

    @functools.cached_property
    def total(self) -> float:
        """The weight of all pairs."""
        return self.sum_of("query", self.by_query.totals)

    @functools.cached_property
    def values(self) -> tuple[Reals, Reals | None]:
        """The y of all pairs and their weights; where queries are divided, the different ones, weighed by how often."""
        if self.division is None:
            return self.by_query.y, self.by_query.weight
        y, weight = self.division.values(self.by_query)
        return y, weight.astype(self.dtype)

    @property
    def nbytes(self) -> int:
        """The bytes of all arrays."""
        return self.by_query.nbytes + self.by_target.nbytes + self.X.nbytes + self.Z.nbytes

    def __repr__(self) -> str:
        """Return the sizes, not the arrays."""
        q, p = self.shape
        return f"<Observations {q} queries x {p} targets, {len(self)} pairs, {self.X.cols} + {self.Z.cols} features>"


def check_sizes(data: Observations) -> None:
    """Refuse y, weights and features whose squares the precision cannot add up."""
    pairs, most = data.by_query, largest_sum(data.dtype)
    advice = scaling_advice(data.dtype)
    heavy = "" if pairs.weight is None else f", with weights of up to {float(pairs.weight.max(initial=0)):g},"
    largest = max(float(pairs.y.max(initial=0)), -float(pairs.y.min(initial=0)))
    factors = [pairs.y, pairs.y] + ([] if pairs.weight is None else [pairs.weight])
    with np.errstate(over="ignore"):
        total = float(
            np.einsum(",".join("i" * len(factors)) + "->", *factors, dtype=np.float64)
        )  # in no array of its own
        square = np.float64(largest) ** 2
    if max(total, square) > most:  # each alone, too: small weights come after the square
        raise ValueError(f"y: values of up to {largest:g}{heavy} are too large for {data.dtype}; {advice}")
    sides: tuple[tuple[str, SideName, Features], ...] = (("X", "query", data.X), ("Z", "target", data.Z))
    for name, side, features in sides:
        largest = features.largest
        if largest**2 * float(pairs.totals.sum()) > most and _observed_most(data, side) > most:
            raise ValueError(f"{name}: values of up to {largest:g}{heavy} are too large for {data.dtype}; {advice}")


def _observed_most(data: Observations, side: SideName) -> float:
    return float(data.observed(side).max(initial=0))


def _weights_of(Y: Any, weight: Matrix) -> NDArray[Any]:
    """Return the weights of the entries of Y."""
    W = sparse_pairs(weight, "weight")
    if W.shape != Y.shape:
        raise ValueError(f"weight: shape {W.shape} differs from the shape of Y, {Y.shape}")
    if W.nnz != Y.nnz or (W.row != Y.row).any() or (W.col != Y.col).any():
        raise ValueError(
            f"weight: its {W.nnz} entries are not at the places of Y's {Y.nnz}, in the same order; "
            "copy Y and replace its .data"
        )
    return np.asarray(W.data)


__all__ = ["FeatureInput", "Observations", "check_sizes"]
