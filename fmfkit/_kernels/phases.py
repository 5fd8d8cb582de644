"""An update by panels phase by phase: what a shard of the queries does in each, and what the shared features do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs
from numpy.typing import NDArray

from fmfkit._core import ffi, lib
from fmfkit._kernels.buffers import Table, allocate, doubles, pointers, reals
from fmfkit._kernels.components import PANEL, LossForm
from fmfkit._kernels.library import kernels, team
from fmfkit._kernels.panel import DOUBLES, SYMMETRIC, PanelUpdate, shared_sums
from fmfkit._kernels.plan import Plan, without_owned
from fmfkit._kernels.side import Given
from fmfkit.interfaces import Partition
from fmfkit.problem.problem import Problem
from fmfkit.problem.strengths import Side
from fmfkit.typing import Reals

BIAS = -PANEL
"""The column at which C takes a bias to begin."""
BOTH = PANEL + SYMMETRIC
"""Numbers that hold G and A of a row, and those that the common step takes."""
BY_FEATURE = ("residual", "diagonal", "scaled", "direction", "feature_sums", "weights", "feature_common")
"""Arrays of the features, which shards have in common."""
PASSING = ("VV", "g", "h")
"""Arrays that no shard needs any more once it has used them."""
SUMMED = (lib.FMF_WEIGH_ROWS, lib.FMF_EMBED_ROWS, lib.FMF_DIRECT_ROWS)
"""Phases that hand out sums over rows; others hand out sums by columns."""
Arrays = Mapping[str, NDArray[Any]]


class Phases(PanelUpdate):
    """One side of a shard, or of all, whose phases are called one by one."""

    def __init__(self, problem: Problem, side: Side, loss: LossForm, directions: int, threads: int) -> None:
        """Look at one side."""
        super().__init__(problem, side, loss, directions)
        self.threads = team(threads)

    def prepare_phases(self, embedding: Reals, common: Arrays, found: Any, plan: Plan | None) -> None:
        """Allocate what the phases need beside what is in common with others; ``found`` is, too."""
        self.settle(embedding)
        self.plan, self._found = plan, found
        mine: Table = {name: array for name, array in self.own_table(self.threads).items() if name not in common}
        self._arrays = {**allocate(mine), **common}
        if self.directions and self.side.features.shared.any():
            self._arrays["rho"][:] = shared_sums(self.side.features)

    def prepare_passes(self, whole: Phases) -> None:
        """Use all that the update of all shards has, for passes over the pairs of one."""
        self.embedding, self._found, self._arrays = whole.embedding, whole._found, whole._arrays
        self.plan = Plan.of_one_set(self.side.features)

    def begin(self, given: Given, partition: Partition | None = None, *, divided: bool = False) -> None:
        """Make the structs for a turn of the side; ``divided``: other shards have pairs of the same rows."""
        arrays = dict(self._arrays)
        if partition is not None:
            self.plan = self.plan or Plan(self.side.features)
            self.plan.lay_out(without_owned(partition, self.side.features), self.threads, runs=True)
            self.eta = arrays["eta"]
            self.eta[~self.side.features.shared] = 1
        assert self.plan is not None
        fields = pointers(arrays | self._by_round(self.plan), self.problem.dtype, DOUBLES)
        fields.setdefault("push", fields["Au"])
        fields |= {"scored": given.scored, "directions": self.directions, "divided": divided, "found": self._found}
        self._side, self._scratch = self._struct(given), ffi.new("fmf_panel *", fields)
        self._plan = ffi.new("fmf_plan *", self.plan.fields())

    def shard(self, phase: int, column: int, out: NDArray[Any] | None = None) -> None:
        """Do a phase of the rows; write what they add up to."""
        if out is not None and phase in SUMMED:
            self._scratch.sums = doubles(out)
        elif out is not None:
            self._scratch.columns = reals(out, self.problem.dtype, writable=True)
        run = kernels(self.problem.dtype).shard_phase
        run(self._side, self._plan, self._scratch, phase, column, self.threads)

    def features(self, phase: int, column: int, given: NDArray[Any] | None = None) -> None:
        """Do a phase of the shared features, given sums over all shards."""
        if given is not None and phase in (lib.FMF_BEGIN, lib.FMF_LOWER):
            self._scratch.columns = reals(given, self.problem.dtype, writable=True)
        elif given is not None:
            self._scratch.sums = doubles(given)
        run = kernels(self.problem.dtype).feature_phase
        run(self._side, self._plan, self._scratch, phase, column, self.threads)

    def put(self, both: Reals) -> None:
        """Let the next phases keep G and A in one array."""
        G, A = both[: self.side.features.rows * PANEL], both[self.side.features.rows * PANEL :]
        self._scratch.G, self._scratch.A = (reals(array, both.dtype, writable=True) for array in (G, A))

    def number_of(self, column: int) -> int:
        """Return the number of a panel in the order of the updates."""
        return 0 if column < 0 else column // PANEL + (self.side.bias is not None)

    def steps(self, column: int) -> None:
        """Take all steps of a panel whose G and A are there."""
        kernels(self.problem.dtype).panel_steps(self._side, self._plan, self._scratch, column, self.threads)

    def raise_errors(self) -> None:
        """Raise what functions in Python raised."""
        self._raise_errors()


def new_findings() -> Any:
    """Return room for what phases find out for one another."""
    return ffi.new("char[]", lib.FMF_FOUND)


def common_arrays(update: Phases, names: tuple[str, ...], lines: int) -> dict[str, NDArray[Any]]:
    """Return arrays that shards have in common; ``lines`` is the largest number of rows of the other side."""
    table = dict(update.own_table(update.threads))
    table["VV"] = attrs.evolve(table["VV"], shape=(lines, 2 * PANEL))
    return allocate({name: array for name, array in table.items() if name in names})


__all__ = ["BIAS", "BOTH", "BY_FEATURE", "PASSING", "Phases", "common_arrays", "new_findings"]
