"""Algorithms 1, 2 and 3 of the paper in plain NumPy, float64, dense features: the oracle for everything native.

Written to be read beside the paper, not to be fast: for problems of a few hundred instances and features. ``paper`` has
the algorithms, ``panels`` and ``spread`` what the default solver adds to them.
"""

from __future__ import annotations

from typing import ClassVar, Literal

import attrs
import numpy as np
from attrs import validators
from numpy.typing import NDArray

from fmfkit.interfaces import PartitionScheduler, Solver
from fmfkit.problem.learnt import spread_squares
from fmfkit.problem.problem import Problem
from fmfkit.problem.strengths import Side
from fmfkit.regularizers import ElasticNet
from fmfkit.schedulers import RandomPartition, by_name, checked_partition
from fmfkit.solvers.reference.panels import panel_side
from fmfkit.solvers.reference.paper import algorithm_1, algorithm_2, algorithm_3, dimensions
from fmfkit.solvers.reference.sums import Array, Observed, dense, embed, loss_of, objective
from fmfkit.training.records import RoundReport
from fmfkit.training.state import State


@attrs.frozen(kw_only=True)
class Reference(Solver):
    """The paper's algorithm 1, 2 or 3 in plain NumPy and double precision."""

    learns_strengths: ClassVar[bool] = True

    algorithm: Literal[1, 2, 3] = attrs.field(default=3, validator=validators.in_((1, 2, 3)))
    scheduler: PartitionScheduler | None = attrs.field(
        factory=RandomPartition, converter=attrs.converters.optional(by_name)
    )
    """None, for panels only: shared features move together, along conjugate directions."""
    panel: int = attrs.field(default=1, validator=[validators.instance_of(int), validators.ge(1)])
    """Algorithm 3 with this many dimensions at once."""
    directions: int = attrs.field(default=2, validator=[validators.instance_of(int), validators.ge(1)])

    def refusals(self, problem: Problem) -> list[str]:
        """Refuse to learn strengths without panels, or set by set."""
        if problem.strengths is not None and (self.panel == 1 or self.scheduler is not None):
            return ["strengths are learnt by panels along directions: give panel=8 and scheduler=None"]
        if self.panel == 1:
            return ["without panels a scheduler is needed"] if self.scheduler is None else []
        return []

    def prepare(self, problem: Problem, state: State) -> None:
        """Keep nothing."""

    def round(self, problem: Problem, state: State, workspace: None) -> RoundReport:
        """Update P, then Q."""
        parameters = {"query": state.P.astype(np.float64), "target": state.Q.astype(np.float64)}
        learns = problem.learns
        for turn in range(2):
            side, other = problem.sides if turn == 0 else problem.sides[::-1]
            V = embed(problem, other, parameters[other.name])
            W = parameters[side.name]
            U = embed(problem, side, W)
            pairs = Observed.of(problem, side, U, V)
            score = problem.offset + np.sum(U[pairs.i] * V[pairs.j], axis=1)
            if self.algorithm == 3 and self.panel > 1:
                found = self._panel_side(problem, state, side, pairs, W, U, V, score)
                if learns and problem.strengths is not None:
                    problem = problem.with_strengths(problem.strengths.after_update(problem, side.name, found))
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
        if learns and problem.strengths is not None:
            squares = [spread_squares(side, embed(problem, side, parameters[side.name])) for side in problem.sides]
            state.strengths = problem.strengths.after_round(problem, loss_of(problem, state), (squares[0], squares[1]))
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
        U: Array,
        V: Array,
        score: Array,
    ) -> Array:
        regularizers = [part.regularizer for part in side.parts]
        along = self.scheduler is None and all(isinstance(net, ElasticNet) and net.l1 == 0 for net in regularizers)
        if along:
            sets = [np.arange(side.features.cols, dtype=np.int32)]
        else:
            sets = self._sets(self.scheduler or RandomPartition(sets=8), side, state)
        return panel_side(problem, side, pairs, W, U, V, score, sets, self.panel, self.directions if along else 0)


__all__ = ["Reference", "dense", "objective"]
