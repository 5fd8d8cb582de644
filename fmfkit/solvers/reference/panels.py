"""Algorithm 3 with a panel of several latent dimensions at once."""

from __future__ import annotations

from typing import cast

import numpy as np
from numpy.typing import NDArray

from fmfkit.interfaces import Regularizer
from fmfkit.problem.features import Features
from fmfkit.problem.problem import Problem
from fmfkit.problem.strengths import Side
from fmfkit.regularizers import ElasticNet
from fmfkit.solvers.reference.spread import Curvatures, add_spread, as_found, measured
from fmfkit.solvers.reference.sums import Array, Observed, dense, derivatives, strengths


def panel_side(
    problem: Problem, side: Side, pairs: Observed, W: Array, U: Array, V: Array, score: Array,
    sets: list[NDArray[np.int32]], width: int, directions: int,
) -> Array:  # fmt: skip
    """Update one side: the bias, a panel of one dimension, then the factors, by panels of ``width``.

    Returns what learnt strengths are made from, where they are.
    """
    found = []
    X, own = dense(side.features), owned_features(side.features)
    shared = [np.array([s for s in S if s not in own.values()], dtype=np.int32) for S in sets]
    panels = [(slice(k, min(k + width, problem.rank)), side.factors) for k in range(0, problem.rank, width)]
    if side.bias is not None:
        panels.insert(0, (slice(problem.rank, problem.rank + 1), side.bias))
    for K, part in panels:
        net, strength = part.regularizer, strengths(part)[:, K if part is side.factors else slice(1)]
        theirs = V[:, K] if part is side.factors else np.ones((len(V), 1))
        v = theirs[pairs.j]
        g, h = derivatives(problem, pairs, score)
        G, A = pairs.cells.panel_sums(theirs)
        np.add.at(G, pairs.i, g[:, None] * v)
        np.add.at(A, pairs.i, h[:, None, None] * v[:, :, None] * v[:, None, :])
        if part is side.factors:
            add_spread(side, K, U, G, A)
        moved = np.zeros_like(G)
        for S in [S for S in shared if S.size]:
            if directions:
                step = panel_directions(cast(ElasticNet, net), strength[S], X[:, S], G, A, W[S, K], directions)
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
        if side.spread is not None:
            curvatures = Curvatures(np.einsum("ikk->ik", A), cast(ElasticNet, net).l2 * strength)
            found.append(measured(problem, side, own, X, W[:, K], curvatures))
    return as_found(side, found, width)


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


def panel_set_step(regularizer: Regularizer, strength: Array, X_S: Array, G: Array, A: Array, w: Array) -> Array:
    """Return a set's steps in a panel: T with the diagonal of A and a line search; T with the rows of |A| where the
    penalty is more than l2."""
    C, net = np.abs(X_S).sum(axis=1), _only_squares(regularizer)
    diagonal = np.abs(A).sum(axis=2) if net is None else np.einsum("ikk->ik", A)
    x, y = X_S.T @ G, np.abs(X_S).T @ (C[:, None] * diagonal)
    step = regularizer.T(x.ravel(), y.ravel(), w.ravel(), strength.ravel()).reshape(w.shape)
    if net is None:
        return np.asarray(step, np.float64)
    u = X_S @ step
    slope = np.sum(G * u) + np.sum(net.l2 * strength * w * step)
    curvature = np.einsum("ik,ikl,il->", u, A, u) + np.sum(net.l2 * strength * step**2)
    return np.asarray(step * (-slope / curvature if curvature > 0 and slope < 0 else 0.0), np.float64)


def panel_own_step(regularizer: Regularizer, strength: Array, x: float, G: Array, A: Array, w: Array) -> Array:
    """Return the step of a row's own feature: the minimiser of its B x B problem, or two sweeps with T."""
    net = regularizer if isinstance(regularizer, ElasticNet) and not strength.any() else _only_squares(regularizer)
    if net is not None:
        curvature, slope = x * x * A + np.diag(strength * net.l2), x * G + strength * net.l2 * w
        return np.asarray(np.linalg.lstsq(curvature, -slope)[0], np.float64)
    moved = w.copy()  # added up place by place, so that rounding does not lead out of a constraint
    for k in [*range(len(G)), *range(len(G))]:
        x_k, y_k = x * G[k] + x * x * A[k] @ (moved - w), x * x * A[k, k]
        moved[k] += regularizer.T(np.array([x_k]), np.array([y_k]), moved[k : k + 1], strength[k : k + 1])[0]
    return moved - w


def _only_squares(regularizer: Regularizer) -> ElasticNet | None:
    """Return the regularizer if it is an elastic net without l1."""
    return regularizer if isinstance(regularizer, ElasticNet) and regularizer.l1 == 0 else None
