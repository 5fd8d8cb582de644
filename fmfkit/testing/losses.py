"""The laws of a loss."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fmfkit.interfaces import Loss
from fmfkit.schedulers import RandomPartition
from fmfkit.solvers import PL2M, Panel
from fmfkit.testing import common
from fmfkit.testing.common import accepted_y, frozen
from fmfkit.testing.verdict import Skipped, fail, require

SCORES = np.array([0.0, 1, -1, 0.5, -0.5, 2, -2, 3, -3, 1e-3, -1e-3, 0.1, -0.1, 5, -5, 10, -10, 20, -20, 30, -30])
STEPS = np.array([1e-3, -1e-3, 0.01, -0.01, 0.1, -0.1, 1, -1, 2, -2, 5, -5, 20, -20, 100, -100, 1e3, -1e3])
EXTREME = np.array([0.0, 1e2, -1e2, 1e4, -1e4, 1e6, -1e6])


def _grid(loss: Loss, *axes: NDArray[Any]) -> tuple[NDArray[Any], ...]:
    """Return scores, y that the loss takes, and more, in all combinations, as flat read-only arrays."""
    made = np.meshgrid(axes[0], accepted_y(loss), *axes[1:], indexing="ij")
    return tuple(frozen(array.ravel()) for array in made)


def _allowed(*values: NDArray[Any]) -> NDArray[Any]:
    """Return how much rounding may change a sum of values."""
    return np.asarray(1e-9 * (1 + sum(np.abs(value) for value in values)))


def check_gradient_is_the_derivative(loss: Loss) -> None:
    """``gradient`` is the derivative of ``value`` by the score."""
    score, y = _grid(loss, SCORES)
    gradient = loss.gradient(score, y)
    h = 1e-5 * (1 + np.abs(score))
    difference = (loss.value(score + h, y) - loss.value(score - h, y)) / (2 * h)
    close = np.abs(gradient - difference) <= 1e-5 + 1e-5 * np.abs(difference) + 1e-10 * np.abs(loss.value(score, y)) / h
    require(close, "the slope of value is another", score=score, y=y, gradient=gradient, slope_of_value=difference)


def check_curvature_majorises(loss: Loss) -> None:
    """loss(s + t) <= loss(s) + g t + beta/2 t² for every step t, small or large, of either sign."""
    score, y, t = _grid(loss, SCORES, STEPS)
    here, beta = loss.value(score, y), np.broadcast_to(loss.curvature(score, y), score.shape)
    after, bound = loss.value(score + t, y), here + loss.gradient(score, y) * t + beta / 2 * t * t
    require(
        after <= bound + _allowed(here, after),
        "the bound is exceeded",
        score=score,
        y=y,
        t=t,
        curvature=beta,
        value_after_the_step=after,
        bound=bound,
    )


def check_beta_is_the_largest_curvature(loss: Loss) -> None:
    """Where ``beta`` is a number, no curvature is above it."""
    if loss.beta is None:
        raise Skipped("it has no beta")
    score, y = _grid(loss, np.concatenate([SCORES, EXTREME]))
    found = np.broadcast_to(loss.curvature(score, y), score.shape)
    beta = np.full(score.shape, float(loss.beta))
    require(found <= beta * (1 + 1e-6), "a curvature is above beta", score=score, y=y, curvature=found, beta=beta)


def check_value_is_convex(loss: Loss) -> None:
    """``value`` is convex in the score: its tangent lies below it everywhere."""
    score, y, t = _grid(loss, SCORES, STEPS)
    here, after = loss.value(score, y), loss.value(score + t, y)
    middle = loss.value(score + t / 2, y)
    chord = (here + after) / 2
    require(
        middle <= chord + _allowed(here, after),
        "it bulges between two scores",
        score=score,
        y=y,
        t=t,
        value_in_the_middle=middle,
        middle_of_the_values=chord,
    )


def check_finite_at_extremes(loss: Loss) -> None:
    """Value, gradient and curvature are finite for every finite score and every y that is taken, in both precisions."""
    for dtype in (np.float64, np.float32):
        score, y = (array.astype(dtype) for array in _grid(loss, EXTREME))
        with np.errstate(all="ignore"):
            for name in ("value", "gradient", "curvature"):
                found = np.broadcast_to(getattr(loss, name)(frozen(score), frozen(y)), score.shape)
                require(np.isfinite(found), f"{name} is not finite in {np.dtype(dtype)}", score=score, y=y, found=found)
            found = loss.link(frozen(score))
            require(np.isfinite(found), f"link is not finite in {np.dtype(dtype)}", score=score, found=found)


def check_keeps_shape_and_dtype(loss: Loss) -> None:
    """Value, gradient and link have the shape and the precision of the score; curvature too, or it is one number."""
    values = accepted_y(loss)
    for dtype in (np.float64, np.float32):
        for shape in ((3,), (2, 3), (1,), ()):
            score = frozen(np.linspace(-1, 1, int(np.prod(shape))).reshape(shape).astype(dtype))
            y = frozen(np.full(shape, values[0], dtype))
            answers = {
                "value": loss.value(score, y),
                "gradient": loss.gradient(score, y),
                "link": loss.link(score),
                "curvature": loss.curvature(score, y),
            }
            for name, found in answers.items():
                if name == "curvature" and np.ndim(found) == 0:
                    continue
                array = np.asarray(found)
                if array.shape != shape or array.dtype != dtype:
                    given = f"scores in {np.dtype(dtype)} of shape {shape}"
                    fail(f"{name} of {given} is in {array.dtype} of shape {array.shape}")


def check_takes_empty_arrays(loss: Loss) -> None:
    """No pairs at all are no mistake."""
    empty = frozen(np.zeros(0))
    loss.check_y(empty)
    for name in ("value", "gradient"):
        found = getattr(loss, name)(empty, empty)
        if np.shape(found) != (0,):
            fail(f"{name} of no pairs has shape {np.shape(found)}")
    loss.curvature(empty, empty)


def check_leaves_its_input_alone(loss: Loss) -> None:
    """Arrays that a method is given are read only, and are the same after it."""
    score, y = _grid(loss, SCORES)
    for name in ("value", "gradient", "curvature"):
        given = score.copy(), y.copy()
        getattr(loss, name)(*given)
        if not (np.array_equal(given[0], score) and np.array_equal(given[1], y)):
            fail(f"{name} changes the arrays it is given")
        getattr(loss, name)(score, y)  # read-only ones
    loss.link(score)
    loss.check_y(y)


def check_is_elementwise(loss: Loss) -> None:
    """Each pair's value, gradient and curvature depend on its own score and y, and on nothing else."""
    score, y = _grid(loss, SCORES)
    order = np.random.default_rng(common.SEED).permutation(len(score))
    for name in ("value", "gradient", "curvature"):
        method: Callable[..., Any] = getattr(loss, name)
        together = np.broadcast_to(method(score, y), score.shape)
        shuffled = np.empty_like(together)
        shuffled[order] = np.broadcast_to(method(frozen(score[order]), frozen(y[order])), score.shape)
        alone = np.array([np.broadcast_to(method(score[n : n + 1], y[n : n + 1]), (1,))[0] for n in range(len(score))])
        for other, how in ((shuffled, "in another order"), (alone, "alone")):
            require(
                np.abs(other - together) <= _allowed(together),
                f"{name} is another for a pair taken {how}",
                score=score,
                y=y,
                together=together,
                otherwise=other,
            )


def check_remembers_nothing(loss: Loss) -> None:
    """The same arrays give the same answer, whatever was asked before."""
    score, y = _grid(loss, SCORES)
    other = frozen(score * 3 + 1), y
    for name in ("value", "gradient", "curvature"):
        first = np.array(getattr(loss, name)(score, y))
        for asked in ("value", "gradient", "curvature"):
            getattr(loss, asked)(*other)
        if not np.array_equal(first, np.array(getattr(loss, name)(score, y)), equal_nan=True):
            fail(f"{name} answers otherwise the second time")


def check_y_that_passes_can_be_learnt(loss: Loss) -> None:
    """check_y raises a ValueError with a message for every y that value cannot take."""
    for y in (*common.CANDIDATES, -0.5, 1.5, 1e6, -1e6):
        given = frozen(np.array([y]))
        try:
            loss.check_y(given)
        except ValueError as error:
            if not str(error):
                fail("check_y refuses without a word", y=y)
            continue
        with np.errstate(all="ignore"):
            for name in ("value", "gradient", "curvature"):
                found = np.broadcast_to(getattr(loss, name)(frozen(np.array([0.5])), given), (1,))[0]
                if not np.isfinite(found):
                    fail(f"check_y lets a y pass whose {name} is not finite", y=y, found=found)


def check_link_keeps_the_order_of_scores(loss: Loss) -> None:
    """A larger score is never predicted as less: ``link`` rises with the score."""
    score = frozen(np.sort(np.concatenate([SCORES, SCORES / 7])))
    predicted = loss.link(score)
    require(
        np.append(True, np.diff(predicted) >= -1e-12),
        "link falls",
        score=score,
        predicted=predicted,
        predicted_before=np.append(predicted[:1], predicted[:-1]),
    )


def check_link_takes_the_best_score_to_its_y(loss: Loss) -> None:
    """Where ``calibrated`` is True, ``link`` of the score with the least loss for y is y."""
    if not loss.calibrated:
        raise Skipped("it does not declare itself calibrated")
    y = accepted_y(loss)
    low, high = np.full(len(y), -60.0), np.full(len(y), 60.0)
    inside = (loss.gradient(low, y) < 0) & (loss.gradient(high, y) > 0)  # the least is not at infinity
    for _ in range(80):
        middle = (low + high) / 2
        rising = loss.gradient(frozen(middle), frozen(y)) > 0
        low, high = np.where(rising, low, middle), np.where(rising, middle, high)
    predicted = loss.link(frozen(middle))
    require(
        ~inside | (np.abs(predicted - y) <= 1e-6 * (1 + np.abs(y))),
        "link gives another number",
        y=y,
        best_score=middle,
        predicted=predicted,
    )


def check_copies_are_equal(loss: Loss) -> None:
    """Copies, pickled ones too, are equal to it, and its repr tells what it is."""
    common.copies_are_equal(loss)


def check_is_safe_from_several_threads(loss: Loss) -> None:
    """Calls from several threads at once do not disturb each other."""
    rng = np.random.default_rng(common.SEED)
    values = accepted_y(loss)
    asked = [(rng.normal(size=20_000) * (n + 1), rng.choice(values, 20_000)) for n in range(32)]
    common.same_from_threads(
        lambda n: np.concatenate(
            [loss.value(*asked[n]), loss.gradient(*asked[n]), np.atleast_1d(loss.curvature(*asked[n]))]
        )
    )


def check_native_equals_numpy(loss: Loss) -> None:
    """The native functions give what value, gradient and curvature give, in both precisions."""
    from fmfkit.native import NativeLoss

    native = loss.native
    if native is None:
        raise Skipped("it has no native form")
    if not isinstance(native, NativeLoss):
        fail(f"native is {type(native).__name__}, expected a fmfkit.native.NativeLoss")
    for dtype, close in ((np.float64, 1e-7), (np.float32, 2e-5)):
        score, y = (frozen(array.astype(dtype)) for array in _grid(loss, np.concatenate([SCORES, SCORES / 3, EXTREME])))
        found = dict(zip(("value", "gradient", "curvature"), native(score, y), strict=True))
        for name, values in found.items():
            wanted = np.broadcast_to(getattr(loss, name)(score, y), score.shape)
            if name == "curvature" and not native.has_curvature:
                continue
            require(
                np.abs(values - wanted) <= close * (1 + np.abs(wanted)),
                f"the native {name} in {np.dtype(dtype)} is another",
                score=score,
                y=y,
                native=values,
                numpy=wanted,
            )
        beta = np.broadcast_to(loss.curvature(score, y), score.shape)
        require(
            beta <= native.beta * (1 + close),
            "a pair's curvature is above the native beta",
            score=score,
            y=y,
            curvature=beta,
            beta=np.full(len(beta), native.beta),
        )


def check_trains(loss: Loss) -> None:
    """Trained end to end, the objective never rises, and 1, 2 and 4 threads give the same model, bit for bit."""
    values = accepted_y(loss)
    values = values[np.abs(values) <= 10]
    common.trains(
        lambda dtype: common.problem(loss=loss, y=values, dtype=dtype, weights=True),
        (Panel(), PL2M(scheduler=RandomPartition(3))),
    )


CHECKS = (
    check_gradient_is_the_derivative,
    check_curvature_majorises,
    check_beta_is_the_largest_curvature,
    check_value_is_convex,
    check_finite_at_extremes,
    check_keeps_shape_and_dtype,
    check_takes_empty_arrays,
    check_leaves_its_input_alone,
    check_is_elementwise,
    check_remembers_nothing,
    check_y_that_passes_can_be_learnt,
    check_link_keeps_the_order_of_scores,
    check_link_takes_the_best_score_to_its_y,
    check_copies_are_equal,
    check_is_safe_from_several_threads,
    check_native_equals_numpy,
    check_trains,
)
