"""The laws of a regularizer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fmfkit.interfaces import Regularizer
from fmfkit.schedulers import RandomPartition
from fmfkit.solvers import PL2M, Panel
from fmfkit.testing import common
from fmfkit.testing.common import frozen
from fmfkit.testing.verdict import Skipped, fail, require
from fmfkit.typing import Reals

X = np.array([0.0, 1, -1, 0.1, -0.1, 3, -3, 10, -10])
CURVATURES = np.array([0.0, 1, 0.1, 5])
W = np.array([0.0, 1, -1, 0.2, -0.2, 4, -4])
STRENGTHS = np.array([1.0, 0.1, 3])


def _grid(regularizer: Regularizer, *, curvatures: NDArray[Any] = CURVATURES) -> tuple[NDArray[Any], ...]:
    """Return x, y, feasible w and strengths in all combinations."""
    made = np.meshgrid(X, curvatures, W[np.isfinite(regularizer.penalty(frozen(W)))], STRENGTHS, indexing="ij")
    return tuple(frozen(array.ravel()) for array in made)


def _objective(regularizer: Regularizer, x: Reals, y: Reals, w: Reals, strength: Reals, d: Reals) -> Reals:
    with np.errstate(invalid="ignore"):
        return np.asarray(x * d + y / 2 * d * d + regularizer.penalty(w + d, strength))


def check_T_minimises(regularizer: Regularizer) -> None:
    """w + T(x, y, w) minimises x d + y/2 d² + strength · omega(w + d): nothing that brute force tries is lower."""
    x, y, w, strength = _grid(regularizer, curvatures=CURVATURES[1:])
    d = regularizer.T(x, y, w, strength)
    reached = _objective(regularizer, x, y, w, strength, d)
    spread = np.concatenate([np.linspace(-1, 1, 401) ** 3, np.linspace(-1e-3, 1e-3, 21)])
    reach = np.abs(x) / y + np.abs(w) + np.abs(d) + 1
    tried = np.stack([d + s * reach for s in spread] + [-w, np.zeros_like(w), -x / y])
    values = _objective(regularizer, x, y, w, strength, tried)
    best = np.nanargmin(np.where(np.isnan(values), np.inf, values), axis=0)
    lowest = values[best, np.arange(len(w))]
    require(
        reached <= lowest + 1e-7 * (1 + np.abs(lowest)),
        "another change is better",
        x=x,
        curvature_of_the_data=y,
        w=w,
        strength=strength,
        T=d,
        better=tried[best, np.arange(len(w))],
        reached=reached,
        lowest=lowest,
    )


def check_T_never_makes_it_worse(regularizer: Regularizer) -> None:
    """The change is finite and never raises x d + y/2 d² + strength · omega(w + d), even where y = 0 and x = 0."""
    x, y, w, strength = _grid(regularizer)
    x = frozen(np.where(y == 0, 0, x))
    d = regularizer.T(x, y, w, strength)
    require(np.isfinite(d), "the change is not finite", x=x, curvature_of_the_data=y, w=w, strength=strength, T=d)
    before = _objective(regularizer, x, y, w, strength, np.zeros_like(w))
    after = _objective(regularizer, x, y, w, strength, d)
    require(
        after <= before + 1e-9 * (1 + np.abs(before)),
        "it is worse after the change",
        x=x,
        curvature_of_the_data=y,
        w=w,
        strength=strength,
        T=d,
        before=before,
        after=after,
    )


def check_constraints_are_respected(regularizer: Regularizer) -> None:
    """w + T is always a parameter whose penalty is finite, from wherever it starts."""
    made = np.meshgrid(X, CURVATURES[1:], W, STRENGTHS, indexing="ij")
    x, y, w, strength = (frozen(array.ravel()) for array in made)
    d = regularizer.T(x, y, w, strength)
    penalty = regularizer.penalty(w + d, strength)
    require(
        np.isfinite(penalty),
        "the penalty after the change is not finite",
        x=x,
        curvature_of_the_data=y,
        w=w,
        strength=strength,
        T=d,
        penalty=penalty,
    )


def check_penalty_grows_with_strength(regularizer: Regularizer) -> None:
    """The penalty is strength times that of strength 1, and never below zero."""
    w = frozen(W[np.isfinite(regularizer.penalty(frozen(W)))])
    one = regularizer.penalty(w, 1.0)
    require(one >= 0, "the penalty is below zero", w=w, penalty=one)
    for strength in (0.0, 0.5, 3.0):
        found = regularizer.penalty(w, strength)
        require(
            np.abs(found - strength * one) <= 1e-9 * (1 + np.abs(one)),
            "the penalty is not strength times that of 1",
            w=w,
            strength=np.full(len(w), strength),
            penalty=found,
            penalty_of_1=one,
        )


def check_zero_strength_is_the_plain_step(regularizer: Regularizer) -> None:
    """With strength 0 the change is the lone step, -x/y, unless a constraint forbids where it leads."""
    x, y, w, _ = _grid(regularizer, curvatures=CURVATURES[1:])
    plain = -x / y
    free = np.isfinite(regularizer.penalty(frozen(w + plain), 1.0))
    d = regularizer.T(x, y, w, 0.0)
    require(
        ~free | (np.abs(d - plain) <= 1e-9 * (1 + np.abs(plain))),
        "the change is another",
        x=x,
        curvature_of_the_data=y,
        w=w,
        T=d,
        plain_step=plain,
    )


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
    given = [array.copy() for array in _grid(regularizer)]
    before = [array.copy() for array in given]
    regularizer.T(*given)
    regularizer.penalty(given[2], given[3])
    if not all(np.array_equal(a, b) for a, b in zip(given, before, strict=True)):
        fail("it changes the arrays it is given")
    regularizer.T(*map(frozen, before))


def check_is_elementwise(regularizer: Regularizer) -> None:
    """Each parameter's penalty and change depend on its own numbers alone, and are the same the second time."""
    given = _grid(regularizer)
    order = np.random.default_rng(common.SEED).permutation(len(given[0]))
    calls: dict[str, Callable[..., Reals]] = {
        "T": lambda x, y, w, strength: regularizer.T(x, y, w, strength),
        "penalty": lambda x, y, w, strength: regularizer.penalty(w, strength),
    }
    for name, call in calls.items():
        first, shuffled = np.array(call(*given)), np.empty(len(order))
        shuffled[order] = call(*(frozen(array[order]) for array in given))
        require(
            np.abs(first - shuffled) <= 1e-9 * (1 + np.abs(first)),
            f"{name} is another in another order",
            x=given[0],
            curvature_of_the_data=given[1],
            w=given[2],
            strength=given[3],
            first=first,
            second=shuffled,
        )


def check_copies_are_equal(regularizer: Regularizer) -> None:
    """Copies, pickled ones too, are equal to it, and its repr tells what it is."""
    common.copies_are_equal(regularizer)


def check_is_safe_from_several_threads(regularizer: Regularizer) -> None:
    """Calls from several threads at once do not disturb each other."""
    rng = np.random.default_rng(common.SEED)
    asked = [np.abs(rng.normal(size=(4, 20_000))) * (n + 1) for n in range(32)]
    common.same_from_threads(lambda n: np.concatenate([regularizer.T(*asked[n]), regularizer.penalty(*asked[n][2:])]))


def check_native_equals_numpy(regularizer: Regularizer) -> None:
    """The native functions give what T and penalty give, in both precisions."""
    from fmfkit.native import NativeRegularizer

    native = regularizer.native
    if native is None:
        raise Skipped("it has no native form")
    if not isinstance(native, NativeRegularizer):
        fail(f"native is {type(native).__name__}, expected a fmfkit.native.NativeRegularizer")
    for dtype, close in ((np.float64, 1e-9), (np.float32, 1e-5)):
        x, y, w, strength = (frozen(array.astype(dtype)) for array in _grid(regularizer))
        x = frozen(np.where(y == 0, np.zeros_like(x), x))
        for name, found, wanted in (
            ("T", native.T(x, y, w, strength), regularizer.T(x, y, w, strength)),
            ("penalty", native.penalty(w, strength), regularizer.penalty(w, strength)),
        ):
            require(
                np.abs(found - wanted) <= close * (1 + np.abs(wanted)),
                f"the native {name} in {np.dtype(dtype)} is another",
                x=x,
                curvature_of_the_data=y,
                w=w,
                strength=strength,
                native=found,
                numpy=wanted,
            )


def check_trains(regularizer: Regularizer) -> None:
    """Trained end to end, the objective never rises, and 1, 2 and 4 threads give the same model, bit for bit."""
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
    check_keeps_shape_and_dtype,
    check_leaves_its_input_alone,
    check_is_elementwise,
    check_copies_are_equal,
    check_is_safe_from_several_threads,
    check_native_equals_numpy,
    check_trains,
)
