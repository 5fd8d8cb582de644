"""One side of a problem as C updates it: what it reads, and what every update has."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fmfkit._core import ffi
from fmfkit._kernels.buffers import Array, Table, allocate, doubles, pointers, reals, table_bytes
from fmfkit._kernels.cells import Gram, SideCells, cells_table, gram_table
from fmfkit._kernels.components import LossForm, PenaltyForm, raise_errors
from fmfkit._kernels.library import team
from fmfkit._kernels.plan import Plan
from fmfkit._kernels.scoring import Scored, embed, strip_table
from fmfkit._kernels.structs import features_fields, new_embedding, pairs_fields, stride
from fmfkit.interfaces import Partition
from fmfkit.problem.problem import Problem
from fmfkit.problem.strengths import Side, Spread
from fmfkit.typing import Reals


@attrs.frozen
class Draws:
    """That an update draws from the posterior: see ``fmf_draws``."""

    key: int
    """What random numbers are made from."""
    tolerance: float = 0.0
    most: int = 0
    """Directions, at most, of solving to the tolerance;"""
    tau: float = 0.0
    chebyshev: NDArray[np.float64] | None = None
    """or steps by the paper's bound: (steps, 3)."""


@attrs.frozen(eq=False)
class Given:
    """What an update of one side is given each time: the parameters it writes, their embedding, room for scores."""

    W: Reals
    theirs: Reals
    score: Reals
    threads: int
    scored: bool = True
    """Whether ``score`` is up to date."""
    gram: Gram | None = None
    """The other side as the term over all cells sees it."""
    learn: bool = False
    """Whether to find out what the next strengths are made from."""
    draws: Draws | None = None
    """Draws instead of steps, if given."""


class SideUpdate(ABC):
    """Updates one side, round after round; owns all that C points to.

    Nothing large is allocated before ``prepare``: what it will take can be told without taking it.
    """

    needs_scores = True
    """Whether scores must be up to date before an update."""
    stores_scores = True
    """Whether it needs room for a score of every pair."""
    wide = 1
    """Latent dimensions that it sweeps at once."""
    plan: Plan | None = None
    eta: Reals | None = None
    """The paper's eta of each feature, where it is measured."""
    found: NDArray[np.float64] | None = None
    """What the last update found out for the next strengths: see ``Strengths.after_update``."""

    def __init__(self, problem: Problem, side: Side, loss: LossForm, *, values: bool = True) -> None:
        """Look at one side of a problem; ``values`` says that feature values must not be left out."""
        self.problem, self.side, self.loss = problem, side, loss
        self.scored = Scored.of(side.pairs, loss, problem.offset)
        self.penalties = {name: self._penalty(name) for name in ("factors", "bias")}
        self._values = values and side.features.row_scale is not None
        self._cells: SideCells | None = None
        self._own_arrays: dict[str, NDArray[Any]] = {}
        self._round_arrays: dict[str, NDArray[Any]] = {}
        self._drawn: dict[str, NDArray[Any]] = {}

    def _penalty(self, name: str) -> PenaltyForm | None:
        part = getattr(self.side, name)
        if part is None:
            return None
        return PenaltyForm.of(part, shared=self.side.features.shared)

    @property
    def has_tables(self) -> bool:
        """Whether T of some part is a function that is called."""
        return any(form is not None and form.has_table for form in self.penalties.values())

    @property
    def their_rows(self) -> int:
        """The number of instances of the other side."""
        return (self.problem.target if self.side.name == "query" else self.problem.query).pairs.rows

    @abstractmethod
    def own_table(self, threads: int) -> Table:
        """Return what it allocates for itself, the same for all rounds."""

    def round_table(self, plan: Plan) -> Table:
        """Return what it allocates by the partition of a round."""
        return {}

    def plan_table(self, partition: Partition | None, threads: int) -> Table:
        """Return what laying out partitions takes."""
        return {}

    def table(self, partition: Partition | None, threads: int) -> Table:
        """Return all that it will have allocated; ``partition`` is one such as rounds will have."""
        features, dtype = self.side.features, self.problem.dtype
        values = {"row_value": Array((features.nonzeros,), dtype), "col_value": Array((features.nonzeros,), dtype)}
        by_round = {} if partition is None else self.round_table(Plan(features, partition))
        return {
            "embedding": Array((features.rows, stride(self.problem)), dtype),
            **(values if self._values else {}),
            **{f"cells {name}": array for name, array in self._cells_table().items()},
            **self._sums_table(),
            **self.own_table(threads),
            **self.plan_table(partition, threads),
            **by_round,
        }

    def _cells_table(self) -> Table:
        """Return what the term over all cells takes, this side's Gram matrix included."""
        if self.side.cells is None:
            return {}
        width = stride(self.problem)
        given = cells_table(self.problem, self.side, width, self.wide)
        return {**given, **gram_table(self.side.pairs.rows, width)}

    def nbytes(self, partition: Partition | None, threads: int) -> int:
        """Return the bytes of all that it will have allocated."""
        return table_bytes(self.table(partition, threads))

    def passing_bytes(self, threads: int) -> int:
        """Return the bytes that making its embedding, or its scores, takes for a while."""
        strip = table_bytes(strip_table(self.side.features, self.problem.dtype))
        return max(strip, table_bytes(self.scored.table(threads, stored=self.stores_scores)))

    def prepare(self, W: Reals, threads: int) -> None:
        """Allocate what all rounds need, and embed the side."""
        self.settle(new_embedding(self.problem, self.side))
        self._own(team(threads))
        self.embed(W, threads)

    def settle(self, embedding: Reals) -> None:
        """Make ready for updates that keep an embedding up to date, which somebody else may make."""
        if self._values:
            self.side = attrs.evolve(self.side, features=self.side.features.with_values())
        self.embedding = embedding
        self.prepare_cells()
        self._sums = allocate(self._sums_table()).get("sums", np.zeros(0))

    def take_room(self, other: SideUpdate) -> None:
        """Work in the room of another update, which is not at work."""
        self._own_arrays, other._own_arrays = other._own_arrays, {}

    def prepare_cells(self) -> None:
        """Allocate what the term over all cells needs, if there is one."""
        if self.side.cells is not None:
            self._cells = SideCells(self.problem, self.side, stride(self.problem), self.wide)

    def embed(self, W: Reals, threads: int) -> None:
        """Make the embedding from the parameters."""
        embed(self.problem, self.side, W, threads, out=self.embedding)

    def score(self, theirs: Reals, score: Reals, threads: int) -> float:
        """Make the scores of all pairs; return the weighted loss."""
        return self.scored.scores(self.embedding, theirs, score, threads)

    def gram(self, threads: int) -> Gram | None:
        """Return this side as the term over all cells sees it; None without such a term."""
        return None if self.side.cells is None else Gram.of(self.embedding, self.side.cells, threads)

    @abstractmethod
    def update(self, given: Given, partition: Partition | None) -> float | None:
        """Update the parameters; return the weighted loss then, if it is known."""

    def _own(self, threads: int) -> dict[str, NDArray[Any]]:
        self._own_arrays = _resized(self._own_arrays, self.own_table(threads))
        return self._own_arrays

    def _by_round(self, plan: Plan) -> dict[str, NDArray[Any]]:
        self._round_arrays = _resized(self._round_arrays, self.round_table(plan))
        return self._round_arrays

    def _struct(self, given: Given) -> Any:
        """Return the fmf_side; what it points to is the update's or the caller's."""
        dtype, side = self.problem.dtype, self.side
        penalties = {name: form.fields() for name, form in self.penalties.items() if form is not None}
        fields = {
            "pairs": pairs_fields(side.pairs, self.scored.chunk),
            "features": features_fields(side.features),
            "loss": self.loss.fields(),
            **penalties,
            "cells": {} if self._cells is None or given.gram is None else self._cells.fields(given.gram),
            "spread": {} if side.spread is None else self._spread_fields(given, side.spread),
            "draws": {} if given.draws is None else self._draws_fields(given.draws),
            "rank": self.problem.rank,
            "bias_slot": -1 if side.bias_slot is None else side.bias_slot,
            "offset": self.problem.offset,
            "theirs": reals(given.theirs, dtype),
            "their_rows": len(given.theirs),
            "stride": given.theirs.shape[1],
            "mine": reals(self.embedding, dtype, writable=True),
            "parameters": reals(given.W, dtype, writable=True),
            "width": given.W.shape[1],
            "score": reals(given.score, dtype, writable=True),
        }
        return ffi.new("fmf_side *", fields)

    def take_strengths(self, problem: Problem) -> None:
        """Go on with the strengths of a problem that is otherwise the same."""
        side = problem.query if self.side.name == "query" else problem.target
        self.take_strengths_of(problem, side)

    def take_strengths_of(self, problem: Problem, side: Side) -> None:
        """Do so where the rows are those of a side, which may be a part of the problem's."""
        self.problem = problem
        self.side = attrs.evolve(self.side, factors=side.factors, bias=side.bias, spread=side.spread)
        self.penalties = {name: self._penalty(name) for name in ("factors", "bias")}

    def sums_apart(self) -> int:
        """Return how many sums over all feature blocks are made apart, where strengths are learnt."""
        raise NotImplementedError

    @property
    def updates(self) -> int:
        """How many times its parameters are updated in a round: once for the bias, once for each panel."""
        return -(-self.problem.rank // self.wide) + (self.side.bias is not None)

    def _sums_table(self) -> Table:
        """Return what finding out the next strengths takes."""
        if self.side.spread is None:
            return {}
        return {"sums": Array((self.sums_apart(), len(self.side.features.blocks) + 1, self.wide), np.float64)}

    def _spread_fields(self, given: Given, spread: Spread) -> dict[str, Any]:
        """Return the members of fmf_spread; what it points to is the update's."""
        dtype, groups, strengths = self.problem.dtype, len(self.side.features.blocks), self.problem.strengths
        assert strengths is not None
        self._variance = np.zeros(-(-len(spread.variance) // self.wide) * self.wide, dtype)
        self._variance[: len(spread.variance)] = spread.variance
        fields = {
            "weight": reals(spread.weight, dtype),
            "m": reals(self._variance, dtype),
            "noise": strengths.noise,
            "groups": groups,
        }
        self.found = None
        if given.learn:
            self.found = np.zeros((self.updates, groups + 1, self.wide))
            fields |= {"found": doubles(self.found), "portion": doubles(self._sums)}
        return fields

    def draws_table(self, draws: Draws) -> Table:
        """Return what draws take beside what steps do."""
        return {}

    def _draws_fields(self, draws: Draws) -> dict[str, Any]:
        """Return the members of fmf_draws; what it points to is the update's."""
        assert self.problem.strengths is not None
        self._drawn = _resized(self._drawn, self.draws_table(draws))
        if "ended" in self._drawn:
            self._drawn["ended"].fill(-1)
        asked: dict[str, Any] = {"noise": self.problem.strengths.noise, "key": draws.key}
        if draws.chebyshev is None:
            asked |= {"tolerance": draws.tolerance, "most": draws.most}
        else:
            asked |= {"tau": draws.tau, "steps": len(draws.chebyshev), "chebyshev": doubles(draws.chebyshev)}
        return {**asked, **pointers(self._drawn, self.problem.dtype, frozenset())}

    def _raise_errors(self) -> None:
        raise_errors([self.loss, *(form for form in self.penalties.values() if form is not None)])


def _resized(arrays: dict[str, NDArray[Any]], table: Table) -> dict[str, NDArray[Any]]:
    """Return the arrays of a table: those that are there if they fit, else new ones."""
    fitting = {name: array for name, array in arrays.items() if name in table and array.shape == table[name].shape}
    arrays.clear()
    return fitting | allocate({name: array for name, array in table.items() if name not in fitting})
