"""What moves during a fit: the parameters, and the records of the rounds."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Literal

import attrs
import numpy as np

from fmfkit.interfaces import Reals

if TYPE_CHECKING:
    from fmfkit.interfaces import Solver
    from fmfkit.problem import Problem

SideName = Literal["query", "target"]


@attrs.frozen
class Quantiles:
    """The spread of a quantity over the features of both sides."""

    minimum: float
    lower: float
    median: float
    upper: float
    maximum: float

    @classmethod
    def of(cls, values: Reals) -> Quantiles | None:
        """Return the quantiles at 0, 1/4, 1/2, 3/4, 1 of ``values``; None where there are none."""
        return cls(*map(float, np.quantile(values, [0, 0.25, 0.5, 0.75, 1]))) if values.size else None


@attrs.frozen(kw_only=True)
class RoundReport:
    """What a solver tells of a round: whatever it knows without extra work."""

    loss: float | None = None
    """The weighted loss over all pairs after the round, offset included."""
    eta: Quantiles | None = None
    """The paper's eta without lambda, Σ H x² / Σ H |x| C: the share of a lone step that the sets left to features.
    Taken in the first dimension that a side updates: its bias, where it has one."""
    sigma: float | None = None
    """The paper's load imbalance: the longest thread's share of non-zeros over the mean, all sets together."""


@attrs.frozen(kw_only=True)
class RoundRecord:
    """One line of a fit's history. Round 0 is the starting point."""

    round: int
    loss: float
    """The weighted loss over all pairs."""
    penalty: float
    """Ω(P) + Ω(Q), biases included."""
    seconds: float
    """Spent in the solver's round."""
    eta: Quantiles | None = None
    sigma: float | None = None
    nonzero: float
    """The share of parameters that are not zero."""

    @property
    def objective(self) -> float:
        """Loss plus penalty: what training lowers."""
        return self.loss + self.penalty


@attrs.define(eq=False, kw_only=True)
class State:
    """The parameters of a model in training, and where the training stands. All else is made from it.

    ``P`` is n × (rank + 1) where queries have a bias, its weights in the last column, else n × rank; ``Q`` likewise.
    """

    P: Reals
    Q: Reals
    seed: int
    threads: int = 1
    round: int = 0
    record: RoundRecord | None = None
    """The record of the last round: composed solvers look at it."""
    turns: dict[tuple[int, ...], tuple[int, int]] = attrs.field(factory=dict)
    """Where composed solvers stand: which of their solvers has its turn, and for how many rounds. A composition is
    known by its place: () the outermost, (1,) the second solver of that, ..."""
    place: tuple[int, ...] = ()
    """The place of the solver that is running."""
    solver: Solver | None = None
    """The solver that worked on it last: a fit with an equal one takes its turns up where they were."""

    @classmethod
    def initial(cls, problem: Problem, *, seed: int, threads: int = 1, scale: float = 0.05) -> State:
        """Draw the factors from N(0, scale²); biases start at zero."""
        rng = np.random.default_rng([seed, 0])

        def draw(features: int, bias: bool) -> Reals:
            W = np.zeros((features, problem.rank + bias), problem.dtype)
            for part in range(0, features, 4096):  # by parts: no second W in memory
                rows = W[part : part + 4096, : problem.rank]
                rows[...] = scale * rng.standard_normal(rows.shape, dtype=problem.dtype)
            return W

        P = draw(problem.X.cols, problem.query_bias)
        return cls(P=P, Q=draw(problem.Z.cols, problem.target_bias), seed=seed, threads=threads)

    def rng(self, side: SideName) -> np.random.Generator:
        """Return the generator for this round and side: a function of the seed, so that a resumed fit goes on alike."""
        return np.random.default_rng([self.seed, 1, self.round, side == "target"])

    def parameters(self, side: SideName) -> Reals:
        """Return P for the query side, Q for the target side."""
        return self.P if side == "query" else self.Q

    def check_against(self, problem: Problem) -> None:
        """Refuse parameters of another shape, precision or order than ``problem`` needs."""
        for name, W, features, bias in (
            ("P", self.P, problem.X.cols, problem.query_bias),
            ("Q", self.Q, problem.Z.cols, problem.target_bias),
        ):
            wanted = (features, problem.rank + bias)
            if W.shape != wanted:
                raise ValueError(
                    f"state.{name} has shape {W.shape}, expected {wanted} "
                    f"({features} features x rank {problem.rank}{' + bias' if bias else ''})"
                )
            if W.dtype != problem.dtype or not W.flags.c_contiguous or not W.flags.writeable:
                raise ValueError(f"state.{name} must be a writable, C-ordered array of {problem.dtype}, got {W.dtype}")

    def check_values(self, problem: Problem) -> None:
        """Refuse values that the precision of ``problem`` cannot hold."""
        for name, W in (("P", self.P), ("Q", self.Q)):
            if not isinstance(W, np.ndarray):
                raise TypeError(f"init: {name} must be an array, got {type(W).__name__}")
            with np.errstate(over="ignore"):
                if not np.isfinite(W.astype(problem.dtype)).all():
                    raise ValueError(
                        f"init: {name} holds values that are NaN, infinite or too large for {problem.dtype}"
                    )

    def copy_for(self, problem: Problem, **changes: Any) -> State:
        """Return a copy in the precision of ``problem``, C-ordered, that shares no memory with this one."""
        P, Q = (np.array(W, dtype=problem.dtype, order="C", copy=True) for W in (self.P, self.Q))
        return attrs.evolve(self, P=P, Q=Q, turns=dict(self.turns), **changes)

    @contextlib.contextmanager
    def within(self, index: int) -> Iterator[None]:
        """Enter the ``index``-th solver of the running composition."""
        outer = self.place
        self.place = (*outer, index)
        try:
            yield
        finally:
            self.place = outer


__all__ = ["Quantiles", "RoundRecord", "RoundReport", "State"]
