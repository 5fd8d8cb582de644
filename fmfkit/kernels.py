"""The kernels of fmfkit's own solvers, for solvers of plugins: in C, threaded, the same bits on any number of threads.

A ``Side`` stands for the queries or the targets of a problem. Latent dimensions are taken by panels of eight: panel k
has dimensions 8 k to 8 k + 7, and ``BIAS`` is the side's bias, a panel of one dimension. Arrays of a panel have eight
columns, in the precision of the problem; those past the rank, or past a bias, are zero.

With u = X d, a step d of some features in a panel changes the objective by at most Σ_i G_i u_i + ½ u_i A_i u_i and what
their penalty changes by: whatever lowers that lowers the objective.

``watched_phases`` tells how long each kind of work took; ``gather`` is what the machine can do at most where numbers
lie all over memory.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Final

import numpy as np
from numpy.typing import NDArray

from fmfkit._kernels import cells, parts, scoring, shards
from fmfkit._kernels.clock import PhaseTime, gather, watched_phases
from fmfkit._kernels.components import PANEL as _PANEL
from fmfkit._kernels.components import is_smooth
from fmfkit._kernels.library import choose_isa
from fmfkit._kernels.panel import SYMMETRIC
from fmfkit.native import check_abi
from fmfkit.problem.division import Division, Sums
from fmfkit.problem.problem import Problem
from fmfkit.problem.strengths import Part
from fmfkit.training.records import RoundReport
from fmfkit.training.state import State
from fmfkit.typing import Reals, SideName

PANEL: Final = _PANEL
"""The dimensions of a panel: eight."""
BIAS: Final = parts.BIAS
"""The panel of a side's bias."""


class Side:
    """The queries or the targets of a problem, as solvers update them; owns the scores of all pairs."""

    def __init__(self, problem: Problem, name: SideName, threads: int = 1) -> None:
        """Allocate what the kernels need."""
        self._side = problem.query if name == "query" else problem.target
        self._problem = problem
        self._parts = parts.Parts(problem, self._side, threads)

    @property
    def rows(self) -> int:
        """The number of instances."""
        return self._side.pairs.rows

    @property
    def features(self) -> int:
        """The number of features: rows of the parameters."""
        return self._side.features.cols

    @property
    def shared(self) -> NDArray[np.bool_]:
        """(features) Which features are no row's own: ``own_steps`` leaves them alone."""
        return self._side.features.shared

    @property
    def panels(self) -> tuple[int, ...]:
        """All panels, the bias first where there is one."""
        factors = range(-(-self._problem.rank // PANEL))
        return tuple(factors) if self._side.bias is None else (BIAS, *factors)

    def columns(self, panel: int) -> slice:
        """Return the columns of the parameters that a panel has."""
        rank = self._problem.rank
        return slice(rank, rank + 1) if panel == BIAS else slice(panel * PANEL, min((panel + 1) * PANEL, rank))

    def strengths(self, panel: int) -> Reals:
        """Return the strengths of all features in the panel's dimensions, (features, at most 8)."""
        return self.part(panel).matrix_in(self.columns(panel))

    def part(self, panel: int) -> Part:
        """Return the penalised part that a panel belongs to: the bias, or the factors."""
        if panel not in self.panels:
            raise ValueError(f"panel: expected one of {self.panels}, got {panel!r}")
        bias = self._side.bias
        return self._side.factors if panel != BIAS or bias is None else bias

    def embed(self, W: Reals) -> Reals:
        """Return U = X W, (rows, stride): the dimensions, the biases of both sides, zeros."""
        return scoring.embed(self._problem, self._side, W, self._parts.threads)

    def rescore(self, mine: Reals, theirs: Reals) -> float:
        """Make the scores of all pairs from the embeddings of both sides, and go on from there; return their loss.

        With a term over all cells, ``move`` keeps ``mine`` up to date.

        Args:
            mine: this side's embeddings.
            theirs: the other side's.
        """
        return self._parts.rescore(mine, theirs)

    @property
    def scores(self) -> Reals:
        """(pairs) The scores of all pairs, in the order of this side's pairs."""
        return self._parts.scores

    def gradients(self) -> tuple[Reals, Reals]:
        """Return g and h of all pairs at their scores, weights included: (pairs) each."""
        return self._scored().gradients()

    def sums(self, panel: int) -> tuple[Reals, Reals]:
        """Return G, (rows, 8), and A, (rows, 40), of a panel at the scores as they are.

        G_i = Σ_j g_ij V_j and A_i = Σ_j h_ij V_j V_jᵀ, and what other terms of the objective add. A is kept by its
        diagonals: number 8 r + k is A_kl for l = k + r (mod 8); so its first eight numbers are the diagonal, and
        ``unfolded`` makes matrices. Both arrays are written over by the next call.
        """
        self.part(panel)
        return self._scored().sums(panel)

    def by_feature(self, rows: Reals, *, squared: bool = False) -> Reals:
        """Return Σ_i x_is rows_i for each feature, or with x_is²: (features, 8).

        Args:
            rows: eight numbers for each row.
            squared: whether to multiply by x² instead of x.
        """
        return self._parts.by_feature(self._checked("rows", rows, self.rows), squared=squared)

    def by_row(self, features: Reals) -> Reals:
        """Return Σ_s x_is features_s for each row: (rows, 8).

        Args:
            features: eight numbers for each feature.
        """
        return self._parts.by_row(self._checked("features", features, self.features))

    def times(self, A: Reals, rows: Reals) -> Reals:
        """Return A_i rows_i for each row: (rows, 8).

        Args:
            A: as ``sums`` returns it.
            rows: eight numbers for each row.
        """
        matrices = self._checked("A", A, self.rows, SYMMETRIC)
        return self._parts.times(matrices, self._checked("rows", rows, self.rows))

    def own_steps(self, W: Reals, G: Reals, A: Reals, panel: int) -> Reals:
        """Let each row's own feature take the step that is best given G and A, in place in W; return what U moved by.

        G must be that of the row as it is: G_i + A_i u_i, once it has moved by u_i.

        Args:
            W: the parameters, changed in place.
            G: as ``sums`` returns it, brought up to date.
            A: as ``sums`` returns it.
            panel: which one.
        """
        self.part(panel)
        sums, matrices = self._checked("G", G, self.rows), self._checked("A", A, self.rows, SYMMETRIC)
        return self._scored().own_steps(self._parameters(W), sums, matrices, panel)

    def move(self, moves: Reals, panel: int) -> None:
        """Bring the scores up to date with what rows have moved by since ``sums`` of the same panel.

        Args:
            moves: what the embeddings of the panel moved by.
            panel: which one.
        """
        self.part(panel)
        self._scored().move(self._checked("moves", moves, self.rows), panel)

    def native(self, W: Reals, *, abi: int) -> AbstractContextManager[int]:
        """Return a context with the address of a ``fmfkit_side`` of fmfkit.h, for a solver in C that changes W.

        ``abi`` is FMFKIT_ABI of the header that the solver was compiled against. The address holds within the context,
        at whose end errors of components in Python are raised.
        """
        check_abi(abi)
        return self._scored().native(self._parameters(W))

    def _scored(self) -> parts.Parts:
        """Return the parts, once there are scores."""
        if self._parts.theirs is None:
            raise ValueError("there are no scores yet: call rescore(mine, theirs) first")
        return self._parts

    def _parameters(self, W: Reals) -> Reals:
        """Return parameters that are changed in place."""
        shape = (self.features, self._problem.rank + (self._side.bias is not None))
        if W.shape != shape or W.dtype != self._problem.dtype:
            wanted = f"{self._problem.dtype} of shape {shape}"
            raise ValueError(f"W: expected {wanted}, got {W.dtype} of shape {W.shape}")
        return W

    def _checked(self, name: str, given: Reals, count: int, width: int = PANEL) -> Reals:
        """Return an array that must have so many rows, C-ordered."""
        if given.shape != (count, width) or given.dtype != self._problem.dtype:
            wanted = f"{self._problem.dtype} of shape {(count, width)}"
            raise ValueError(f"{name}: expected {wanted}, got {given.dtype} of shape {given.shape}")
        return np.ascontiguousarray(given)


def sides(problem: Problem, threads: int = 1) -> tuple[Side, Side]:
    """Return the query side and the target side.

    Args:
        problem: what is trained.
        threads: how many; as for ``fit``.
    """
    return Side(problem, "query", threads), Side(problem, "target", threads)


def unfolded(A: Reals) -> Reals:
    """Return the matrices A_i, (rows, 8, 8), of how ``Side.sums`` keeps them.

    Args:
        A: rows of forty numbers, as ``Side.sums`` returns them.
    """
    k, r = np.arange(PANEL), np.arange(PANEL // 2 + 1)[:, None]
    full = np.empty((len(A), PANEL, PANEL), A.dtype)
    kept = A.reshape(len(A), PANEL // 2 + 1, PANEL)
    full[:, k, (k + r) % PANEL] = kept
    full[:, (k + r) % PANEL, k] = kept
    return full


class Shards:
    """Rounds of the default solver on queries that are divided into shards, some of which may be in other processes.

    A ``Division`` says which queries a shard has, and its ``Sums`` add up what shards have, in one order: the bits do
    not depend on where the shards are. It is the problem's, or, where all queries are here, that which is given.
    """

    def __init__(self, problem: Problem, division: Division, state: State, *, directions: int = 2) -> None:
        """Lay the shards out, and embed both sides."""
        self._division, self._whole = division, problem.observations.division is None
        self._shards = shards.Shards(problem, division, state, directions)

    @staticmethod
    def refusals(problem: Problem) -> list[str]:
        """Return the reasons why it cannot work on a problem."""
        reasons = [
            f"{part.regularizer!r} on features that queries share: sums over shards are made for l2 alone; give the "
            "queries' side l2, or use solver='panel' in one process"
            for part in problem.query.parts
            if problem.X.shared.any() and not is_smooth(part.regularizer)
        ]
        if problem.loss.learns and problem.observations.division is not None:
            reasons.append(f"{problem.loss!r} learns parameters of its own from all pairs, which no process has")
        return reasons

    def round(self, problem: Problem, state: State) -> RoundReport:
        """Update P, then Q, as ``Solver.round`` does; report on all shards."""
        found = self._shards.round(problem, state)
        if self._whole:
            return found
        if problem.learns and state.strengths is not None:
            problem = problem.with_strengths(state.strengths)
        return shards.report(problem, self._division, state, found)


def measure(problem: Problem, state: State) -> RoundReport:
    """Return what stands, summed over the shards of a problem that is divided: what ``Solver.measure`` returns.

    Args:
        problem: one whose observations have a division.
        state: the parameters, of the queries that are here.
    """
    division = problem.observations.division
    if division is None:
        raise ValueError("problem: its queries are not divided into shards")
    return shards.report(problem, division, state)


def use_instruction_set(name: str) -> None:
    """Use another instruction set: machines that must agree to the bit use the same.

    Args:
        name: one of ``build_info()["isa_available"]``.
    """
    choose_isa(name)


def objective(problem: Problem, P: Reals, Q: Reals, threads: int = 1) -> float:
    """Return the objective: the loss of all pairs, the term over all cells, and the penalties.

    Args:
        problem: what is trained.
        P: the parameters of the queries' features.
        Q: those of the targets'.
        threads: how many; as for ``fit``.
    """
    U, V = (scoring.embed(problem, side, W, threads) for side, W in zip(problem.sides, (P, Q), strict=True))
    parts = ((part, W) for side, W in zip(problem.sides, (P, Q), strict=True) for part in side.parts)
    penalty = sum(scoring.penalty(part, W, threads) for part, W in parts)
    return scoring.loss_of(problem, U, V, threads) + cells.value_of(problem, U, V, threads) + penalty


__all__ = [
    "BIAS",
    "PANEL",
    "Division",
    "PhaseTime",
    "Shards",
    "Side",
    "Sums",
    "gather",
    "measure",
    "objective",
    "sides",
    "unfolded",
    "use_instruction_set",
    "watched_phases",
]
