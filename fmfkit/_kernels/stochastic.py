"""Stochastic gradient descent's part of the door to C, with callbacks for losses and regularizers written in Python."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fmfkit._core import ffi
from fmfkit._kernels.buffers import int32, pointer, void
from fmfkit._kernels.components import EXTERNAL, LossForm, elastic_net, is_elastic_net
from fmfkit._kernels.library import kernels, team
from fmfkit._kernels.structs import features_fields, pairs_fields
from fmfkit.arguments import check_batch, frozen
from fmfkit.problem.problem import Problem
from fmfkit.problem.strengths import Part, Side
from fmfkit.typing import Reals


class _PythonSteps:
    """Serves the callbacks of stochastic gradient descent for a loss or regularizers written in Python."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.stop = np.zeros(1, np.int32)
        self.error: BaseException | None = None
        self.parts = (problem.query.factors, problem.query.bias, problem.target.factors, problem.target.bias)

    def fail(self, error: BaseException) -> None:
        self.error, self.stop[0] = self.error or error, 1

    def gradient(self, score: float, y: float) -> float:
        batch, targets = np.array([score], self.problem.dtype), np.array([y], self.problem.dtype)
        return float(check_batch(self.problem.loss, "gradient", self.problem.loss.gradient(batch, targets), (1,))[0])

    def step(self, which: int, x: Reals, y: float, w: Reals, share: float) -> None:
        part = self.parts[which]
        assert part is not None  # the kernel touches biases only where there are some
        curvature = np.full_like(w, y)
        w += check_batch(part.regularizer, "T", part.regularizer.T(frozen(x), curvature, frozen(w), share), w.shape)


def _keep_error(exception: Any, error: BaseException, traceback: Any) -> None:
    """Keep what a callback raised, an interrupt too: C cannot carry it, so the round raises it when C returns."""
    steps: _PythonSteps = ffi.from_handle(traceback.tb_frame.f_locals["python"])
    steps.fail(error)


@ffi.def_extern(onerror=_keep_error)  # type: ignore[untyped-decorator]
def fmf_python_gradient(python: Any, score: float, y: float) -> float:
    """Gradient of one pair."""
    steps: _PythonSteps = ffi.from_handle(python)
    return steps.gradient(score, y)


@ffi.def_extern(onerror=_keep_error)  # type: ignore[untyped-decorator]
def fmf_python_step(python: Any, which: int, feature: int, x: Any, y: float, w: Any, n: int, share: float) -> None:
    """Proximal step of one feature's weights."""
    steps: _PythonSteps = ffi.from_handle(python)
    dtype = steps.problem.dtype
    arrays = [np.frombuffer(ffi.buffer(a, n * dtype.itemsize), dtype) for a in (x, w)]
    steps.step(which, arrays[0], y, arrays[1], share)


@attrs.frozen(eq=False)
class Touches:
    """The penalty's share in one touch of each feature, for factors and bias of one side."""

    side: Side
    factors: Reals
    bias: Reals | None
    untouched: NDArray[np.int64]
    """Features that no pair touches: their penalty alone decides on them."""

    def settle_untouched(self, W: Reals) -> None:
        """Put untouched features where their penalty is least."""
        if not self.untouched.size:
            return
        for part in self.side.parts:
            w = W[self.untouched, part.columns]
            zero = np.zeros_like(w)
            step = part.regularizer.T(zero, zero, w, part.strength[self.untouched, None])
            W[self.untouched, part.columns] += check_batch(part.regularizer, "T", step, w.shape)

    @classmethod
    def of(cls, side: Side) -> Touches:
        """Divide the strengths by how often a round of stochastic gradient descent touches each feature."""
        features = side.features
        pairs_of_row = np.repeat(np.diff(side.pairs.ptr), np.diff(features.row_ptr))
        touches = np.bincount(features.row_index, weights=pairs_of_row, minlength=features.cols)
        each = [
            None if part is None else (part.strength / np.maximum(touches, 1)).astype(part.strength.dtype)
            for part in (side.factors, side.bias)
        ]
        assert each[0] is not None
        return cls(side, each[0], each[1], np.flatnonzero(touches == 0))


def stochastic_round(
    problem: Problem,
    P: Reals,
    Q: Reals,
    touches: tuple[Touches, Touches],
    rate: float,
    threads: int,
    *,
    order: NDArray[np.int32] | None = None,
    row_of: NDArray[np.int32] | None = None,
    multiplier: int = 1,
    shift: int = 0,
) -> None:
    """Run a round of stochastic gradient descent: grouped by query in ``order``, or per pair (with ``row_of``)."""
    dtype, form = problem.dtype, LossForm.of(problem.loss)
    for touched, W in zip(touches, (P, Q), strict=True):
        touched.settle_untouched(W)
    parts = [part for side in problem.sides for part in side.parts]
    penalty_external = not all(is_elastic_net(part.regularizer) for part in parts)
    steps = _PythonSteps(problem) if form.code == EXTERNAL or penalty_external else None
    handle = ffi.new_handle(steps) if steps else ffi.NULL
    size = 1 if steps else team(threads)
    scratch = np.zeros((size, 4, problem.rank + 1), dtype)

    def touch(part: Part | None, share: Reals | None) -> dict[str, Any]:
        l1, l2 = elastic_net(part.regularizer) if part else (0.0, 0.0)
        return {"l1": l1, "l2": l2, "share": void(share, dtype)}

    struct = ffi.new(
        "fmf_sgd *",
        {
            "pairs": pairs_fields(problem.query.pairs),
            "X": features_fields(problem.X),
            "Z": features_fields(problem.Z),
            "P": void(P, dtype, writable=True),
            "Q": void(Q, dtype, writable=True),
            "rank": problem.rank,
            "query_bias": problem.query_bias,
            "target_bias": problem.target_bias,
            "offset": problem.offset,
            "rate": rate,
            "loss": form.fields,
            "touch_P": touch(problem.query.factors, touches[0].factors),
            "touch_query_bias": touch(problem.query.bias, touches[0].bias),
            "touch_Q": touch(problem.target.factors, touches[1].factors),
            "touch_target_bias": touch(problem.target.bias, touches[1].bias),
            "penalty_external": penalty_external,
            "python": handle,
            "stop": pointer("const int32_t *", steps.stop, np.int32) if steps else ffi.NULL,
            "order": ffi.NULL if order is None else int32(order),
            "row_of": ffi.NULL if row_of is None else int32(row_of),
            "multiplier": multiplier,
            "shift": shift,
            "scratch": void(scratch, dtype, writable=True),
        },
    )
    table = kernels(dtype)
    (table.sgd_grouped if order is not None else table.sgd_per_pair)(struct, size)
    if steps and steps.error:
        raise steps.error
