"""The laws of a regularizer that takes a feature's whole row of parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fmfkit.interfaces import RowRegularizer
from fmfkit.solvers import Panel
from fmfkit.testing import batches, common, process
from fmfkit.testing.common import frozen
from fmfkit.testing.regularizers import DECADES
from fmfkit.testing.verdict import fail
from fmfkit.typing import Reals

ROWS = 1500
WIDTHS = (1, 2, 8, 33)
"""Dimensions of a row: a bias is one of a single parameter."""
Arrays = dict[str, NDArray[Any]]
Method = Callable[..., Any]


def _everywhere(width: int, dtype: Any = np.float64) -> Arrays:
    """Return x, y, w and strengths of rows: small numbers, and lengths over many orders of magnitude."""
    rng = np.random.default_rng([common.SEED, width])

    def rows(low: float, high: float) -> NDArray[Any]:
        small = rng.integers(-3, 4, (ROWS // 3, width)).astype(float)
        wide = rng.normal(size=(ROWS - len(small), width)) * 10 ** rng.uniform(low, high, (ROWS - len(small), 1))
        return np.concatenate([small, wide])

    x, w = rows(-6, 6), rows(-6, 4)
    x[::7], w[::3] = 0, 0
    y, strength = rng.choice(DECADES, (2, ROWS))
    y[: ROWS // 3], strength[: ROWS // 3] = 1, rng.choice([0.1, 1, 3], ROWS // 3)
    return {name: array.astype(dtype) for name, array in (("x", x), ("y", y), ("w", w), ("strength", strength))}


def _allowed(regularizer: RowRegularizer, dtype: Any = np.float64) -> Iterator[Arrays]:
    """Yield those where w itself is allowed, for several widths."""
    for width in WIDTHS:
        given = _everywhere(width, dtype)
        free = np.isfinite(regularizer.penalty(frozen(given["w"])))
        yield {name: frozen(array[free]) for name, array in given.items()}


def _require(holds: Any, what: str, given: Arrays, **found: Any) -> None:
    """Fail unless a law holds for every row; show the first row for which it does not."""
    wrong = np.flatnonzero(~np.asarray(holds))
    if len(wrong):
        shown = {name: np.asarray(array)[wrong[0]] for name, array in (given | found).items()}
        fail(what, **{name: value.tolist() for name, value in shown.items()})


def _length(rows: NDArray[Any]) -> NDArray[Any]:
    return np.asarray(np.linalg.norm(rows.astype(np.float64), axis=1))


def _terms(regularizer: RowRegularizer, given: Arrays, d: Reals) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return x · d + y/2 |d|² + strength · omega(w + d), and by how much rounding may change it, that of d included."""
    x, y, w, strength = given.values()
    penalty = regularizer.penalty(frozen(w + d), frozen(strength))
    slope, bend = x * d, y[:, None] / 2 * d * d
    size = np.abs(slope).sum(axis=1) + bend.sum(axis=1) + np.where(np.isfinite(penalty), penalty, 0)
    off = 64 * float(np.finfo(np.float64).eps) * (_length(w) + _length(d))
    room = 1e-11 * size + (_length(x) + y * (_length(d) + off)) * off
    return slope.sum(axis=1) + bend.sum(axis=1) + penalty, room


def _tries(given: Arrays, d: Reals) -> Iterator[Reals]:
    """Yield other changes than d: to zero, the plain step, shorter and longer ones, and in all directions from d."""
    x, y, w, _ = given.values()
    rng, plain = np.random.default_rng(common.SEED), -x / y[:, None]
    yield from (-w, plain, np.zeros_like(d))
    for share in (0.5, 0.9, 0.99, 1.01, 1.1, 2):
        yield from (share * d, share * (w + d) - w, share * plain)
    reach = (_length(x) / y + _length(w) + _length(d))[:, None]
    for share in 10.0 ** np.arange(-9, 1):
        for _ in range(4):
            direction = rng.normal(size=d.shape)
            yield d + share * reach * direction / np.maximum(_length(direction), 1e-30)[:, None]
        yield d + share * reach * rng.choice([-1, 1], (len(d), 1)) * (np.arange(d.shape[1]) == 0)


def check_T_minimises(regularizer: RowRegularizer) -> None:
    """w + T(x, y, w) minimises x · d + y/2 |d|² + strength · omega(w + d): no other change that is tried is lower, for
    strengths, y and x of many orders of magnitude."""
    for given in _allowed(regularizer):
        d = regularizer.T(*given.values())
        reached, room = _terms(regularizer, given, d)
        for tried in _tries(given, d):
            value, of_value = _terms(regularizer, given, tried)
            lower = np.where(np.isnan(value), np.inf, value) < reached - room - of_value
            _require(~lower, "another change is better", given, T=d, better=tried, reached=reached, lower=value)


def check_T_never_makes_it_worse(regularizer: RowRegularizer) -> None:
    """The change is finite and never raises x · d + y/2 |d|² + strength · omega(w + d), even where y = 0 and x = 0."""
    for wide in _allowed(regularizer):
        for given in (wide, wide | {"x": np.zeros_like(wide["x"]), "y": np.zeros_like(wide["y"])}):
            d = regularizer.T(*map(frozen, given.values()))
            _require(np.isfinite(d).all(axis=1), "the change is not finite", given, T=d)
            before, room = _terms(regularizer, given, np.zeros_like(d))
            after, room_after = _terms(regularizer, given, d)
            worse = after > before + room + room_after
            _require(~worse, "it is worse after the change", given, T=d, before=before, after=after)


def check_constraints_are_respected(regularizer: RowRegularizer) -> None:
    """w + T is always a row whose penalty is finite, from wherever it starts."""
    for width in WIDTHS:
        given = _everywhere(width)
        d = regularizer.T(*map(frozen, given.values()))
        penalty = regularizer.penalty(frozen(given["w"] + d), frozen(given["strength"]))
        _require(np.isfinite(penalty), "the penalty after the change is not finite", given, T=d, penalty=penalty)


def check_penalty_grows_with_strength(regularizer: RowRegularizer) -> None:
    """A row's penalty is strength times that of strength 1, from a millionth to a million, and never below zero."""
    for dtype in (np.float64, np.float32):
        for given in _allowed(regularizer, dtype):
            w, one = given["w"], regularizer.penalty(given["w"], 1.0)
            _require(one >= 0, "the penalty is below zero", {"w": w}, penalty=one)
            for strength in (0.0, 0.5, 3.0, *DECADES):
                wanted = strength * one.astype(np.float64)
                room = 16 * float(np.finfo(dtype).eps) * wanted + np.finfo(dtype).tiny
                for each in (float(strength), frozen(np.full(len(w), strength, dtype))):
                    found = regularizer.penalty(w, each)
                    near = np.abs(found - wanted) <= room
                    _require(near, "the penalty is not strength times that of 1", {"w": w}, found=found, of_1=one)


def check_zero_strength_is_the_plain_step(regularizer: RowRegularizer) -> None:
    """With strength 0 the change is the plain step, -x/y, unless a constraint forbids where it leads."""
    for given in _allowed(regularizer):
        x, y, w, _ = given.values()
        plain, d = -x / y[:, None], regularizer.T(x, y, w, 0.0)
        free = np.isfinite(regularizer.penalty(frozen(w + plain), 1.0))
        near = _length(d - plain) <= 1e-12 * (_length(plain) + _length(w))
        _require(~free | near, "the change is another", given, T=d, plain_step=plain)


def check_single_precision_is_exact(regularizer: RowRegularizer) -> None:
    """In single precision penalty and change are those of double precision, but for rounding: nothing is too small."""
    eps = float(np.finfo(np.float32).eps)
    for given in _allowed(regularizer, np.float32):
        wide = {name: frozen(array.astype(np.float64)) for name, array in given.items()}
        single, double = (regularizer.T(*one.values()) for one in (given, wide))
        x, y, w, strength = wide.values()
        near = _length(single - double) <= 32 * eps * (_length(double) + _length(w) + _length(x) / y)
        _require(near, "T is imprecise in float32", given, float32=single, float64=double)
        single, double = regularizer.penalty(given["w"], given["strength"]), regularizer.penalty(w, strength)
        near = np.abs(single - double) <= 64 * eps * np.abs(double) + np.finfo(np.float32).tiny
        _require(near, "penalty is imprecise in float32", given, float32=single, float64=double)


def check_keeps_shape_and_dtype(regularizer: RowRegularizer) -> None:
    """A penalty is a number for each row, T has the shape of w, both its precision; strength may be a number."""
    for dtype in (np.float64, np.float32):
        for rows, width in ((4, 3), (1, 1), (0, 5)):
            w, one = frozen(np.full((rows, width), 0.5, dtype)), frozen(np.full(rows, 2.0, dtype))
            for strength in (1.0, one):
                for name, found, shape in (
                    ("penalty", regularizer.penalty(w, strength), (rows,)),
                    ("T", regularizer.T(w, one, w, strength), (rows, width)),
                ):
                    array = np.asarray(found)
                    if array.shape != shape or array.dtype != dtype:
                        wanted = f"{np.dtype(dtype)} of shape {shape}"
                        fail(f"{name}: expected {wanted}, got {array.dtype} of shape {array.shape}")


def check_leaves_its_input_alone(regularizer: RowRegularizer) -> None:
    """Arrays that a method is given are read only, and are the same after it."""
    given = [*_everywhere(8).values()]
    before = [array.copy() for array in given]
    regularizer.T(*given)
    regularizer.penalty(given[2], given[3])
    if not all(np.array_equal(a, b) for a, b in zip(given, before, strict=True)):
        fail("it changes the arrays it is given")
    regularizer.T(*map(frozen, before))


def _methods(regularizer: RowRegularizer) -> dict[str, Method]:
    return {
        "T": lambda x, y, w, strength: regularizer.T(x, y, w, strength),
        "penalty": lambda x, y, w, strength: regularizer.penalty(w, strength),
    }


def _same(what: str, given: Arrays, together: NDArray[Any], other: NDArray[Any]) -> None:
    size = sum(np.abs(array).reshape(len(array), -1).max(axis=1) for array in given.values())
    room = 256 * float(np.finfo(given["w"].dtype).eps) * (1 + np.abs(together).reshape(len(together), -1).max(axis=1))
    with np.errstate(invalid="ignore"):
        far = np.abs(together - other).reshape(len(together), -1).max(axis=1)
    equal = (together == other).reshape(len(together), -1).all(axis=1)
    _require(equal | (far <= room * (1 + size)), what, given, together=together, otherwise=other)


def check_is_row_by_row(regularizer: RowRegularizer) -> None:
    """Each row's penalty and change depend on its own numbers: alone, in any order, among a hundred thousand."""
    rng = np.random.default_rng(common.SEED)
    for given in _allowed(regularizer):
        rows = len(given["w"])
        for name, method in _methods(regularizer).items():
            together = method(*given.values())
            sizes = *(1,) * 100, 2, 3, 17, 4096, 100_003
            for which in (rng.permutation(rows), *(rng.integers(rows, size=size) for size in sizes)):
                taken = {key: frozen(array[which]) for key, array in given.items()}
                _same(f"{name} is another in a batch of {len(which)}", taken, together[which], method(*taken.values()))


def check_remembers_nothing(regularizer: RowRegularizer) -> None:
    """The same rows give the same answer, whatever was asked before, and whatever stood in the arrays."""
    first, other = (next(_allowed_of(regularizer, width)) for width in (8, 33))
    for name, method in _methods(regularizer).items():
        wanted = method(*first.values())
        room = [array.copy() for array in first.values()]
        method(*room)
        for array in room:
            array *= 2
        doubled = method(*map(frozen, room))
        _same(f"{name} is another in arrays that held other numbers before", first, doubled, method(*room))
        for asked in _methods(regularizer).values():
            asked(*other.values())
            if not np.array_equal(wanted, method(*first.values())):
                fail(f"{name} answers otherwise after other questions")


def _allowed_of(regularizer: RowRegularizer, width: int) -> Iterator[Arrays]:
    return (given for given in _allowed(regularizer) if given["w"].shape[1] == width)


def check_copies_are_equal(regularizer: RowRegularizer) -> None:
    """Copies, pickled ones too, are equal to it, and its repr tells what it is."""
    common.copies_are_equal(regularizer)


def check_is_safe_from_several_threads(regularizer: RowRegularizer) -> None:
    """Calls from several threads at once do not disturb each other."""
    rng = np.random.default_rng(common.SEED)
    asked = [(rng.normal(size=(900, 4)), rng.random(900), rng.normal(size=(900, 4))) for _ in range(32)]
    batches.same_from_threads(lambda n: np.c_[regularizer.T(*asked[n]), regularizer.penalty(asked[n][2])])


def check_leaves_the_process_alone(regularizer: RowRegularizer) -> None:
    """It leaves no trace in the process: generators, error states, environment, folder, warnings, locale."""
    given = _everywhere(8)
    with process.unchanged():
        for method in _methods(regularizer).values():
            method(*map(frozen, given.values()))


def check_trains(regularizer: RowRegularizer) -> None:
    """Trained end to end, the objective never rises, and 1 to 4 threads give the same model, bit for bit."""
    common.trains(lambda dtype: common.problem(penalty=regularizer, dtype=dtype), (Panel(),))


CHECKS = (
    check_T_minimises,
    check_T_never_makes_it_worse,
    check_constraints_are_respected,
    check_penalty_grows_with_strength,
    check_zero_strength_is_the_plain_step,
    check_single_precision_is_exact,
    check_keeps_shape_and_dtype,
    check_leaves_its_input_alone,
    check_is_row_by_row,
    check_remembers_nothing,
    check_copies_are_equal,
    check_is_safe_from_several_threads,
    check_leaves_the_process_alone,
    check_trains,
)
