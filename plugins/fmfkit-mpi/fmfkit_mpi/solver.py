"""The default solver on queries in shards."""

from __future__ import annotations

import zlib
from typing import Any, ClassVar

import attrs
import numpy as np
from attrs import validators
from fmfkit_mpi.group import SHARDS, GroupSums

from fmfkit import Problem, RoundReport, Solver, State, kernels
from fmfkit.processes import launched

_count = [validators.instance_of(int), validators.ge(1)]


@attrs.frozen(kw_only=True)
class Sharded(Solver):
    """The default solver's rounds on queries in shards: equal to them but for rounding, on any number of ranks.

    The shards are those of the problem's ``division``. Where it has none, all queries are here, and ``shards`` of
    neighbouring ones are made.
    """

    learns_strengths: ClassVar[bool] = True

    shards: int = attrs.field(default=SHARDS, validator=_count)
    directions: int = attrs.field(default=2, validator=_count)

    def refusals(self, problem: Problem) -> list[str]:
        """Refuse what would need sums that are not made yet."""
        reasons: list[str] = kernels.Shards.refusals(problem)
        if problem.observations.division is None and launched() > 1:
            reasons.append(
                f"a launcher started {launched()} processes, and each has a whole problem; give Observations a "
                "division (Group.division), or run one process"
            )
        return reasons

    def measure(self, problem: Problem, state: State) -> RoundReport | None:
        """Measure all shards, where some may be elsewhere."""
        return None if problem.observations.division is None else kernels.measure(problem, state)

    def prepare(self, problem: Problem, state: State) -> kernels.Shards:
        """Lay the shards out."""
        return kernels.Shards(problem, self._division(problem), state, directions=self.directions)

    def round(self, problem: Problem, state: State, workspace: Any) -> RoundReport:
        """Update P, then Q, and compare what all ranks have."""
        report: RoundReport = workspace.round(problem, state)
        division = problem.observations.division
        if division is not None and isinstance(division.sums, GroupSums) and division.sums.ranks > 1:
            digest = zlib.crc32(state.P[problem.X.shared].data, zlib.crc32(state.Q.data))
            division.sums.check_same("parameters", digest, state.round + 1)
        return report

    def _division(self, problem: Problem) -> kernels.Division:
        """Return the problem's division, or one whose shards have about as many pairs each."""
        given = problem.observations.division
        if given is not None:
            return given
        pairs = problem.query.pairs
        ends = np.arange(1, self.shards) * len(pairs) // self.shards
        cuts = [0, *np.searchsorted(pairs.ptr, ends), pairs.rows]
        return kernels.Division(np.array(cuts, np.int64), GroupSums(None, self.shards))


__all__ = ["Sharded"]
