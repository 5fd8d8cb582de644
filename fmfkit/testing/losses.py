"""The laws of a loss."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fmfkit.interfaces import Loss
from fmfkit.native import NativeLoss
from fmfkit.schedulers import RandomPartition
from fmfkit.solvers import PL2M, Panel
from fmfkit.testing import batches, common, process, tables
from fmfkit.testing.common import accepted_y, frozen
from fmfkit.testing.verdict import Skipped, fail, require

METHODS = ("value", "gradient", "curvature")
NEAR = np.array([0.0, 1, -1, 0.5, -0.5, 2, -2, 3, -3, 1e-3, -1e-3, 0.1, -0.1, 5, -5, 10, -10, 20, -20, 30, -30])
SIZES = np.array([50.0, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5, 2e5, 5e5, 1e6])
SPREAD = np.sort(10 ** np.random.default_rng(common.SEED).uniform(-3, 6, 60))
SCORES = np.concatenate([NEAR, SIZES, -SIZES, SPREAD, -SPREAD])
"""Near and far, and between: what is wrong beyond 50, or between 40 and 60, shows."""
STEPS = np.array([1e-3, 0.01, 0.1, 1, 2, 5, 20, 100, 1e3, 1e4, 1e5, 1e6])


def _grid(loss: Loss, dtype: Any = np.float64) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return scores and y that the loss takes in all combinations, as flat read-only arrays."""
    taken = accepted_y(loss)
    far, near = np.meshgrid(SCORES, taken, indexing="ij"), np.meshgrid(NEAR, taken, indexing="ij")
    score, y = np.append(far[0], near[0] + near[1]), np.append(far[1], near[1])  # near to each y, too
    return frozen(score.astype(dtype)), frozen(y.astype(dtype))


def _steps(loss: Loss) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return scores, y and steps: of all sizes, and such as lead to y, to its other side, and to the score's."""
    score, y = _grid(loss)
    steps = [np.full_like(score, t) for size in STEPS for t in (size, -size)]
    steps += [share * (y - score) for share in (0.5, 1, 1.5, 2, 3, 10)] + [-share * score for share in (0.5, 1, 2, 3)]
    t = np.concatenate([(score + step) - score for step in steps])
    return frozen(np.tile(score, len(steps))), frozen(np.tile(y, len(steps))), frozen(t)


def _of_batch(found: Any, score: NDArray[Any]) -> NDArray[Any]:
    return np.broadcast_to(found, score.shape)


def _allowed(*values: NDArray[Any]) -> NDArray[Any]:
    """Return how much rounding may change a sum of values."""
    return np.asarray(1e-9 * (1 + sum(np.abs(value) for value in values)))


def _slope(loss: Loss, score: NDArray[Any], y: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the slope of ``value`` by differences, each of the width that is best there, and how exact it is."""
    eps, here = float(np.finfo(np.float64).eps), loss.value(score, y)
    size = 1 + np.abs(here) + np.abs(score) + np.abs(y) + np.abs(score * y)
    slopes, errors = [], []
    for width in 10.0 ** np.arange(-8, 1):
        right, left = frozen(score + width * (1 + np.abs(score))), frozen(score - width * (1 + np.abs(score)))
        above, below = loss.value(right, y), loss.value(left, y)
        rounding = 16 * eps * (size + np.abs(above) + np.abs(below)) / (right - left)
        # the slope of a convex function lies between those of its chords to either side
        bend = np.abs((above - here) / (right - score) - (here - below) / (score - left))
        slopes.append((above - below) / (right - left))
        errors.append(rounding + bend / 2)
    best = np.argmin(np.where(np.isfinite(errors), errors, np.inf), axis=0), np.arange(len(score))
    return np.array(slopes)[best], np.array(errors)[best]


def check_gradient_is_the_derivative(loss: Loss) -> None:
    """``gradient`` is the derivative of ``value`` by the score, near and far, for every y that is taken."""
    score, y = _grid(loss)
    gradient = loss.gradient(score, y)
    slope, error = _slope(loss, score, y)
    close = np.abs(gradient - slope) <= 1e-6 * (1 + np.abs(slope)) + error
    require(close, "the slope of value is another", score=score, y=y, gradient=gradient, slope_of_value=slope)


def check_curvature_majorises(loss: Loss) -> None:
    """loss(s + t) <= loss(s) + g t + h/2 t² for every score s and step t, small or large, of either sign."""
    score, y, t = _steps(loss)
    here, h = loss.value(score, y), _of_batch(loss.curvature(score, y), score)
    after, first, second = loss.value(frozen(score + t), y), loss.gradient(score, y) * t, h / 2 * t * t
    bound = here + first + second
    require(
        after <= bound + _allowed(here, after, first, second),
        "the bound is exceeded",
        score=score,
        y=y,
        t=t,
        curvature=h,
        value_after_the_step=after,
        bound=bound,
    )


def check_beta_is_the_largest_curvature(loss: Loss) -> None:
    """Where ``beta`` is a number, no curvature is above it."""
    if loss.beta is None:
        raise Skipped("it has no beta")
    score, y = _grid(loss)
    found = _of_batch(loss.curvature(score, y), score)
    beta = np.full(score.shape, float(loss.beta))
    require(found <= beta * (1 + 1e-6), "a curvature is above beta", score=score, y=y, curvature=found, beta=beta)


def check_value_is_convex(loss: Loss) -> None:
    """``value`` is convex in the score: it lies below its chords everywhere."""
    score, y, t = _steps(loss)
    here, after = loss.value(score, y), loss.value(frozen(score + t), y)
    middle = loss.value(frozen(score + t / 2), y)
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
        score, y = _grid(loss, dtype)
        for name in METHODS:
            found = _of_batch(getattr(loss, name)(score, y), score)
            require(np.isfinite(found), f"{name} is not finite in {np.dtype(dtype)}", score=score, y=y, found=found)
        found = loss.link(score)
        require(np.isfinite(found), f"link is not finite in {np.dtype(dtype)}", score=score, found=found)


def check_single_precision_is_exact(loss: Loss) -> None:
    """In single precision a number is that of double precision, but for the rounding of scores, y and itself."""
    score, y = _grid(loss, np.float32)
    wide = frozen(score.astype(np.float64)), frozen(y.astype(np.float64))
    eps = float(np.finfo(np.float32).eps)
    s, of_y = np.abs(wide[0]), np.abs(wide[1])
    moved = 4 * eps * (s + of_y)
    gradient, h = np.abs(loss.gradient(*wide)), _of_batch(loss.curvature(*wide), s)
    rounding = {
        "value": 1 + s + gradient * (s + of_y),
        "gradient": 1 + of_y,
        "curvature": np.full(len(s), min(1.0, float(np.max(h)))),
        "link": np.ones(len(s)),
    }
    for name, scale in rounding.items():
        method: Any = getattr(loss, name)
        ask = (lambda a, b, link=method: link(a)) if name == "link" else method
        near = [_of_batch(ask(frozen(wide[0] + by), wide[1]), s) for by in (0, moved, -moved)]
        found = _of_batch(ask(score, y), s).astype(np.float64)
        allowed = 16 * eps * (scale + np.abs(near[0])) + np.finfo(np.float32).tiny
        close = (found >= np.min(near, axis=0) - allowed) & (found <= np.max(near, axis=0) + allowed)
        require(close, f"{name} is imprecise in float32", score=score, y=y, float32=found, float64=near[0])


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
    score, y = _grid(loss)
    for name in METHODS:
        given = score.copy(), y.copy()
        getattr(loss, name)(*given)
        if not (np.array_equal(given[0], score) and np.array_equal(given[1], y)):
            fail(f"{name} changes the arrays it is given")
        getattr(loss, name)(score, y)  # read-only ones
    loss.link(score)
    loss.check_y(y)


def _calls(loss: Loss) -> dict[str, Any]:
    """Return the methods that take scores and y, link among them."""
    return {**{name: getattr(loss, name) for name in METHODS}, "link": lambda score, y: loss.link(score)}


def check_is_elementwise(loss: Loss) -> None:
    """Each pair's value, gradient, curvature and prediction depend on its own score and y: alone, in any order, among
    a million."""
    for dtype in (np.float64, np.float32):
        score, y = _grid(loss, dtype)
        for name, call in _calls(loss).items():
            batches.same_in_any_batch(f"{name} in {np.dtype(dtype)}", call, {"score": score, "y": y})


def check_remembers_nothing(loss: Loss) -> None:
    """The same numbers give the same answer, whatever was asked before, and whatever stood in the arrays."""
    rng, values = np.random.default_rng(common.SEED), accepted_y(loss)
    first, other = (
        {"score": size * rng.normal(size=777), "y": rng.choice(values[np.abs(values) <= 100], 777)} for size in (1, 3)
    )
    batches.remembers_nothing(_calls(loss), first, other)


def check_y_that_passes_can_be_learnt(loss: Loss) -> None:
    """check_y raises a ValueError with a message for every y that value cannot take."""
    for y in (*common.CANDIDATES, -0.5, 1.5):
        given = frozen(np.array([y]))
        try:
            loss.check_y(given)
        except ValueError as error:
            if not str(error):
                fail("check_y refuses without a word", y=y)
            continue
        for name in METHODS:
            found = np.broadcast_to(getattr(loss, name)(frozen(np.array([0.5])), given), (1,))[0]
            if not np.isfinite(found):
                fail(f"check_y lets a y pass whose {name} is not finite", y=y, found=found)


def check_link_keeps_the_order_of_scores(loss: Loss) -> None:
    """A larger score is never predicted as less, however far out: ``link`` rises with the score."""
    for dtype in (np.float64, np.float32):
        score = frozen(np.unique(np.concatenate([SCORES, SCORES / 7]).astype(dtype)))
        predicted = loss.link(score)
        before = np.append(predicted[:1], predicted[:-1])
        allowed = 16 * float(np.finfo(dtype).eps) * (1 + np.abs(before))
        require(
            predicted >= before - allowed,
            f"link falls in {np.dtype(dtype)}",
            score=score,
            predicted=predicted,
            predicted_before=before,
        )


def check_link_takes_the_best_score_to_its_y(loss: Loss) -> None:
    """Where ``calibrated`` is True, ``link`` of the score with the least loss for y is y."""
    if not loss.calibrated:
        raise Skipped("it does not declare itself calibrated")
    y = accepted_y(loss)
    low, high = np.full(len(y), -2e6), np.full(len(y), 2e6)
    inside = (loss.gradient(low, y) < 0) & (loss.gradient(high, y) > 0)  # the least is not at infinity
    for _ in range(100):
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
    for size in (20_000, 500):
        asked = [(rng.normal(size=size) * (n + 1), rng.choice(values, size)) for n in range(32)]

        def ask(n: int, asked: Any = asked) -> NDArray[Any]:
            return np.concatenate([np.atleast_1d(call(*asked[n])) for call in _calls(loss).values()])

        batches.same_from_threads(ask)


def _pool(loss: Loss) -> tables.Pool:
    def pool(dtype: np.dtype[Any]) -> dict[str, NDArray[Any]]:
        score, y = _grid(loss, dtype)
        return {"score": score, "y": y}

    return pool


def check_native_equals_numpy(loss: Loss) -> None:
    """The native functions give what value, gradient and curvature give, in both precisions, for batches of any
    length."""
    native = tables.native_of(loss)
    assert isinstance(native, NativeLoss)

    def wanted(score: NDArray[Any], y: NDArray[Any]) -> dict[str, tuple[NDArray[Any], float]]:
        return {name: (_of_batch(getattr(loss, name)(score, y), score), 1.0) for name in METHODS}

    tables.equals(native, _pool(loss), wanted)
    score, y = _grid(loss)
    curvature = _of_batch(loss.curvature(score, y), score)
    require(
        curvature <= native.beta * (1 + 1e-7),
        "a pair's curvature is above the native beta",
        score=score,
        y=y,
        curvature=curvature,
        beta=np.full(len(score), native.beta),
    )


def check_native_writes_its_output_alone(loss: Loss) -> None:
    """The native functions write n numbers to each output, and nothing anywhere else."""
    tables.writes_its_output_alone(tables.native_of(loss), _pool(loss))


def check_native_is_safe_from_several_threads(loss: Loss) -> None:
    """Threads that call the native functions at once do not disturb each other."""
    tables.is_safe_from_threads(tables.native_of(loss), _pool(loss))


def check_leaves_the_process_alone(loss: Loss) -> None:
    """It leaves no trace in the process: generators, error states, environment, folder, warnings, locale."""
    score, y = _grid(loss)
    with process.unchanged():
        loss.check_y(y)
        for call in _calls(loss).values():
            call(score, y)


def check_trains(loss: Loss) -> None:
    """Trained end to end, the objective never rises, and 1 to 4 threads give the same model, bit for bit."""
    tables.refuse_untidy(loss, _pool(loss))
    values = accepted_y(loss)
    values = values[np.argsort(np.abs(values), kind="stable")][:8]
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
    check_single_precision_is_exact,
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
    check_native_writes_its_output_alone,
    check_native_is_safe_from_several_threads,
    check_leaves_the_process_alone,
    check_trains,
)
