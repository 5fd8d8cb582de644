"""A problem: observations, laid out once, and an objective, decided later."""

from __future__ import annotations

from typing import Any, Unpack

import attrs
import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from fmfkit.arguments import check_batch, frozen
from fmfkit.interfaces import Loss, Solver
from fmfkit.losses import Square
from fmfkit.plugins.registry import resolve
from fmfkit.problem.cells import AllCells, row_weights
from fmfkit.problem.features import Features
from fmfkit.problem.learnt import Shape, Strengths, initial_strengths, learnt_part, spread_of
from fmfkit.problem.objective import LearntPenalty, Objective, ObjectiveOptions, Penalties
from fmfkit.problem.observations import FeatureInput, Observations, check_sizes
from fmfkit.problem.pairs import Duplicates, Pairs
from fmfkit.problem.strengths import Frequencies, Part, Side, check_blocks, observed, part_of
from fmfkit.typing import Matrix, Reals, SideName


@attrs.frozen
class Memory:
    """Bytes that training needs."""

    data: int
    """The problem: pairs, features and strengths."""
    model: int
    """P and Q."""
    work: int
    """Embeddings, scores and the solver's buffers."""

    @property
    def total(self) -> int:
        """All of it."""
        return self.data + self.model + self.work


class ProblemOptions(ObjectiveOptions, total=False):
    """What ``from_scipy`` and ``from_coo`` take: the objective's options and the data's."""

    X: FeatureInput
    Z: FeatureInput
    weight: Any
    duplicates: Duplicates
    dtype: DTypeLike


class Changes(ObjectiveOptions, total=False):
    """What ``Problem.replace`` takes."""

    rank: int
    weight: ArrayLike | None


SIDES: tuple[SideName, SideName] = ("query", "target")


class Problem:
    """Queries, targets, their features, the y of some pairs, and what a good model is.

    Build one with ``from_scipy`` or ``from_coo``, or of ``Observations`` and an ``Objective``. It does not change;
    ``replace`` returns another one, which shares what is laid out.
    """

    __slots__ = ("_cells", "_means", "_objective", "_observations", "_offset", "_query", "_strengths", "_target")

    def __init__(self, observations: Observations, objective: Objective) -> None:
        """Check that the two belong together, and make the strengths."""
        if not isinstance(observations, Observations):
            raise TypeError(f"observations: expected Observations, got {type(observations).__name__}")
        if not isinstance(objective, Objective):
            raise TypeError(f"objective: expected an Objective, got {type(objective).__name__}")
        pairs = observations.by_query
        values, weights = observations.values
        y, weight = frozen(values), None if weights is None else frozen(weights)
        if objective.loss.learns:
            objective = attrs.evolve(objective, loss=objective.loss.learnt(None, y, weight))
        objective.loss.check_y(frozen(pairs.y))
        check_sizes(observations)
        _probe_loss(objective.loss, pairs)
        check_blocks(objective.penalty, observations.X, observations.Z)
        if isinstance(objective.penalty, LearntPenalty) and objective.cells is not None:
            raise ValueError(
                "penalty: strengths are not learnt where all cells count; give a Penalty, or leave out cells"
            )
        self._observations, self._objective = observations, objective
        self._offset = objective.offset_for(y, weight)
        self._cells = _cell_weights(observations, objective.cells)
        self._means = {name: self._mean_total(name) for name in SIDES}
        self._strengths = self._initial_strengths()
        self._query, self._target = self._side("query"), self._side("target")

    @classmethod
    def from_scipy(cls, Y: Matrix, *, rank: int, **options: Unpack[ProblemOptions]) -> Problem:
        """Build a problem from a sparse matrix of y, queries × targets.

        ``X``, ``Z``, ``weight``, ``duplicates`` and ``dtype`` are as for ``Observations.from_scipy``; ``rank``,
        ``loss``, ``penalty``, ``offset``, ``query_bias``, ``target_bias`` and ``cells`` make the ``Objective``.

        Args:
            Y: a sparse matrix, queries × targets; every stored entry is an observation.
            options: as for ``from_coo``.
        """
        objective, data = _parted(options)
        chosen = Objective(rank=rank, **objective)
        return cls(Observations.from_scipy(Y, **data), chosen)

    @classmethod
    def from_coo(
        cls,
        queries: ArrayLike,
        targets: ArrayLike,
        y: ArrayLike,
        *,
        rank: int,
        shape: tuple[int, int] | None = None,
        **options: Unpack[ProblemOptions],
    ) -> Problem:
        """Build a problem from index arrays: pair e is (queries[e], targets[e]), its value y[e].

        ``shape``, ``X``, ``Z``, ``weight``, ``duplicates`` and ``dtype`` are as for ``Observations.from_coo``;
        ``rank``, ``loss``, ``penalty``, ``offset``, ``query_bias``, ``target_bias`` and ``cells`` make the
        ``Objective``.
        """
        objective, data = _parted(options)
        chosen = Objective(rank=rank, **objective)
        return cls(Observations.from_coo(queries, targets, y, shape=shape, **data), chosen)

    def replace(self, **changes: Unpack[Changes]) -> Problem:
        """Return a problem with the same observations, laid out as they are, and another objective.

        It takes ``rank``, ``loss``, ``penalty``, ``offset`` (None leaves it to the loss), ``query_bias``,
        ``target_bias``, ``cells``, and ``weight``: one per pair, in the order of ``problem.query.pairs``, or None.
        Everything is checked again; strengths, and the offset unless it was given, are made again.

        Args:
            changes: what is different: ``rank``, ``loss``, ``penalty``, ``offset``, ``query_bias``, ``target_bias``,
                ``weight``.
        """
        given: dict[str, Any] = dict(changes)
        data = self._observations.with_weight(given.pop("weight")) if "weight" in given else self._observations
        return Problem(data, attrs.evolve(self._objective, **given))

    def with_strengths(self, strengths: Strengths) -> Problem:
        """Return the same problem where strengths that are learnt have got so far; nothing is laid out or checked."""
        other = self._copy()
        other._strengths = strengths
        other._query, other._target = other._side("query"), other._side("target")
        return other

    def with_loss(self, loss: Loss) -> Problem:
        """Return the same problem with a loss that has learnt; nothing is laid out or checked."""
        other = self._copy()
        other._objective = attrs.evolve(self._objective, loss=loss)
        return other

    def behind(self, by_query: Reals, by_target: Reals) -> Problem:
        """Return the square loss's problem of what lies behind y, in the order of both sides' pairs.

        The arrays are not copied: whoever draws them again changes the problem.
        """
        data, other = self._observations, self._copy()
        pairs = attrs.evolve(data.by_query, y=by_query), attrs.evolve(data.by_target, y=by_target)
        other._observations = attrs.evolve(data, by_query=pairs[0], by_target=pairs[1])
        other._objective = attrs.evolve(self._objective, loss=Square(), offset=self._offset)
        other._query, other._target = other._side("query"), other._side("target")
        return other

    def _copy(self) -> Problem:
        other = object.__new__(Problem)
        for name in Problem.__slots__:
            setattr(other, name, getattr(self, name))
        return other

    def _initial_strengths(self) -> Strengths | None:
        data, what = self._observations, self._objective
        if not isinstance(what.penalty, LearntPenalty):
            return None
        blocks = len(data.X.blocks), len(data.Z.blocks)
        plain = not (data.X.shared.any() and data.Z.shared.any())
        shape = Shape(what.rank, blocks, (what.query_bias, what.target_bias), plain)
        return initial_strengths(what.loss, *data.values, self._offset, shape)

    def _side(self, name: SideName) -> Side:
        data, what = self._observations, self._objective
        query = name == "query"
        slot = what.rank if query else what.rank + what.query_bias
        biased = what.query_bias if query else what.target_bias
        factors, bias = self._parts(name)
        pairs, penalty = data.by_query if query else data.by_target, what.penalty
        spread = None
        if isinstance(penalty, LearntPenalty) and self._strengths is not None:
            spread = spread_of(penalty, self._strengths, name, data)
        return Side(
            name=name,
            pairs=pairs,
            features=data.X if query else data.Z,
            factors=factors,
            bias=bias if biased else None,
            bias_slot=slot if biased else None,
            cells=self._cells.get(name),
            spread=spread,
        )

    def _parts(self, name: SideName) -> tuple[Part, Part | None]:
        """Return the factors' part of a side, and the bias's, if strengths say what it is."""
        data, penalty, rank = self._observations, self._objective.penalty, self.rank
        query = name == "query"
        features, columns = data.X if query else data.Z, (slice(0, rank), slice(rank, rank + 1))
        if isinstance(penalty, LearntPenalty):
            assert self._strengths is not None
            has_bias = self._strengths.side(name).bias is not None
            made = [learnt_part(penalty, self._strengths, name, features, some) for some in columns[: 1 + has_bias]]
            return made[0], made[1] if has_bias else None
        chosen = (penalty.P, penalty.query_bias) if query else (penalty.Q, penalty.target_bias)
        often = self._frequencies(name)
        factors, bias = (part_of(one, features, often, some) for one, some in zip(chosen, columns, strict=True))
        return factors, bias

    def mean_total(self, name: SideName) -> float:
        """Return what the pairs and the cells of an instance of a side weigh, on average over those that have pairs."""
        return self._means[name]

    def _mean_total(self, name: SideName) -> float:
        data = self._observations
        total = data.total
        if (all_cells := self._objective.cells) is not None:
            total += all_cells.weight * float(np.prod([data.sum_of(side, of) for side, of in self._cells.items()]))
        return total / max(int(data.sum_of(name, data.counts(name) > 0)), 1)

    def _frequencies(self, name: SideName) -> Frequencies:
        """Return how often features are observed; a cell counts as an observation of its weight."""
        data = self._observations
        often = data.observed(name)
        if (all_cells := self._objective.cells) is not None:
            other: SideName = "target" if name == "query" else "query"
            each = all_cells.weight * data.sum_of(other, self._cells[other]) * self._cells[name].astype(np.float64)
            often = often + (data.observed_by(each) if name == "query" else observed(data.Z, each))
        return Frequencies(often, self.mean_total(name))

    @property
    def observations(self) -> Observations:
        """The data, laid out."""
        return self._observations

    @property
    def objective(self) -> Objective:
        """What a good model is."""
        return self._objective

    @property
    def query(self) -> Side:
        """The query side."""
        return self._query

    @property
    def target(self) -> Side:
        """The target side."""
        return self._target

    @property
    def sides(self) -> tuple[Side, Side]:
        """The query side, then the target side: the order in which a round updates them."""
        return self._query, self._target

    @property
    def offset(self) -> float:
        """What is added to every score."""
        return self._offset

    @property
    def rank(self) -> int:
        """The number of latent dimensions, biases not counted."""
        return self._objective.rank

    @property
    def loss(self) -> Loss:
        """The loss."""
        return self._objective.loss

    @property
    def penalty(self) -> Penalties | LearntPenalty:
        """The penalties of all parts."""
        return self._objective.penalty

    @property
    def strengths(self) -> Strengths | None:
        """The strengths as far as they are learnt; None where they are given."""
        return self._strengths

    @property
    def learns(self) -> bool:
        """Whether the next round learns strengths; once they are held the objective never rises."""
        penalty, strengths = self._objective.penalty, self._strengths
        return isinstance(penalty, LearntPenalty) and strengths is not None and strengths.rounds < penalty.rounds

    @property
    def penalises_rows(self) -> bool:
        """Whether some part's regularizer takes a feature's whole row of parameters."""
        return any(part.by_row for side in self.sides for part in side.parts)

    @property
    def query_bias(self) -> bool:
        """Whether queries have a bias."""
        return self._objective.query_bias

    @property
    def target_bias(self) -> bool:
        """Whether targets have a bias."""
        return self._objective.target_bias

    @property
    def cells(self) -> AllCells | None:
        """What every cell of the matrix pays, observed or not."""
        return self._objective.cells

    @property
    def X(self) -> Features:
        """The features of the queries."""
        return self._observations.X

    @property
    def Z(self) -> Features:
        """The features of the targets."""
        return self._observations.Z

    @property
    def pairs(self) -> int:
        """The number of observed pairs."""
        return len(self._observations)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The precision of data and parameters."""
        return self._observations.dtype

    def memory(self, solver: Solver | str = "panel", threads: int = 1) -> Memory:
        """Return how many bytes training takes: data, model, and what the solver works in.

        For another rank ask ``problem.replace(rank=...)``. Python and its libraries, some 80 MB, are not counted.
        """
        chosen = resolve("solver", solver)
        work = chosen.workspace_bytes(self, threads)
        if work is None:
            raise ValueError(f"memory: {chosen!r} does not say what it needs")
        return memory_of(self, work)

    def __repr__(self) -> str:
        """Return the sizes, not the arrays."""
        return (
            f"<Problem {self.query.pairs.rows} queries x {self.target.pairs.rows} targets, {self.pairs} pairs, "
            f"{self.X.cols} + {self.Z.cols} features, rank {self.rank}, {self.loss!r}, {self.dtype}>"
        )


def memory_of(problem: Problem, work: int) -> Memory:
    """Return how many bytes training takes with a solver that works in so many."""
    real = problem.dtype.itemsize
    strengths = sum(part.strength.nbytes for side in problem.sides for part in side.parts)
    strengths += sum(side.cells.nbytes for side in problem.sides if side.cells is not None)
    widths = (problem.rank + problem.query_bias, problem.rank + problem.target_bias)
    model = sum(side.features.cols * width * real for side, width in zip(problem.sides, widths, strict=True))
    return Memory(data=problem.observations.nbytes + strengths, model=model, work=work)


def _cell_weights(data: Observations, cells: AllCells | None) -> dict[SideName, Reals]:
    """Return how much the cells of each side's instances count; nothing without a term over all cells."""
    if cells is None:
        return {}
    return {
        "query": row_weights(cells.queries, data.counts("query"), data.dtype, "queries"),
        "target": row_weights(cells.targets, data.counts("target"), data.dtype, "targets"),
    }


def _parted(options: ProblemOptions) -> tuple[ObjectiveOptions, dict[str, Any]]:
    """Return the options of the objective, and the others."""
    objective: Any = {name: value for name, value in options.items() if name in ObjectiveOptions.__annotations__}
    return objective, {name: value for name, value in options.items() if name not in objective}


def _probe_loss(loss: Loss, pairs: Pairs) -> None:
    """Call the loss on a few pairs: one that breaks its interface is refused before any work."""
    y = pairs.y[:3]
    score = np.zeros_like(y)
    for method in ("value", "gradient", "curvature"):
        result = getattr(loss, method)(frozen(score), frozen(y))
        check_batch(loss, method, result, y.shape, scalar=method == "curvature")


__all__ = ["Memory", "Problem"]
