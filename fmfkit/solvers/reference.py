"""Algorithms 1, 2 and 3 of the paper in plain NumPy, float64, dense features: the oracle for everything native.

Written to be read beside the paper, not to be fast: for problems of a few hundred instances and features.
"""

from __future__ import annotations

from typing import Any, Literal, cast

import attrs
import numpy as np
from attrs import validators
from numpy.typing import NDArray

from fmfkit.arguments import check_batch
from fmfkit.interfaces import PartitionScheduler, Solver
from fmfkit.problem.features import Features
from fmfkit.problem.problem import Problem
from fmfkit.problem.strengths import Part, Side
from fmfkit.regularizers import ElasticNet
from fmfkit.schedulers import RandomPartition, by_name, checked_partition
from fmfkit.training.records import RoundReport
from fmfkit.training.state import State

Array = NDArray[np.float64]


@attrs.frozen(kw_only=True)
class Reference(Solver):
    """The paper's algorithm 1, 2 or 3 in plain NumPy and double precision."""

    algorithm: Literal[1, 2, 3] = attrs.field(default=3, validator=validators.in_((1, 2, 3)))
    scheduler: PartitionScheduler | None = attrs.field(
        factory=RandomPartition, converter=attrs.converters.optional(by_name)
    )
    """None, for panels only: shared features move together, along conjugate directions."""
    panel: int = attrs.field(default=1, validator=[validators.instance_of(int), validators.ge(1)])
    """Algorithm 3 with this many dimensions at once."""
    directions: int = attrs.field(default=2, validator=[validators.instance_of(int), validators.ge(1)])

    def refusals(self, problem: Problem) -> list[str]:
        """Refuse other penalties than the elastic net for panels."""
        nets = all(type(part.regularizer) is ElasticNet for side in problem.sides for part in side.parts)
        if self.panel == 1:
            return ["without panels a scheduler is needed"] if self.scheduler is None else []
        return [] if nets else ["with panel > 1 the penalties must be ElasticNets"]

    def prepare(self, problem: Problem, state: State) -> None:
        """Keep nothing."""

    def round(self, problem: Problem, state: State, workspace: None) -> RoundReport:
        """Update P, then Q."""
        parameters = {"query": state.P.astype(np.float64), "target": state.Q.astype(np.float64)}
        for side, other in (problem.sides, problem.sides[::-1]):
            V = embed(problem, other, parameters[other.name])
            W = parameters[side.name]
            U = embed(problem, side, W)
            pairs = Observed.of(problem, side, U, V)
            score = problem.offset + np.sum(U[pairs.i] * V[pairs.j], axis=1)
            if self.algorithm == 3 and self.panel > 1:
                self._panel_side(problem, state, side, pairs, W, V, score)
                state.parameters(side.name)[...] = W
                continue
            sets = self._sets(self.scheduler, side, state)
            for column, slot, part in dimensions(problem, side):
                v = V[:, slot]
                if self.algorithm == 1:
                    algorithm_1(problem, pairs, dense(side.features), W, column, part, v, score)
                elif self.algorithm == 2:
                    algorithm_2(problem, pairs, dense(side.features), W, column, part, v, score)
                else:
                    algorithm_3(problem, pairs, dense(side.features), W, column, part, v, score, sets)
            state.parameters(side.name)[...] = W
        return RoundReport()

    def _sets(self, scheduler: PartitionScheduler | None, side: Side, state: State) -> list[NDArray[np.int32]]:
        assert scheduler is not None  # or refused
        return checked_partition(scheduler, side.features, state.round, state.rng(side.name)).sets

    def _panel_side(
        self,
        problem: Problem,
        state: State,
        side: Side,
        pairs: Observed,
        W: Array,
        V: Array,
        score: Array,
    ) -> None:
        along = self.scheduler is None and all(cast(ElasticNet, part.regularizer).l1 == 0 for part in side.parts)
        if along:
            sets = [np.arange(side.features.cols, dtype=np.int32)]
        else:
            sets = self._sets(self.scheduler or RandomPartition(sets=8), side, state)
        panel_side(problem, side, pairs, W, V, score, sets, self.panel, self.directions if along else 0)


@attrs.frozen(eq=False)
class Cells:
    """The term over all cells, cell by cell; weights of zero where a problem has none."""

    weight: Array
    """(rows, their rows) the cell's weight."""
    gap: Array
    """(rows, their rows) its score less the cells' value."""

    @classmethod
    def of(cls, problem: Problem, side: Side, U: Array, V: Array) -> Cells:
        """Take every cell, as the side being updated sees it."""
        a, b = (one.cells for one in (problem.sides if side.name == "query" else problem.sides[::-1]))
        if problem.cells is None or a is None or b is None:
            return cls(np.zeros((len(U), len(V))), np.zeros((len(U), len(V))))
        weight = problem.cells.weight * a.astype(np.float64)[:, None] * b.astype(np.float64)
        return cls(weight, problem.offset - problem.cells.value + U @ V.T)

    @property
    def value(self) -> float:
        """The term."""
        return float(np.sum(self.weight * self.gap**2))

    def sums(self, v: Array) -> tuple[Array, Array]:
        """Return each row's gradient and curvature in a dimension."""
        return (2 * self.weight * self.gap) @ v, 2 * self.weight @ v**2

    def panel_sums(self, v: Array) -> tuple[Array, Array]:
        """Return them in a panel of dimensions."""
        return (2 * self.weight * self.gap) @ v, np.einsum("ij,jk,jl->ikl", 2 * self.weight, v, v)

    def move(self, moved: Array, v: Array) -> None:
        """Take up a change of the rows' embeddings in a dimension, or in a panel."""
        self.gap[...] += np.outer(moved, v) if v.ndim == 1 else moved @ v.T


@attrs.frozen(eq=False)
class Observed:
    """The pairs of a problem: row i of the side being updated, row j of the other, target y, weight; and all cells."""

    i: NDArray[np.int64]
    j: NDArray[np.int32]
    y: Array
    weight: Array
    cells: Cells

    @classmethod
    def of(cls, problem: Problem, side: Side, U: Array, V: Array) -> Observed:
        """List the pairs in the side's order."""
        pairs = side.pairs
        weight = np.ones(len(pairs)) if pairs.weight is None else pairs.weight.astype(np.float64)
        i = np.repeat(np.arange(pairs.rows), np.diff(pairs.ptr))
        cells = Cells.of(problem, side, U, V)
        return cls(i, pairs.other, pairs.y.astype(np.float64), weight, cells)


def algorithm_1(
    problem: Problem, pairs: Observed, X: Array, W: Array, column: int, part: Part, v: Array, score: Array
) -> None:
    """Update one dimension, a feature at a time, from sums over all pairs."""
    for s in range(X.shape[1]):
        x_s, v_j = X[pairs.i, s], v[pairs.j]
        g, h = bounded_derivatives(problem, pairs, score)
        G, H = pairs.cells.sums(v)
        x = np.sum(g * v_j * x_s, keepdims=True) + X[:, s] @ G
        y = np.sum(h * v_j**2 * x_s**2, keepdims=True) + X[:, s] ** 2 @ H
        step = checked_step(part, x, y, W, column, slice(s, s + 1))
        W[s, column] += step[0]
        score += x_s * step * v_j
        pairs.cells.move(X[:, s] * step, v)


def algorithm_2(
    problem: Problem, pairs: Observed, X: Array, W: Array, column: int, part: Part, v: Array, score: Array
) -> None:
    """Update one dimension, a feature at a time, from sums over instances: G and H stand for their pairs."""
    G, H = instance_sums(problem, pairs, v, score)
    moved = np.zeros(X.shape[0])
    for s in range(X.shape[1]):
        x, y = X[:, s : s + 1].T @ G, X[:, s : s + 1].T ** 2 @ H
        step = checked_step(part, x, y, W, column, slice(s, s + 1))
        W[s, column] += step[0]
        G += X[:, s] * step * H
        moved += X[:, s] * step
    score += moved[pairs.i] * v[pairs.j]
    pairs.cells.move(moved, v)


def algorithm_3(
    problem: Problem, pairs: Observed, X: Array, W: Array, column: int, part: Part, v: Array, score: Array,
    sets: list[NDArray[np.int32]],
) -> None:  # fmt: skip
    """Update one dimension, a set of features at a time, under the separable bound."""
    G, H = instance_sums(problem, pairs, v, score)
    moved = np.zeros(X.shape[0])
    for S in sets:
        X_S = X[:, S]
        C = np.abs(X_S).sum(axis=1)
        x, y = X_S.T @ G, np.abs(X_S).T @ (H * C)
        step = checked_step(part, x, y, W, column, S)
        W[S, column] += step
        G += H * (X_S @ step)
        moved += X_S @ step
    score += moved[pairs.i] * v[pairs.j]
    pairs.cells.move(moved, v)


def checked_step(part: Part, x: Array, y: Array, W: Array, column: int, which: Any) -> Array:
    """Return T for some features of a part."""
    w = W[which, column]
    step = part.regularizer.T(x, y, w, strengths(part)[which, column - part.columns.start])
    return np.asarray(check_batch(part.regularizer, "T", step, w.shape), np.float64)


def strengths(part: Part) -> Array:
    """Return the strength of each feature in each of the part's columns."""
    return part.strength[:, None].astype(np.float64) * part.growth.astype(np.float64)


def panel_side(
    problem: Problem, side: Side, pairs: Observed, W: Array, V: Array, score: Array,
    sets: list[NDArray[np.int32]], width: int, directions: int,
) -> None:  # fmt: skip
    """Update one side: the bias, a panel of one dimension, then the factors, by panels of ``width``."""
    X, own = dense(side.features), owned_features(side.features)
    shared = [np.array([s for s in S if s not in own.values()], dtype=np.int32) for S in sets]
    panels = [(slice(k, min(k + width, problem.rank)), side.factors) for k in range(0, problem.rank, width)]
    if side.bias is not None:
        panels.insert(0, (slice(problem.rank, problem.rank + 1), side.bias))
    for K, part in panels:
        net, strength = cast(ElasticNet, part.regularizer), strengths(part)[:, K if part is side.factors else slice(1)]
        theirs = V[:, K] if part is side.factors else np.ones((len(V), 1))
        v = theirs[pairs.j]
        g, h = derivatives(problem, pairs, score)
        G, A = pairs.cells.panel_sums(theirs)
        np.add.at(G, pairs.i, g[:, None] * v)
        np.add.at(A, pairs.i, h[:, None, None] * v[:, :, None] * v[:, None, :])
        moved = np.zeros_like(G)
        for S in [S for S in shared if S.size]:
            if directions:
                step = panel_directions(net, strength[S], X[:, S], G, A, W[S, K], directions)
            else:
                step = panel_set_step(net, strength[S], X[:, S], G, A, W[S, K])
            W[S, K] += step
            G += np.einsum("ikl,il->ik", A, X[:, S] @ step)
            moved += X[:, S] @ step
        for i, s in own.items():
            step = panel_own_step(net, strength[s], X[i, s], G[i], A[i], W[s, K])
            W[s, K] += step
            moved[i] += X[i, s] * step
        score += np.sum(moved[pairs.i] * v, axis=1)
        pairs.cells.move(moved, theirs)


def owned_features(features: Features) -> dict[int, int]:
    """Return the feature of each row that is its alone: the first column whose one stored value, not zero, is there."""
    own: dict[int, int] = {}
    values = features.values_by_column()
    for s in range(features.cols):
        begin, end = features.col_ptr[s : s + 2]
        if end - begin == 1 and values[begin] != 0:
            own.setdefault(int(features.col_index[begin]), s)
    return own


def panel_directions(
    net: ElasticNet, strength: Array, X_S: Array, G: Array, A: Array, w: Array, directions: int
) -> Array:
    """Return the steps of all shared features: the best common step, then conjugate gradients that leave it alone.

    On Σ_i G_i u_i + 1/2 u_i A_i u_i + penalty with u = X_S step, preconditioned by the diagonal.
    """
    penalty = net.l2 * strength

    def curve(step: Array) -> Array:
        return np.asarray(X_S.T @ np.einsum("ikl,il->ik", A, X_S @ step) + penalty * step)

    rho = X_S.sum(axis=1)
    K = np.einsum("i,ikl->kl", rho**2, A) + np.diag(penalty.sum(axis=0))
    solvable = bool(np.all(np.linalg.eigvalsh(K) > 1e-9 * np.diag(K).max()))

    def common(sums: Array) -> Array:
        return np.linalg.solve(K, sums) if solvable else np.zeros_like(sums)

    residual = -(X_S.T @ G + penalty * w)
    step = np.zeros_like(w) + common(residual.sum(axis=0))
    residual = residual - curve(step)
    diagonal = (X_S**2).T @ np.einsum("ikk->ik", A) + penalty
    weight, direction = 0.0, np.zeros_like(w)
    for _ in range(directions):
        scaled = np.divide(residual, diagonal, out=np.zeros_like(residual), where=diagonal > 0)
        before, weight = weight, float(np.sum(residual * scaled))
        keep = weight / before if before > 0 else 0.0
        direction = scaled - common(curve(scaled).sum(axis=0)) + keep * direction
        curvature, slope = float(np.sum(direction * curve(direction))), -float(np.sum(residual * direction))
        length = -slope / curvature if curvature > 0 and slope < 0 else 0.0
        step = step + length * direction
        residual = residual - length * curve(direction)
    return step


def panel_set_step(net: ElasticNet, strength: Array, X_S: Array, G: Array, A: Array, w: Array) -> Array:
    """Return a set's steps in a panel: T with the diagonal of A and a line search; with l1, T with the rows of |A|."""
    C = np.abs(X_S).sum(axis=1)
    diagonal = np.abs(A).sum(axis=2) if net.l1 > 0 else np.einsum("ikk->ik", A)
    step = net.T(X_S.T @ G, np.abs(X_S).T @ (C[:, None] * diagonal), w, strength)
    if net.l1 > 0:
        return np.asarray(step, np.float64)
    u = X_S @ step
    slope = np.sum(G * u) + np.sum(net.l2 * strength * w * step)
    curvature = np.einsum("ik,ikl,il->", u, A, u) + np.sum(net.l2 * strength * step**2)
    return np.asarray(step * (-slope / curvature if curvature > 0 and slope < 0 else 0.0), np.float64)


def panel_own_step(net: ElasticNet, strength: Array, x: float, G: Array, A: Array, w: Array) -> Array:
    """Return the step of a row's own feature: the minimiser of its B x B problem, or two sweeps with T."""
    if net.l1 == 0 or not strength.any():
        curvature, slope = x * x * A + np.diag(strength * net.l2), x * G + strength * net.l2 * w
        return np.asarray(np.linalg.lstsq(curvature, -slope)[0], np.float64)
    step = np.zeros_like(G)
    for k in [*range(len(G)), *range(len(G))]:
        x_k, y_k = x * G[k] + x * x * A[k] @ step, x * x * A[k, k]
        step[k] += net.T(np.array([x_k]), np.array([y_k]), (w + step)[k : k + 1], strength[k])[0]
    return step


def derivatives(problem: Problem, pairs: Observed, score: Array) -> tuple[Array, Array]:
    """Return g and the curvature that holds at the score, of every pair, weighted."""
    g = pairs.weight * problem.loss.gradient(score, pairs.y)
    return g, pairs.weight * problem.loss.curvature(score, pairs.y)


def bounded_derivatives(problem: Problem, pairs: Observed, score: Array) -> tuple[Array, Array]:
    """Return g and beta, where the loss has one, else the curvature, of every pair, weighted."""
    if problem.loss.beta is None:
        return derivatives(problem, pairs, score)
    return pairs.weight * problem.loss.gradient(score, pairs.y), pairs.weight * problem.loss.beta


def instance_sums(problem: Problem, pairs: Observed, v: Array, score: Array) -> tuple[Array, Array]:
    """Return G_i = Σ_j g_ij v_j and H_i = Σ_j h_ij v_j², over pairs and cells."""
    g, h = bounded_derivatives(problem, pairs, score)
    v_j, (G, H) = v[pairs.j], pairs.cells.sums(v)
    np.add.at(G, pairs.i, g * v_j)
    np.add.at(H, pairs.i, h * v_j**2)
    return G, H


def dense(features: Features) -> Array:
    """Return the feature matrix as a plain array."""
    X = np.zeros((features.rows, features.cols))
    X[np.repeat(np.arange(features.rows), np.diff(features.row_ptr)), features.row_index] = features.values_by_row()
    return X


def embed(problem: Problem, side: Side, W: Array) -> Array:
    """Return U = X P with a column for each bias: this side's as learnt, the other's held at 1."""
    U = np.ones((side.features.rows, problem.rank + problem.query_bias + problem.target_bias))
    U[:, : problem.rank] = dense(side.features) @ W[:, : problem.rank]
    if side.bias_slot is not None:
        U[:, side.bias_slot] = dense(side.features) @ W[:, problem.rank]
    return U


def dimensions(problem: Problem, side: Side) -> list[tuple[int, int, Part]]:
    """Return (column of the parameters, column of the embedding, part): the bias first, then the factors."""
    factors: list[tuple[int, int, Part]] = [(k, k, side.factors) for k in range(problem.rank)]
    if side.bias is None or side.bias_slot is None:
        return factors
    return [(problem.rank, side.bias_slot, side.bias), *factors]


def objective(problem: Problem, state: State | Any) -> float:
    """Return loss plus cells plus penalty of a state, or of anything with P and Q."""
    P, Q = state.P.astype(np.float64), state.Q.astype(np.float64)
    U, V = embed(problem, problem.query, P), embed(problem, problem.target, Q)
    pairs = Observed.of(problem, problem.query, U, V)
    score = problem.offset + np.sum(U[pairs.i] * V[pairs.j], axis=1)
    total = float(np.sum(pairs.weight * problem.loss.value(score, pairs.y)))
    total += pairs.cells.value
    for side, W in ((problem.query, P), (problem.target, Q)):
        for part in side.parts:
            total += float(np.sum(part.regularizer.penalty(W[:, part.columns], strengths(part))))
    return total


__all__ = ["Reference", "objective"]
