"""The laws of a regularizer."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fmfkit.interfaces import Regularizer
from fmfkit.schedulers import RandomPartition
from fmfkit.solvers import PL2M, Panel
from fmfkit.testing import batches, common, process, tables
from fmfkit.testing.common import frozen
from fmfkit.testing.verdict import fail, require
from fmfkit.typing import Reals

X = np.array([0.0, 1, -1, 0.1, -0.1, 3, -3, 10, -10])
CURVATURES = np.array([1, 0.1, 5])
W = np.array([0.0, 1, -1, 0.2, -0.2, 4, -4])
STRENGTHS = np.array([1.0, 0.1, 3])
DECADES = 10.0 ** np.arange(-6, 7)
"""Of strengths and curvatures: some features are observed a million times, others hardly ever."""
DRAWS = 6000
NAMES = ("x", "curvature_of_the_data", "w", "strength")
Arrays = dict[str, NDArray[Any]]


def _everywhere(dtype: Any = np.float64) -> Arrays:
    """Return x, y, w and strengths: small numbers in all combinations, and draws over many orders of magnitude."""
    rng = np.random.default_rng(common.SEED)
    small = [array.ravel() for array in np.meshgrid(X, CURVATURES, W, STRENGTHS, indexing="ij")]

    def sizes(low: float, high: float) -> NDArray[Any]:
        return np.asarray(10 ** rng.uniform(low, high, DRAWS) * rng.choice([-1, 1], DRAWS))

    x, w = sizes(-6, 6), sizes(-6, 4)
    x[::7], w[::3] = 0, 0
    wide = [x, rng.choice(DECADES, DRAWS), w, rng.choice(DECADES, DRAWS)]
    return {name: np.append(*both).astype(dtype) for name, *both in zip(NAMES, small, wide, strict=True)}


def _allowed(regularizer: Regularizer, dtype: Any = np.float64) -> Arrays:
    """Return those where w itself is allowed."""
    given = _everywhere(dtype)
    free = np.isfinite(regularizer.penalty(frozen(given["w"])))
    return {name: frozen(array[free]) for name, array in given.items()}


def _terms(regularizer: Regularizer, given: Arrays, d: Reals) -> tuple[Reals, Reals]:
    """Return x d + y/2 d² + strength · omega(w + d), and the size of what is added up."""
    x, y, w, strength = given.values()
    penalty = regularizer.penalty(frozen(np.asarray(w + d)), strength)
    size = np.abs(x * d) + y / 2 * d * d + np.where(np.isfinite(penalty), np.abs(penalty), 0)
    return np.asarray(x * d + y / 2 * d * d + penalty), np.asarray(size)


def check_T_minimises(regularizer: Regularizer) -> None:
    """w + T(x, y, w) minimises x d + y/2 d² + strength · omega(w + d): nothing that brute force tries is lower, for
    strengths, y and x of many orders of magnitude."""
    given = _allowed(regularizer)
    x, y, w, strength = given.values()
    d = regularizer.T(x, y, w, strength)
    reached, size = _terms(regularizer, given, d)
    lowest, better = np.full(len(w), np.inf), np.zeros(len(w))
    reach = np.abs(x) / y + np.abs(w) + np.abs(d)
    spread = np.concatenate([np.linspace(-1, 1, 101) ** 3, 10.0 ** np.arange(-9, 0), -(10.0 ** np.arange(-9, 0))])
    further = (d + share * (reach + 1) for share in spread[:101:5])
    for tried in (-w, np.zeros_like(w), -x / y, *(d + share * reach for share in spread), *further):
        value, of_value = _terms(regularizer, given, tried)
        value = np.where(np.isnan(value), np.inf, value)
        gains = value < lowest
        lowest, better, size = (
            np.where(gains, value, lowest),
            np.where(gains, tried, better),
            np.where(gains, size + of_value, size),
        )
    require(
        reached <= lowest + 1e-11 * size,
        "another change is better",
        **given,
        T=d,
        better=better,
        reached=reached,
        lowest=lowest,
    )


def check_T_never_makes_it_worse(regularizer: Regularizer) -> None:
    """The change is finite and never raises x d + y/2 d² + strength · omega(w + d), even where y = 0 and x = 0."""
    wide = _allowed(regularizer)
    still = wide | {"x": np.zeros_like(wide["x"]), "curvature_of_the_data": np.zeros_like(wide["x"])}
    for given in (wide, still):
        d = regularizer.T(*map(frozen, given.values()))
        require(np.isfinite(d), "the change is not finite", **given, T=d)
        before, size = _terms(regularizer, given, np.zeros_like(d))
        after, size_after = _terms(regularizer, given, d)
        require(
            after <= before + 1e-11 * (size + size_after),
            "it is worse after the change",
            **given,
            T=d,
            before=before,
            after=after,
        )


def check_constraints_are_respected(regularizer: Regularizer) -> None:
    """w + T is always a parameter whose penalty is finite, from wherever it starts."""
    given = _everywhere()
    d = regularizer.T(*map(frozen, given.values()))
    penalty = regularizer.penalty(frozen(given["w"] + d), frozen(given["strength"]))
    require(np.isfinite(penalty), "the penalty after the change is not finite", **given, T=d, penalty=penalty)


def check_penalty_grows_with_strength(regularizer: Regularizer) -> None:
    """The penalty is strength times that of strength 1, from a millionth to a million, and never below zero."""
    for dtype in (np.float64, np.float32):
        w = np.unique(_allowed(regularizer, dtype)["w"])
        one = regularizer.penalty(frozen(w), 1.0)
        require(one >= 0, "the penalty is below zero", w=w, penalty=one)
        for strength in (0.0, 0.5, 3.0, *DECADES):
            wanted = strength * one.astype(np.float64)
            for given in (float(strength), frozen(np.full(len(w), strength, dtype))):
                found = regularizer.penalty(frozen(w), given)
                require(
                    np.abs(found - wanted) <= 16 * float(np.finfo(dtype).eps) * wanted + np.finfo(dtype).tiny,
                    "the penalty is not strength times that of 1",
                    w=w,
                    strength=np.full(len(w), strength),
                    penalty=found,
                    penalty_of_1=one,
                )


def check_zero_strength_is_the_plain_step(regularizer: Regularizer) -> None:
    """With strength 0 the change is the lone step, -x/y, unless a constraint forbids where it leads."""
    given = _allowed(regularizer)
    x, y, w, _ = given.values()
    plain = -x / y
    free = np.isfinite(regularizer.penalty(frozen(w + plain), 1.0))
    d = regularizer.T(x, y, w, 0.0)
    require(
        ~free | (np.abs(d - plain) <= 1e-12 * (np.abs(plain) + np.abs(w))),
        "the change is another",
        **(given | {"strength": np.zeros_like(w)}),
        T=d,
        plain_step=plain,
    )


def check_single_precision_is_exact(regularizer: Regularizer) -> None:
    """In single precision penalty and change are those of double precision, but for rounding: nothing is too small."""
    given = _allowed(regularizer, np.float32)
    wide = {name: frozen(array.astype(np.float64)) for name, array in given.items()}
    eps = float(np.finfo(np.float32).eps)
    single, double = (regularizer.T(*one.values()) for one in (given, wide))
    x, y, w, strength = wide.values()
    near = np.abs(single - double) <= 16 * eps * (np.abs(double) + np.abs(w) + np.abs(x) / y)
    (reached, size), (lowest, _) = (_terms(regularizer, wide, d.astype(np.float64)) for d in (single, double))
    as_good = reached <= lowest + 16 * eps * size  # another minimum, or next to it
    require(near | as_good, "T is imprecise in float32", **given, float32=single, float64=double)
    single, double = regularizer.penalty(given["w"], given["strength"]), regularizer.penalty(w, strength)
    close = np.abs(single - double) <= 32 * eps * np.abs(double) + np.finfo(np.float32).tiny
    require(close, "penalty is imprecise in float32", w=w, strength=strength, float32=single, float64=double)


def check_keeps_shape_and_dtype(regularizer: Regularizer) -> None:
    """Penalty and T have the shape and the precision of w, empty ones too; strength may be a number or an array."""
    for dtype in (np.float64, np.float32):
        for shape in ((4,), (2, 3), (0,)):
            w = frozen(np.full(shape, 0.5, dtype))
            for strength in (1.0, frozen(np.full(shape, 2.0, dtype))):
                for name, found in (
                    ("penalty", regularizer.penalty(w, strength)),
                    ("T", regularizer.T(w, w, w, strength)),
                ):
                    array = np.asarray(found)
                    if array.shape != shape or array.dtype != dtype:
                        fail(f"{name} of {np.dtype(dtype)} of shape {shape} is {array.dtype} of shape {array.shape}")


def check_leaves_its_input_alone(regularizer: Regularizer) -> None:
    """Arrays that a method is given are read only, and are the same after it."""
    given = [array.copy() for array in _everywhere().values()]
    before = [array.copy() for array in given]
    regularizer.T(*given)
    regularizer.penalty(given[2], given[3])
    if not all(np.array_equal(a, b) for a, b in zip(given, before, strict=True)):
        fail("it changes the arrays it is given")
    regularizer.T(*map(frozen, before))


def _calls(regularizer: Regularizer) -> dict[str, batches.Call]:
    return {
        "T": lambda x, y, w, strength: regularizer.T(x, y, w, strength),
        "penalty": lambda x, y, w, strength: regularizer.penalty(w, strength),
    }


def check_is_elementwise(regularizer: Regularizer) -> None:
    """Each parameter's penalty and change depend on its own numbers: alone, in any order, among a million."""
    for dtype in (np.float64, np.float32):
        for name, call in _calls(regularizer).items():
            batches.same_in_any_batch(f"{name} in {np.dtype(dtype)}", call, _allowed(regularizer, dtype))


def check_remembers_nothing(regularizer: Regularizer) -> None:
    """The same numbers give the same answer, whatever was asked before, and whatever stood in the arrays."""
    rng = np.random.default_rng(common.SEED)
    first, other = (dict(zip(NAMES, np.abs(size * rng.normal(size=(4, 777))), strict=True)) for size in (1, 3))
    batches.remembers_nothing(_calls(regularizer), first, other)


def check_copies_are_equal(regularizer: Regularizer) -> None:
    """Copies, pickled ones too, are equal to it, and its repr tells what it is."""
    common.copies_are_equal(regularizer)


def check_is_safe_from_several_threads(regularizer: Regularizer) -> None:
    """Calls from several threads at once do not disturb each other."""
    rng = np.random.default_rng(common.SEED)
    for size in (20_000, 500):
        asked = [np.abs(rng.normal(size=(4, size))) * (n + 1) for n in range(32)]

        def ask(n: int, asked: Any = asked) -> NDArray[Any]:
            return np.concatenate([regularizer.T(*asked[n]), regularizer.penalty(*asked[n][2:])])

        batches.same_from_threads(ask)


def _pool(regularizer: Regularizer) -> tables.Pool:
    """Return what native functions are tried on: nothing pulls at every tenth parameter."""

    def pool(dtype: np.dtype[Any]) -> Arrays:
        given = {name: array.copy() for name, array in _allowed(regularizer, dtype).items()}
        given["x"][::10], given["curvature_of_the_data"][::10] = 0, 0
        return given

    return pool


def check_native_equals_numpy(regularizer: Regularizer) -> None:
    """The native functions give what T and penalty give, in both precisions, for batches of any length."""

    def wanted(x: Reals, y: Reals, w: Reals, strength: Reals) -> dict[str, tuple[Reals, Any]]:
        lone = np.abs(w) + np.abs(x) / np.where(y > 0, y, 1)
        return {"T": (regularizer.T(x, y, w, strength), lone), "penalty": (regularizer.penalty(w, strength), 0.0)}

    tables.equals(tables.native_of(regularizer), _pool(regularizer), wanted)


def check_native_writes_its_output_alone(regularizer: Regularizer) -> None:
    """The native functions write n numbers to each output, and nothing anywhere else."""
    tables.writes_its_output_alone(tables.native_of(regularizer), _pool(regularizer))


def check_native_is_safe_from_several_threads(regularizer: Regularizer) -> None:
    """Threads that call the native functions at once do not disturb each other."""
    tables.is_safe_from_threads(tables.native_of(regularizer), _pool(regularizer))


def check_leaves_the_process_alone(regularizer: Regularizer) -> None:
    """It leaves no trace in the process: generators, error states, environment, folder, warnings, locale."""
    given = _everywhere()
    with process.unchanged():
        for call in _calls(regularizer).values():
            call(*map(frozen, given.values()))


def check_trains(regularizer: Regularizer) -> None:
    """Trained end to end, the objective never rises, and 1 to 4 threads give the same model, bit for bit."""
    tables.refuse_untidy(regularizer, _pool(regularizer))
    common.trains(
        lambda dtype: common.problem(penalty=regularizer, dtype=dtype),
        (Panel(), PL2M(scheduler=RandomPartition(3))),
    )


CHECKS = (
    check_T_minimises,
    check_T_never_makes_it_worse,
    check_constraints_are_respected,
    check_penalty_grows_with_strength,
    check_zero_strength_is_the_plain_step,
    check_single_precision_is_exact,
    check_keeps_shape_and_dtype,
    check_leaves_its_input_alone,
    check_is_elementwise,
    check_remembers_nothing,
    check_copies_are_equal,
    check_is_safe_from_several_threads,
    check_native_equals_numpy,
    check_native_writes_its_output_alone,
    check_native_is_safe_from_several_threads,
    check_leaves_the_process_alone,
    check_trains,
)
