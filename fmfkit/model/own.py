"""What a model keeps of its objective: what the parameters pay that belong to one instance alone, a new one too."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fmfkit.interfaces import Regularizer
from fmfkit.plugins import description
from fmfkit.problem.learnt import Strengths
from fmfkit.problem.objective import LearntPenalty, Penalty
from fmfkit.problem.problem import Problem
from fmfkit.problem.strengths import Part
from fmfkit.sections import Arrays, Section
from fmfkit.typing import Reals, SideName

Array = NDArray[np.float64]

INDICATOR = "indicator"
"""The feature block with a feature for each instance."""
SIDES: tuple[SideName, SideName] = ("query", "target")


@attrs.frozen(eq=False)
class OwnPenalty:
    """What the parameters of an instance's own feature pay, factors or bias."""

    regularizer: Regularizer
    strength: NDArray[Any]
    """In each column, for a feature that was never observed."""
    exponent: float
    """By how much the strength grows with 1 + how often the feature was observed."""

    @classmethod
    def of(cls, penalty: Penalty, columns: int, mean: float) -> OwnPenalty:
        """Return what a penalty says; ``mean`` is how often an average instance is observed."""
        exponent = {"uniform": 0.0, "observations": 1.0}.get(str(penalty.scale))
        unit = 1.0
        if exponent is None:
            exponent = float(penalty.scale)
            unit = (1 + mean) ** (1 - exponent)
        growth = (1.0 + np.arange(columns)) ** penalty.growth
        return cls(penalty.regularizer, penalty.strengths.get(INDICATOR, 1.0) * unit * growth, exponent)

    @classmethod
    def of_part(cls, part: Part, block: int) -> OwnPenalty:
        """Return what a part with strengths that were learnt says of one of its blocks."""
        return cls(part.regularizer, part.growth[block].astype(np.float64), 0.0)

    def at(self, often: float) -> Array:
        """Return the strengths for a feature that was observed so often."""
        with np.errstate(over="ignore", invalid="ignore"):
            strength = self.strength * np.power(1 + often, self.exponent)
        if not np.isfinite(strength).all():
            raise ArithmeticError("fold_in: the penalty's numbers became too large; check the weights of the pairs")
        return np.asarray(strength)


@attrs.frozen(eq=False)
class OwnTerms:
    """What an instance of one side pays for its own parameters."""

    factors: OwnPenalty
    bias: OwnPenalty | None
    spread: Array | None = None
    """Where strengths were learnt: by how much the square of the embedding is penalised, for each pair."""


@attrs.frozen(eq=False)
class FixedCells:
    """The term over all cells: its weight, its value, and how much the cells of each instance count."""

    weight: float
    value: float
    queries: Reals
    targets: Reals


@attrs.frozen(eq=False)
class Own:
    """What a model keeps of its objective to fold instances in: of both sides, None where they have no own feature."""

    query: OwnTerms | None
    target: OwnTerms | None
    cells: FixedCells | None

    @classmethod
    def of(cls, problem: Problem, strengths: Strengths | None) -> Own:
        """Return what a problem says, where its strengths have been learnt so far."""
        if strengths is not None:
            problem = problem.with_strengths(strengths)
        cells, what = None, problem.cells
        if what is not None:
            assert problem.query.cells is not None
            assert problem.target.cells is not None
            cells = FixedCells(what.weight, what.value, problem.query.cells, problem.target.cells)
        return cls(_terms(problem, "query"), _terms(problem, "target"), cells)

    def side(self, name: SideName) -> OwnTerms | None:
        """Return those of one side."""
        return self.query if name == "query" else self.target


def _terms(problem: Problem, name: SideName) -> OwnTerms | None:
    side = problem.query if name == "query" else problem.target
    if INDICATOR not in side.features.blocks:
        return None
    penalty, rank = problem.penalty, problem.rank
    if isinstance(penalty, LearntPenalty):
        assert problem.strengths is not None
        assert side.spread is not None
        block = list(side.features.blocks).index(INDICATOR)
        bias = None if side.bias is None else OwnPenalty.of_part(side.bias, block)
        spread = problem.strengths.curvature * side.spread.variance.astype(np.float64)
        return OwnTerms(OwnPenalty.of_part(side.factors, block), bias, spread)
    mean = problem.mean_total(name)
    chosen = (penalty.P, penalty.query_bias) if name == "query" else (penalty.Q, penalty.target_bias)
    own_bias = None if side.bias is None else OwnPenalty.of(chosen[1], 1, mean)
    return OwnTerms(OwnPenalty.of(chosen[0], rank, mean), own_bias)


def own_parts(own: Own) -> tuple[dict[str, Any], Arrays]:
    """Return what a file holds of it; penalties of regularizers that no plugin offers are left out."""
    about: dict[str, Any] = {"cells": None}
    arrays: Arrays = {}
    for name in SIDES:
        terms, described = own.side(name), {}
        about[name] = None
        if terms is None:
            continue
        parts = {"factors": terms.factors} | ({} if terms.bias is None else {"bias": terms.bias})
        for part, penalty in parts.items():
            regularizer = description.describe(penalty.regularizer)
            described[part] = {"regularizer": regularizer, "exponent": penalty.exponent}
            arrays[f"own.{name}.{part}"] = penalty.strength
        if all(one["regularizer"] is not None for one in described.values()):
            about[name] = described
            if terms.spread is not None:
                arrays[f"own.{name}.spread"] = terms.spread
    if own.cells is not None:
        about["cells"] = {"weight": own.cells.weight, "value": own.cells.value}
        arrays |= {"own.cells.query": own.cells.queries, "own.cells.target": own.cells.targets}
    return about, arrays


def own_of(section: Section, path: str, shapes: dict[str, tuple[int, int, bool]]) -> Own:
    """Return what a file holds; ``shapes`` are the rows, the rank and whether there is a bias, of each side."""
    given = section.part("own")
    sides = {
        name: _terms_of(given.part(name), name, path, shapes[name][1:]) if given.get(name) is not None else None
        for name in SIDES
    }
    cells = None
    if given.get("cells") is not None:
        told = given.part("cells")
        weights = {}
        for name in SIDES:
            array = section.arrays.get(f"own.cells.{name}")
            dtype = np.float32 if array is None else array.dtype
            if dtype not in (np.float32, np.float64):
                raise ValueError(f"own.cells.{name}: expected float32 or float64, got {dtype}")
            weights[name] = _not_negative(section, f"own.cells.{name}", dtype, (shapes[name][0],))
        cells = FixedCells(told.real("weight", least=0), told.real("value"), weights["query"], weights["target"])
    return Own(sides["query"], sides["target"], cells)


def _terms_of(given: Section, name: str, path: str, shape: tuple[int, bool]) -> OwnTerms:
    rank, biased = shape
    if biased != ("bias" in given.about):
        raise ValueError(f"own.{name}: its bias does not fit the parameters")
    penalties = {}
    for part, columns in (("factors", rank), ("bias", 1))[: 1 + biased]:
        told = given.part(part)
        penalties[part] = OwnPenalty(
            description.create(told.get("regularizer"), path, kind="regularizer"),
            _not_negative(given, f"own.{name}.{part}", np.float64, (columns,)),
            told.real("exponent", least=0),
        )
    spread = f"own.{name}.spread"
    return OwnTerms(
        penalties["factors"],
        penalties.get("bias"),
        _not_negative(given, spread, np.float64, (rank,)) if spread in given.arrays else None,
    )


def _not_negative(section: Section, name: str, dtype: Any, shape: tuple[int, ...]) -> Any:
    array = section.array(name, dtype, shape)
    if array.min(initial=0) < 0:
        raise ValueError(f"{name}: a value is below 0")
    return array


__all__ = ["FixedCells", "Own", "OwnPenalty", "OwnTerms", "own_of", "own_parts"]
