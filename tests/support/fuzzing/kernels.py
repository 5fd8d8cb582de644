"""The doors that lead to C: arrays of any kind for problems, row numbers and matrices of any kind for models."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import scipy.sparse as sp

from fmfkit import AllCells, LearntPenalty, Model, Penalty, Problem, fit
from fuzzing.choices import REAL, WHOLE, Choices
from fuzzing.corpus import folder, model_files
from fuzzing.law import LawError, finite

DTYPES = ["int32", "int64", "uint8", "uint64", "float32", "float64", "bool", "object", "complex64", "U3"]
MOST = 50
"""Rows and columns, at most: what is tried are arrays that are wrong, not large."""


def _array(choices: Choices, length: int, below: int, *, real: bool) -> Any:
    """Return numbers, mostly of the right kind, some of which are not what is expected."""
    rng = choices.rng()
    array = rng.normal(size=length) * choices.pick([1, 1, 10, 1e-20, 1e10]) if real else rng.integers(0, below, length)
    if length and choices.chance(4):
        wrong = choices.pick(REAL if real else [n for n in WHOLE if abs(n) < 2**63])
        array[choices.below(length)] = wrong
    kind = choices.below(12)
    if kind == 0:
        with np.errstate(all="ignore"):
            return array.astype(choices.pick(DTYPES))
    if kind == 1:
        return np.repeat(array, 2)[::2]
    if kind == 2:
        return array[::-1]
    if kind == 3:
        return array.tolist()
    if kind == 4:
        return choices.pick([array[:-1], array[None], array[:, None], np.float64(1), None, "abc", [], [[]]])
    if kind == 5:
        array.flags.writeable = False
    return array


def _matrix(choices: Choices, rows: int) -> Any:
    """Return a matrix of features, or what pretends to be one."""
    rng, cols = choices.rng(), 1 + choices.below(8)
    matrix = sp.random_array((rows, cols), density=0.3, rng=rng, format="csr")
    kind = choices.below(10)
    if kind == 0:
        return matrix.toarray()
    if kind == 1:
        return choices.pick(
            [matrix.tocsc(), matrix.tocoo(), matrix.todok(), matrix.T, matrix[:-1], sp.csr_array((rows, 0))]
        )
    if kind == 2 and matrix.nnz:
        matrix.data[choices.below(matrix.nnz)] = choices.pick(REAL)
    if kind == 3 and matrix.nnz:
        matrix.indices[choices.below(matrix.nnz)] = choices.pick([-1, cols, 2**31 - 1, -(2**31), 0])
    if kind == 4:
        matrix.indptr[choices.below(rows + 1)] = choices.pick([-1, 0, matrix.nnz + 1, 2**31 - 1, 1])
    if kind == 5:
        return choices.pick(
            [None, "X", 3, [[1.0] * cols] * rows, np.zeros((rows, cols), object), np.zeros((rows, 2, 2))]
        )
    if kind == 6:
        return matrix.astype(choices.pick(["float32", "float64", "int8", "bool", "complex64"]))
    return matrix


def _features(choices: Choices, rows: int) -> Any:
    kind = choices.below(4)
    if kind == 0:
        return None
    if kind == 1:
        return _matrix(choices, rows)
    blocks = (
        {"id": sp.eye_array(rows), "more": _matrix(choices, rows)} if kind == 2 else {"more": _matrix(choices, rows)}
    )
    return blocks | ({choices.pick(["", "id", 3, None]): _matrix(choices, rows)} if choices.chance(6) else {})


def problems(choices: Choices) -> None:
    """Make a problem of arrays of any kind, and train on it."""
    rows, cols, pairs = 1 + choices.below(12), 1 + choices.below(9), choices.below(40)
    places = choices.rng().permutation(rows * cols)[:pairs]
    arrays: list[Any] = [places // cols, places % cols, choices.rng().normal(size=len(places))]
    if choices.chance(2):
        which = choices.below(3)
        arrays[which] = _array(choices, len(places), (rows, cols, 1)[which], real=which == 2)
    options: dict[str, Any] = {"rank": choices.pick([1, 2, 3, 9, 17]) if not choices.chance(8) else choices.plain()}
    if isinstance(options["rank"], int) and 100 < options["rank"] <= 65536:
        options["rank"] = 9
    options["shape"] = (
        (rows, cols) if not choices.chance(8) else choices.pick([None, (rows,), (0, 0), (-1, 2), "ab", (1, 1)])
    )
    if choices.chance(3):
        options["weight"] = _array(choices, len(places), 1, real=True)
    for name, count in (("X", rows), ("Z", cols)):
        if choices.chance(2):
            options[name] = _features(choices, count)
    options |= _objective(choices)
    problem = Problem.from_coo(*arrays, **options)
    solver = choices.pick(["panel", "panel", "naive", "l2m", "pl2m", "reference"])
    model = fit(
        problem, solver=solver, rounds=1 + choices.below(3), threads=1 + choices.below(2), seed=choices.below(9)
    )
    for W in (model.P, model.Q):
        finite("parameters", W)
    finite("objective", model.history[-1].objective)
    finite("scores", model.score(np.arange(problem.X.rows)[:, None], np.arange(problem.Z.rows)))
    finite("best", model.recommend(k=2).scores)


def _objective(choices: Choices) -> dict[str, Any]:
    made: dict[str, Any] = {"dtype": choices.pick(["float32", "float64"])}
    if choices.chance(3):
        made["loss"] = choices.pick(["square", "logistic", "logistic", "nothing", 3])
    kind = choices.below(6)
    if kind == 0:
        made["penalty"] = LearntPenalty(rounds=1)
    elif kind == 1:
        made["penalty"] = Penalty(scale=choices.pick(["uniform", 0.5]), growth=choices.pick([0.0, 1.0]))
    elif kind == 2:
        made["cells"] = AllCells(choices.pick([0.0, 0.1, 1.0]), value=choices.pick([0.0, 1.0]))
    if choices.chance(8):
        made["offset"] = choices.plain()
    if choices.chance(8):
        made["duplicates"] = choices.pick(["sum", "error", "never"])
    return made


@functools.cache
def _model(name: str) -> Model:
    assert name in model_files()
    return Model.load(folder() / name, threads=1)


def answers(choices: Choices) -> None:
    """Ask a model with row numbers, matrices and counts of any kind."""
    model = _model(choices.pick(["plain", "even", "learnt", "sampled"]))
    rows = _array(choices, choices.below(5), model.X.rows, real=choices.chance(8))
    others = _array(choices, choices.below(5), model.Z.rows, real=choices.chance(8))
    k = choices.pick([1, 2, 50, 0, -1, 2**31, 2**63, 1.5, True, None, "3", np.int64(2), np.float64(2)])
    kind = choices.below(7)
    if kind == 0:
        finite("scores", model.score(rows, others, unknown=choices.chance(2)))
    elif kind == 1:
        finite("predictions", model.predict(rows, others))
    elif kind == 2:
        best = model.recommend(
            rows, k, exclude=_excluded(choices, model), candidates=others if choices.chance(2) else None
        )
        _check_targets(best.targets, model)
    elif kind == 3:
        features = _features(choices, 1 + choices.below(4))
        _check_targets(model.recommend(k=k, features=features, exclude=_excluded(choices, model)).targets, model)
    elif kind == 4:
        model.similar(others, k) if choices.chance(2) else model.similar(queries=rows, k=k)
    elif kind == 5:
        str(model.explain(choices.pick([0, 1, -1, 10**9, 1.5, "a", None, rows]), choices.pick([0, -1, 99, others])))
    else:
        model.interval(rows, others, choices.pick([0.5, 0.9, 0, 1, -1, 2.0, float("nan"), "x", None]))


def _excluded(choices: Choices, model: Model) -> Any:
    """Return what to leave out, or what pretends to be that."""
    if choices.chance(2):
        return None
    shape = (model.X.rows, model.Z.rows)
    matrix = sp.random_array(shape, density=0.3, rng=choices.rng(), format="csr")
    kind = choices.below(6)
    if kind == 0 and matrix.nnz:
        matrix.indices[choices.below(matrix.nnz)] = choices.pick([-1, shape[1], 2**31 - 1, -(2**31)])
    elif kind == 1:
        matrix.indptr[choices.below(shape[0] + 1)] = choices.pick([-1, 0, 2**31 - 1, matrix.nnz + 5])
    elif kind == 2:
        return choices.pick([matrix.toarray(), matrix.T, matrix[:1], "x", 3, matrix.tocoo(), matrix.tocsc()])
    return matrix


def _check_targets(targets: Any, model: Model) -> None:
    if targets.size and not (targets.min() >= -1 and targets.max() < model.Z.rows):
        raise LawError(f"targets {targets}")


__all__ = ["answers", "problems"]
