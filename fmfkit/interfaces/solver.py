"""Solver: one way to lower the objective."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from fmfkit.problem.problem import Problem
    from fmfkit.training.records import RoundReport
    from fmfkit.training.state import State


class Solver(ABC):
    """One way to lower the objective, a round at a time.

    All that a solver learns stands in ``state.P`` and ``state.Q`` when a round returns: whatever else it keeps, it can
    make again from them, or it stands in ``state.arrays``, which are saved and resumed. So any solver starts from the
    state that any other left.
    """

    monotone: ClassVar[bool] = True
    """Whether the objective never rises from one round to the next, but for rounding."""

    deterministic: ClassVar[bool] = True
    """Whether the result is the same, bit for bit, for any number of threads."""

    learns_strengths: ClassVar[bool] = False
    """Whether it works on problems whose strengths are learnt: it then sets ``state.strengths``."""

    takes_rows: ClassVar[bool] = False
    """Whether it works where a ``RowRegularizer`` penalises a feature's whole row of parameters."""

    sampler: ClassVar[bool] = False
    """Whether each round adds a sample to ``state.mean``, which is its model: that of the last round is the best."""

    @property
    def rounds(self) -> int | None:
        """How many rounds a fit has that is not told; None leaves it to the fit."""
        return None

    def refusals(self, problem: Problem) -> Iterable[str]:
        """Return the reasons, all of them, why this solver cannot work on ``problem``; none by default."""
        return ()

    def workspace_bytes(self, problem: Problem, threads: int) -> int | None:
        """Return the bytes that rounds need beside the problem and the parameters; None where it cannot tell.

        Args:
            problem: what would be trained.
            threads: how many.
        """
        return None

    @abstractmethod
    def prepare(self, problem: Problem, state: State) -> Any:
        """Return the workspace for rounds on ``problem`` that start from ``state``; allocate here what rounds need."""

    @abstractmethod
    def round(self, problem: Problem, state: State, workspace: Any) -> RoundReport:
        """Update ``state.P`` and ``state.Q`` in place by one round, and report on it.

        ``workspace`` is what ``prepare`` returned, and nobody else has changed the state since. ``state.round`` is the
        number of rounds done before this one; randomness comes from ``state.rng(...)`` only.

        Args:
            problem: what is trained.
            state: where the training stands; P and Q are changed in place.
            workspace: what ``prepare`` returned.
        """


__all__ = ["Solver"]
