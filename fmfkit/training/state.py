"""What moves during a fit: the parameters, and where the training stands."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fmfkit.interfaces import Loss, Solver
from fmfkit.problem.features import Features
from fmfkit.problem.learnt import Strengths, start_scales
from fmfkit.problem.problem import Problem
from fmfkit.training.records import RoundRecord
from fmfkit.typing import Reals, SideName

Parameters = tuple[Reals, Reals]
"""P and Q."""


@attrs.frozen(eq=False, kw_only=True)
class Mean:
    """The mean of samples, as one model: of more dimensions than a sample, because those of samples stand side by side.

    It is kept as a sum, and divided where it is asked for: nothing is rounded twice.
    """

    P: Reals
    Q: Reals
    """P Qᵀ is the sum of the samples' scores, but for those in ``added``; biases, in a last column, are summed."""
    rank: int
    """The dimensions of ``P`` and ``Q``, biases apart."""
    samples: int
    """How many there are, with those in ``added``."""
    loss: float
    """Their weighted loss, on average."""
    skipped: int = 0
    """How many came before that do not count."""
    added: tuple[Parameters, ...] = ()
    """Samples that are not in ``P`` and ``Q`` yet."""
    kept: tuple[Parameters, ...] = ()
    """Samples that are kept as they are, where a solver is asked to."""

    def joined(self) -> Mean:
        """Return the same with nothing in ``added``."""
        if not self.added:
            return self
        P, Q = (self._side_by_side([W[side] for W in ((self.P, self.Q), *self.added)], side) for side in (0, 1))
        return attrs.evolve(self, P=P, Q=Q, rank=P.shape[1] - self._biases[0], added=())

    def parameters(self) -> Parameters:
        """Return P and Q of the mean."""
        whole = self.joined()
        P, Q = whole.P / whole.P.dtype.type(self.samples), whole.Q.copy()
        Q[:, whole.rank :] /= Q.dtype.type(self.samples)
        return P, Q

    @property
    def _biases(self) -> tuple[int, int]:
        return self.P.shape[1] - self.rank, self.Q.shape[1] - self.rank

    def _side_by_side(self, parts: list[Reals], side: int) -> Reals:
        factors = [W[:, : W.shape[1] - self._biases[side]] for W in parts]
        biases = [W[:, W.shape[1] - self._biases[side] :] for W in parts]
        return np.concatenate([*factors, sum(biases[1:], start=biases[0])], axis=1)


@attrs.define(eq=False, kw_only=True)
class State:
    """The parameters of a model in training, and where the training stands. All else is made from it.

    ``P`` is n × (rank + 1) where queries have a bias, its weights in the last column, else n × rank; ``Q`` likewise.
    """

    P: Reals
    Q: Reals
    seed: int
    """Of all draws."""
    threads: int = 1
    """How many."""
    round: int = 0
    """The rounds that are over."""
    record: RoundRecord | None = None
    """The record of the last round."""
    strengths: Strengths | None = None
    """What was learnt of the strengths, where a problem's are."""
    loss: Loss | None = None
    """The loss, where it has learnt parameters of its own."""
    mean: Mean | None = None
    """The mean of a sampler's samples so far: the model is then this, and ``P`` and ``Q`` are the last sample."""
    turns: dict[tuple[int, ...], tuple[int, int]] = attrs.field(factory=dict)
    """Where composed solvers stand: which of their solvers has its turn, and for how many rounds. A composition is
    known by its place: () the outermost, (1,) the second solver of that, ..."""
    place: tuple[int, ...] = ()
    """The place of the solver that is running."""
    spent: dict[tuple[int, ...], float] = attrs.field(factory=dict)
    """How many seconds the rounds of stages with a limit have taken, by place."""
    arrays: dict[str, NDArray[Any]] = attrs.field(factory=dict)
    """What a solver keeps for later rounds, by names of its choice, such as momenta: saved and resumed with the rest. A
    fit with another solver begins without."""
    solver: Solver | None = None
    """The solver that worked on it last: a fit with an equal one takes its turns up where they were."""

    @classmethod
    def initial(cls, problem: Problem, *, seed: int, threads: int = 1, scale: float | None = None) -> State:
        """Draw the factors from N(0, scale²); biases start at zero. None is 0.05, or what strengths that are learnt
        begin with.

        Args:
            problem: what is trained.
            seed: of all draws.
            threads: how many; as for ``fit``.
            scale: how large the first parameters are.
        """
        rng = np.random.default_rng([seed, 0])

        def draw(features: Features, bias: bool) -> Reals:
            W = np.zeros((features.cols, problem.rank + bias), problem.dtype)
            scales = np.full(features.cols, 0.05 if scale is None else scale, problem.dtype)
            if scale is None and problem.strengths is not None:
                scales = start_scales(problem.strengths, features)
            for part in range(0, features.cols, 4096):  # by parts: no second W in memory
                rows = W[part : part + 4096, : problem.rank]
                rows[...] = scales[part : part + 4096, None] * rng.standard_normal(rows.shape, dtype=problem.dtype)
            return W

        P, Q = draw(problem.X, problem.query_bias), draw(problem.Z, problem.target_bias)
        return cls(P=P, Q=Q, seed=seed, threads=threads, strengths=problem.strengths)

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
        """Return a copy in the precision of ``problem``, C-ordered, that shares no memory with this one.

        Args:
            changes: what is different.
        """
        P, Q = (np.array(W, dtype=problem.dtype, order="C", copy=True) for W in (self.P, self.Q))
        arrays = {name: np.array(array) for name, array in self.arrays.items()}
        return attrs.evolve(self, P=P, Q=Q, turns=dict(self.turns), spent=dict(self.spent), arrays=arrays, **changes)

    @contextlib.contextmanager
    def within(self, index: int) -> Iterator[None]:
        """Enter the ``index``-th solver of the running composition."""
        outer = self.place
        self.place = (*outer, index)
        try:
            yield
        finally:
            self.place = outer


__all__ = ["Mean", "Parameters", "State"]
