"""Rounds of the default solver on queries that are divided into shards, with sums over all shards between phases."""

from __future__ import annotations

import itertools
from typing import Any

import attrs
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from fmfkit._core import lib
from fmfkit._kernels import scoring
from fmfkit._kernels.cells import Gram, value
from fmfkit._kernels.components import PANEL, LossForm, is_in_python, is_smooth
from fmfkit._kernels.panel import RowsUpdate
from fmfkit._kernels.phases import BIAS, BOTH, BY_FEATURE, PASSING, Phases, common_arrays, new_findings
from fmfkit._kernels.plan import Plan
from fmfkit._kernels.scoring import Scored
from fmfkit._kernels.side import Given, SideUpdate
from fmfkit.interfaces import Partition
from fmfkit.problem.division import Division
from fmfkit.problem.learnt import spread_squares, spread_value
from fmfkit.problem.pairs import Pairs, chunks
from fmfkit.problem.problem import Problem
from fmfkit.problem.strengths import Part, Side, Spread
from fmfkit.schedulers import RandomPartition, checked_partition
from fmfkit.training.records import RoundReport
from fmfkit.training.state import State
from fmfkit.typing import Reals

SETS = 8
"""Sets of the shared features of the targets, where they go set by set."""


class Shards:
    """The shards that are here, round after round; owns all that C points to."""

    def __init__(self, problem: Problem, division: Division, state: State, directions: int) -> None:
        """Lay the shards out, and embed both sides."""
        self.division, self.threads = division, state.threads
        self.loss = LossForm.of(problem.loss, problem.dtype)
        self.U, self.V = scoring.embed_both(problem, state)
        self._score = np.empty(problem.pairs, problem.dtype)
        self._scored = False
        ptr = problem.query.pairs.ptr[division.cuts]
        self._pairs = [slice(int(a), int(b)) for a, b in itertools.pairwise(ptr)]
        self._lay_out_queries(problem, directions)
        self._lay_out_targets(problem, directions)

    def _lay_out_queries(self, problem: Problem, directions: int) -> None:
        division, shared = self.division, problem.query.features.shared
        sides = [query_side(problem, division, shard) for shard in range(len(division))]
        self._together = bool(shared.any())
        self._shared, self._directions = int(shared.sum()), directions
        if not self._together:
            self.queries = [self._row_by_row(problem, side) for side in sides]
            for update, shard in zip(self.queries, range(len(division)), strict=True):
                update.settle(self.U[division.rows(shard)])
            return
        phases = [Phases(problem, side, self.loss, directions, self.threads) for side in sides]
        common = common_arrays(phases[0], (*BY_FEATURE, *PASSING), problem.target.pairs.rows)
        found = new_findings()
        for shard, update in enumerate(phases):
            plan = Plan.of_one_set(update.side.features)
            update.prepare_phases(self.U[division.rows(shard)], common, found, plan)
        self.queries = [*phases]

    def _row_by_row(self, problem: Problem, side: Side) -> SideUpdate:
        """Return the update of a shard whose rows have nothing but features of their own."""
        if not self.loss.in_python and not any(is_in_python(part.regularizer) for part in side.parts):
            return RowsUpdate(problem, side, self.loss)
        return Phases(problem, side, self.loss, 0, self.threads)

    def _lay_out_targets(self, problem: Problem, directions: int) -> None:
        division, side = self.division, problem.target
        together = all(is_smooth(part.regularizer) for part in side.parts)
        chosen, found = directions if together else 0, new_findings()
        whole = Phases(problem, side, self.loss, chosen, self.threads)
        longest = int(np.diff(division.cuts).max(initial=0))
        common = common_arrays(whole, tuple(whole.own_table(self.threads)), longest)
        whole.prepare_phases(self.V, common, found, Plan.of_one_set(side.features) if chosen else None)
        self.target, self._both = whole, np.zeros(side.pairs.rows * BOTH, problem.dtype)
        self.passes = []
        for shard in range(len(division)):
            pairs = by_target(division.pairs(problem.query.pairs, shard), side.pairs.rows)
            bare = attrs.evolve(side, pairs=pairs, cells=None, spread=None)
            update = Phases(problem, bare, self.loss, 1, self.threads)
            update.prepare_passes(whole)
            self.passes.append(update)

    def round(self, problem: Problem, state: State) -> RoundReport:
        """Update P, then Q; return what stands then."""
        learns = problem.learns
        self._take_strengths(problem)
        found = self._query_turn(problem, state, learn=learns)
        if learns:
            problem = _with_found(problem, "query", found)
            self._take_strengths(problem)
        found = self._target_turn(problem, state, learn=learns)
        if learns:
            problem = _with_found(problem, "target", found)
        loss = self.division.total(lambda shard: self._rescore(shard))
        self._scored = True
        if learns:
            assert problem.strengths is not None
            squares = query_squares(problem, self.division, self.U), spread_squares(problem.target, self.V)
            state.strengths = problem.strengths.after_round(problem, loss, squares)
        return RoundReport(loss=loss, embeddings=(self.U, self.V))

    def _rescore(self, shard: int) -> float:
        update = self.queries[shard]
        return update.scored.scores(update.embedding, self.V, self._score[self._pairs[shard]], self.threads)

    def _take_strengths(self, problem: Problem) -> None:
        if problem.strengths is None:
            return
        for shard, update in enumerate(self.queries):
            update.take_strengths_of(problem, query_side(problem, self.division, shard, laid=update.side))
        self.target.take_strengths(problem)
        for passing in self.passes:
            passing.problem = problem

    # ---- queries ----

    def _query_turn(self, problem: Problem, state: State, *, learn: bool) -> NDArray[np.float64]:
        gram = None if problem.target.cells is None else Gram.of(self.V, problem.target.cells, self.threads)
        for shard, update in enumerate(self.queries):
            score = self._score[self._pairs[shard]]
            given = Given(state.P, self.V, score, self.threads, self._scored, gram, learn)
            if self._together:
                assert isinstance(update, Phases)
                update.begin(given)
                continue
            if shard:
                update.take_room(self.queries[shard - 1])
            nothing = None if isinstance(update, RowsUpdate) else Partition([], [0])
            update.update(given, nothing)
        found = np.zeros((0, 0, 0))
        if self._together:
            shared = [self._query_panel(column, learn=learn) for column in columns_of(problem, problem.query)]
            found = np.array(shared) if learn else found
        elif learn:
            found = np.zeros_like(_found(self.queries[0]))
        if learn:
            found = found + self.division.sum(found.shape, lambda shard: _found(self.queries[shard]))
        scoring.embed(problem, problem.query, state.P, self.threads, out=self.U)
        self._scored = False
        return found

    def _query_panel(self, column: int, *, learn: bool) -> NDArray[np.float64]:
        """Update a panel of all queries; return what shared features find out for the next strengths."""
        queries: Any = self.queries
        first, add = queries[0], self.division.sums.add

        def added(phase: int, out: NDArray[Any]) -> NDArray[Any]:
            add(out, lambda shard, into: queries[shard].shard(phase, column, into))
            return out

        first.shard(lib.FMF_LOAD, column)
        for shard in queries:
            shard.shard(lib.FMF_PASS, column)
            shard.raise_errors()
        first.features(lib.FMF_COMMON, column, added(lib.FMF_WEIGH_ROWS, np.empty(BOTH)))
        for shard in queries:
            shard.shard(lib.FMF_MOVE_ROWS, column)
        for step in range(self._directions):
            phase, then = (lib.FMF_PUSH_COLUMNS, lib.FMF_LOWER) if step else (lib.FMF_VIEW_COLUMNS, lib.FMF_BEGIN)
            columns = np.empty(self._shared * PANEL * (1 if step else 2), self._score.dtype)
            first.features(then, column, added(phase, columns))
            first.features(lib.FMF_TURN, column, added(lib.FMF_EMBED_ROWS, np.empty(PANEL)))
            first.features(lib.FMF_LENGTH, column, added(lib.FMF_DIRECT_ROWS, np.empty(2)))
        first.features(lib.FMF_TAKE, column)
        for shard in queries:
            shard.shard(lib.FMF_FOLLOW_ROWS, column)
        if not learn:
            return np.zeros(0)
        number = first.number_of(column)
        first.features(lib.FMF_MEASURE, column)
        found: NDArray[np.float64] = _found(first)[number].copy()
        for shard in queries:
            shard.shard(lib.FMF_MEASURE_ROWS, column)
        return found

    # ---- targets ----

    def _target_turn(self, problem: Problem, state: State, *, learn: bool) -> NDArray[np.float64]:
        gram = None if problem.query.cells is None else self._query_gram(problem)
        partition = None
        if not self.target.directions:
            sets = RandomPartition(sets=SETS)
            partition = checked_partition(sets, self.target.side.features, state.round, state.rng("target"))
        self.target.begin(Given(state.Q, self.V, self._score, self.threads, False, gram, learn), partition)
        for shard, update in enumerate(self.passes):
            score = self._score[self._pairs[shard]]
            theirs = self.U[self.division.rows(shard)]
            update.begin(Given(state.Q, theirs, score, self.threads, scored=False), divided=True)
        for column in columns_of(problem, problem.target):
            self._add_passes(column)
            self.target.put(self._both)
            self.target.steps(column)
            self.target.raise_errors()
        scoring.embed(problem, problem.target, state.Q, self.threads, out=self.V)
        return _found(self.target) if learn else np.zeros(0)

    def _add_passes(self, column: int) -> None:
        """Add up G and A of the targets over all shards; a bias has but a number of either."""
        rows, both = len(self.V), self._both

        def whole(shard: int, into: NDArray[Any]) -> None:
            self._pass(shard, column, into)

        def bias(shard: int, into: NDArray[Any]) -> None:
            self._pass(shard, column, both)
            into[:rows], into[rows:] = both[: rows * PANEL : PANEL], both[rows * PANEL :: BOTH - PANEL]

        if column >= 0:
            self.division.sums.add(both, whole)
            return
        sums = np.empty(2 * rows, both.dtype)
        self.division.sums.add(sums, bias)
        both[:] = 0
        both[: rows * PANEL : PANEL], both[rows * PANEL :: BOTH - PANEL] = sums[:rows], sums[rows:]

    def _pass(self, shard: int, column: int, both: Reals) -> None:
        update = self.passes[shard]
        update.put(both)
        update.shard(lib.FMF_LOAD, column)
        update.shard(lib.FMF_PASS, column)
        update.raise_errors()

    def _query_gram(self, problem: Problem) -> Gram:
        return query_gram(problem, self.division, self.U, self.threads)


def columns_of(problem: Problem, side: Side) -> list[int]:
    """Return where the panels of a side begin; the bias comes first, if there is one."""
    return [*([] if side.bias is None else [BIAS]), *range(0, problem.rank, PANEL)]


def query_side(problem: Problem, division: Division, shard: int, laid: Side | None = None) -> Side:
    """Return the query side of a shard; ``laid`` is the same, of another time."""
    side, rows = problem.query, division.rows(shard)
    spread = None if side.spread is None else Spread(side.spread.weight[rows], side.spread.variance)
    if laid is not None:
        return attrs.evolve(laid, factors=side.factors, bias=side.bias, spread=spread)
    pairs, features = division.pairs(side.pairs, shard), side.features.some_rows(rows)
    cells = None if side.cells is None else side.cells[rows]
    return attrs.evolve(side, pairs=pairs, features=features, cells=cells, spread=spread)


def by_target(pairs: Pairs, targets: int) -> Pairs:
    """Return the same pairs grouped by target."""
    shape = (pairs.rows, targets)
    Y = sp.csr_array((pairs.y, pairs.other, pairs.ptr), shape=shape).tocsc()
    weight = None
    if pairs.weight is not None:
        weight = sp.csr_array((pairs.weight, pairs.other, pairs.ptr), shape=shape).tocsc().data
    ptr = Y.indptr.astype(np.int64)
    return Pairs(targets, ptr, Y.indices.astype(np.int32, copy=False), Y.data, weight, chunks(ptr))


def query_gram(problem: Problem, division: Division, U: Reals, threads: int) -> Gram:
    """Return the queries of all shards as the term over all cells sees them."""
    cells, stride = problem.query.cells, U.shape[1]
    assert cells is not None

    def of(shard: int) -> NDArray[np.float64]:
        rows = division.rows(shard)
        gram = Gram.of(U[rows], cells[rows], threads)
        return np.concatenate([gram.M.ravel(), gram.level, [gram.total]])

    sums = division.sum((stride * stride + stride + 1,), of)
    return Gram(sums[: stride * stride].reshape(stride, stride), sums[stride * stride : -1], float(sums[-1]))


def query_squares(problem: Problem, division: Division, U: Reals) -> NDArray[np.float64]:
    """Return Σ_i c_i U_ik² over the queries of all shards."""

    def of(shard: int) -> NDArray[np.float64]:
        rows, spread = division.rows(shard), problem.query.spread
        assert spread is not None
        side = attrs.evolve(problem.query, spread=Spread(spread.weight[rows], spread.variance))
        return spread_squares(side, U[rows])

    return division.sum((problem.rank,), of)


def report(problem: Problem, division: Division, state: State, known: RoundReport | None = None) -> RoundReport:
    """Return what stands, summed over all shards; ``known`` is what a round has found of it."""
    threads = state.threads
    U, V = known.embeddings if known is not None and known.embeddings else scoring.embed_both(problem, state)
    form = LossForm.of(problem.loss, problem.dtype)

    def loss(shard: int) -> float:
        pairs = division.pairs(problem.query.pairs, shard)
        return Scored.of(pairs, form, problem.offset).scores(U[division.rows(shard)], V, None, threads)

    found = division.total(loss) if known is None or known.loss is None else known.loss
    cells = 0.0
    if problem.target.cells is not None:
        mine, theirs = query_gram(problem, division, U, threads), Gram.of(V, problem.target.cells, threads)
        cells = value(problem, mine, theirs)
    penalty = _penalty(problem, division, state)
    if problem.query.spread is not None:
        squares = query_squares(problem, division, U)
        penalty += float(squares @ problem.query.spread.variance.astype(np.float64)) / 2
        penalty += spread_value(problem.target, V)
    size, filled = _nonzero(problem, division, state)
    return RoundReport(loss=found, cells=cells, penalty=penalty, nonzero=filled / max(size, 1), embeddings=(U, V))


def _own(problem: Problem, division: Division, shard: int) -> NDArray[Any]:
    own = problem.X.own[division.rows(shard)]
    return own[own >= 0]


def _penalty(problem: Problem, division: Division, state: State) -> float:
    shared = np.flatnonzero(problem.X.shared)
    total = sum(scoring.penalty(part, state.Q, state.threads) for part in problem.target.parts)
    for part in problem.query.parts:

        def own(shard: int, part: Part = part) -> float:
            return _penalty_of(part, state, _own(problem, division, shard))

        total += _penalty_of(part, state, shared) + division.total(own)
    return float(total)


def _penalty_of(part: Part, state: State, features: NDArray[Any]) -> float:
    """Return the penalty of some features of the queries."""
    group = None if part.group is None else part.group[features]
    some = attrs.evolve(part, strength=part.strength[features], group=group)
    return scoring.penalty(some, state.P[features], state.threads)


def _nonzero(problem: Problem, division: Division, state: State) -> tuple[float, float]:
    """Return how many parameters there are, and how many are not zero."""
    shared = state.P[problem.X.shared]

    def of(shard: int) -> list[int]:
        own = state.P[_own(problem, division, shard)]
        return [own.size, int(np.count_nonzero(own))]

    size, filled = division.sum((2,), of)
    both = (shared, state.Q)
    return size + sum(W.size for W in both), filled + sum(int(np.count_nonzero(W)) for W in both)


def _found(update: SideUpdate) -> NDArray[np.float64]:
    assert update.found is not None
    return update.found


def _with_found(problem: Problem, name: Any, found: NDArray[np.float64]) -> Problem:
    """Return the problem with the strengths that follow from the update of a side."""
    assert problem.strengths is not None
    return problem.with_strengths(problem.strengths.after_update(problem, name, found))


__all__ = ["Shards", "report"]
