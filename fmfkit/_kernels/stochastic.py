"""Stochastic gradient descent's part of the door to C."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fmfkit._core import ffi
from fmfkit._kernels.buffers import Array, Table, allocate, integers, reals, table_bytes
from fmfkit._kernels.components import LossForm, PenaltyForm, raise_errors
from fmfkit._kernels.library import kernels, team
from fmfkit._kernels.structs import features_fields, pairs_fields
from fmfkit.arguments import check_batch, frozen
from fmfkit.interfaces import Regularizer
from fmfkit.problem.problem import Problem
from fmfkit.problem.strengths import Part, Side
from fmfkit.typing import Reals


@attrs.frozen(eq=False)
class Touches:
    """The penalty's share in one touch of each feature, for factors and bias of one side."""

    side: Side
    factors: PenaltyForm
    bias: PenaltyForm | None
    untouched: NDArray[np.int64]
    """Features that no pair touches: their penalty alone decides on them."""

    @classmethod
    def of(cls, side: Side) -> Touches:
        """Divide the strengths by how often a round of stochastic gradient descent touches each feature."""
        features = side.features
        pairs_of_row = np.repeat(np.diff(side.pairs.ptr), np.diff(features.row_ptr))
        touches = np.bincount(features.row_index, weights=pairs_of_row, minlength=features.cols)

        def share(part: Part) -> PenaltyForm:
            strength = (part.strength / np.maximum(touches, 1)).astype(part.strength.dtype)
            return PenaltyForm.of(part, strength)

        bias = None if side.bias is None else share(side.bias)
        return cls(side, share(side.factors), bias, np.flatnonzero(touches == 0))

    @property
    def forms(self) -> list[PenaltyForm]:
        """The penalties."""
        return [form for form in (self.factors, self.bias) if form is not None]

    def settle_untouched(self, W: Reals) -> None:
        """Put untouched features where their penalty is least."""
        if not self.untouched.size:
            return
        for part in self.side.parts:
            w = W[self.untouched, part.columns]
            W[self.untouched, part.columns] += _alone(part.regularizer, w, part.strength[self.untouched, None])


def _alone(regularizer: Regularizer, w: Reals, strength: Reals) -> Any:
    """Return T where no pair pulls."""
    zero, native = np.zeros_like(w), regularizer.native
    step = regularizer.T(zero, zero, frozen(w), strength) if native is None else native.T(zero, zero, w, strength)
    return check_batch(regularizer, "T", step, w.shape)


@attrs.frozen(kw_only=True)
class Visits:
    """The order of a round: by query, in ``order``; or per pair: pair (multiplier t + shift) mod pairs in step t."""

    order: NDArray[np.int32] | None = None
    row_of: NDArray[np.int32] | None = None
    """The query of each pair."""
    multiplier: int = 1
    shift: int = 0


class StochasticUpdate:
    """Runs rounds of stochastic gradient descent; owns what C points to."""

    def __init__(self, problem: Problem) -> None:
        """Find the penalty's share in each touch of a feature."""
        self.problem = problem
        self.loss = LossForm.of(problem.loss, problem.dtype)
        self.touches = tuple(Touches.of(side) for side in problem.sides)
        self.penalties = [form for touched in self.touches for form in touched.forms]

    def table(self, threads: int) -> Table:
        """Return what threads need."""
        return {"scratch": Array((threads, 7, self.problem.rank + 1), self.problem.dtype)}

    @staticmethod
    def workspace_bytes(problem: Problem, threads: int) -> int:
        """Return the bytes that rounds need: the strengths of a touch, and some rows for each thread."""
        parts = [part for side in problem.sides for part in side.parts]
        scratch = Array((threads, 7, problem.rank + 1), problem.dtype)
        return sum(part.strength.nbytes for part in parts) + table_bytes({"scratch": scratch})

    def round(self, P: Reals, Q: Reals, rate: float, visits: Visits, threads: int) -> None:
        """Visit every pair once."""
        problem, dtype = self.problem, self.problem.dtype
        for touched, W in zip(self.touches, (P, Q), strict=True):
            touched.settle_untouched(W)
        forms: list[LossForm | PenaltyForm] = [self.loss, *self.penalties]
        called = [form.calls for form in forms if form.calls is not None]
        threads = 1 if called else team(threads)
        stop = np.zeros(1, np.int32)
        for calls in called:
            calls.stop = stop
        arrays = allocate(self.table(threads))
        query, target = self.touches
        biases = {"query_bias_penalty": query.bias, "target_bias_penalty": target.bias}
        fields = {
            "pairs": pairs_fields(problem.query.pairs, problem.query.pairs.chunk),
            "X": features_fields(problem.X),
            "Z": features_fields(problem.Z),
            "P": reals(P, dtype, writable=True),
            "Q": reals(Q, dtype, writable=True),
            "rank": problem.rank,
            "query_bias": problem.query_bias,
            "target_bias": problem.target_bias,
            "offset": problem.offset,
            "rate": rate,
            "loss": self.loss.fields(),
            "P_penalty": query.factors.fields(),
            "Q_penalty": target.factors.fields(),
            **{name: form.fields() for name, form in biases.items() if form is not None},
            "stop": integers(stop, np.int32),
            "order": ffi.NULL if visits.order is None else integers(visits.order, np.int32),
            "row_of": ffi.NULL if visits.row_of is None else integers(visits.row_of, np.int32),
            "multiplier": visits.multiplier,
            "shift": visits.shift,
            "scratch": reals(arrays["scratch"], dtype, writable=True),
        }
        run = kernels(dtype).sgd_per_pair if visits.order is None else kernels(dtype).sgd_grouped
        run(ffi.new("fmf_sgd *", fields), threads)
        raise_errors(forms)
