"""The paper's Algorithm 1: every coordinate sums over all the pairs it touches. The yardstick for the others' cost."""

from __future__ import annotations

import attrs
import numpy as np
from numpy.typing import NDArray

from fmfkit._kernels import components
from fmfkit._kernels.descent import Descent, Dimension, dimensions
from fmfkit.arguments import check_batch, frozen
from fmfkit.problem.pairs import Pairs
from fmfkit.problem.problem import Problem
from fmfkit.problem.strengths import Side
from fmfkit.solvers.descent import CoordinateDescent, SideWorkspace, Workspace, refresh_gradients
from fmfkit.training.state import State
from fmfkit.typing import Reals


@attrs.frozen
class Naive(CoordinateDescent):
    """Algorithm 1: plain coordinate descent, on one thread, d |O| (|X|/q + |Z|/p) operations a round."""

    def _plans(self, side: Side) -> bool:
        return False

    def _update(self, problem: Problem, state: State, workspace: Workspace, mine: SideWorkspace) -> None:
        every = dimensions(problem, mine.side)
        external_loss = workspace.gradient is not None
        if components.all_native(problem, mine.side):
            self.descent(problem, state, workspace, mine, None).naive(every)
            return
        descent = self.descent(problem, state, workspace, mine, None)
        beta = refresh_gradients(problem, workspace, mine.side) if external_loss else descent.beta
        W = state.parameters(mine.side.name)
        for dimension in every:
            for feature in range(mine.side.features.cols):
                step = self._step(descent, dimension, feature, W, beta)
                if step == 0:
                    continue
                W[feature, dimension.column] += step
                descent.naive_apply(dimension.slot, feature, float(step))
                touched = _touched(mine.side, feature)
                if external_loss and touched.size:
                    beta = max(beta, refresh_gradients(problem, workspace, mine.side, touched))

    def _step(self, descent: Descent, dimension: Dimension, feature: int, W: Reals, beta: float) -> float:
        sums = descent.naive_sums(dimension.slot, feature, beta)
        x, y = (np.array([value], W.dtype) for value in sums)
        regularizer, alone = dimension.part.regularizer, slice(feature, feature + 1)
        strength = frozen(dimension.part.strength_in(dimension.column, alone))
        step = regularizer.T(x, y, frozen(W[alone, dimension.column]), strength)
        return float(check_batch(regularizer, "T", step, (1,))[0])


def _touched(side: Side, feature: int) -> NDArray[np.int64]:
    """Return the places of all pairs of the instances that have the feature."""
    begin, end = side.features.col_ptr[feature : feature + 2]
    pairs: Pairs = side.pairs
    rows = side.features.col_index[begin:end]
    return np.concatenate([np.arange(pairs.ptr[i], pairs.ptr[i + 1]) for i in rows] or [np.zeros(0, np.int64)])
