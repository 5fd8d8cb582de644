"""One side's coordinate descent, ready to run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np

from fmfkit._core import ffi, lib
from fmfkit._kernels.buffers import void
from fmfkit._kernels.components import LossForm, elastic_net, is_elastic_net, native_form, pointers_to
from fmfkit._kernels.library import kernels, team
from fmfkit._kernels.plan import Plan
from fmfkit._kernels.structs import features_fields, pairs_fields
from fmfkit.problem.problem import Problem
from fmfkit.problem.strengths import Part, Side
from fmfkit.typing import Reals

PANEL: int = lib.FMF_BLOCK
"""Latent dimensions that the panel kernels update together."""


@attrs.define(eq=False)
class SideBuffers:
    """Scratch for coordinate descent on one side."""

    GH: Reals
    step: Reals
    VV: Reals
    eta: Reals

    @classmethod
    def allocate(cls, side: Side, other_rows: int) -> SideBuffers:
        """Reserve what a side's update needs: proportional to its rows, its features and the other side's rows."""
        dtype, rows = side.pairs.y.dtype, side.pairs.rows
        return cls(
            np.zeros((rows, 2), dtype),
            np.zeros(rows, dtype),
            np.zeros((other_rows, 2), dtype),
            np.ones(side.features.cols, dtype),
        )


@attrs.frozen
class Dimension:
    """A latent dimension as the side being updated sees it."""

    column: int
    slot: int
    part: Part


def dimensions(problem: Problem, side: Side) -> list[Dimension]:
    """Return the dimensions in the order of their update: the side's bias, then the factors."""
    factors = [Dimension(k, k, side.factors) for k in range(problem.rank)]
    if side.bias is None or side.bias_slot is None:
        return factors
    return [Dimension(problem.rank, side.bias_slot, side.bias), *factors]


class Descent:
    """One side's coordinate descent, ready to run: the C struct and the arrays it points to."""

    def __init__(
        self,
        problem: Problem,
        side: Side,
        W: Reals,
        other: Reals,
        score: Reals,
        buffers: SideBuffers,
        *,
        plan: Plan | None,
        gradient: Reals | None,
        curvature: Reals | None,
        beta: float,
        threads: int,
        wide: int = 1,
        called: Any = None,
    ) -> None:
        """Point C at the arrays.

        ``plan`` None means Algorithm 2 or 1; gradient and curvature serve external losses, ``called``, a handle, those
        of them that C calls back.
        """
        dtype = problem.dtype
        room = plan.largest_set if plan else 1
        self.delta, self.sums = np.zeros(room * wide, dtype), np.zeros((room, 2), dtype)
        self._partial = np.zeros((plan.most_pieces if plan else 0, 2 * wide), dtype)
        self.beta, self._dtype, self.team, self.kernels = beta, dtype, team(threads), kernels(dtype)
        form = LossForm.of(problem.loss)
        self._kept: list[Any] = [W, other, score, buffers, plan, gradient, curvature, form]
        self._wide, self._shared = wide > 1, side.features.shared
        fields = {
            "pairs": pairs_fields(side.pairs),
            "features": features_fields(side.features),
            "loss": form.fields if called is None else {"code": lib.FMF_CALLED, "python": called},
            "beta": beta,
            "other": void(other, dtype),
            "other_rows": other.shape[0],
            "stride": other.shape[1],
            "parameters": void(W, dtype, writable=True),
            "width": W.shape[1],
            "score": void(score, dtype, writable=True),
            "gradient": void(gradient, dtype),
            "curvature": void(curvature, dtype),
            "GH": void(buffers.GH, dtype, writable=True),
            "step": void(buffers.step, dtype, writable=True),
            "VV": void(buffers.VV, dtype, writable=True),
            "delta": void(self.delta, dtype, writable=True),
            "sums": void(self.sums, dtype, writable=True),
            "partial": void(self._partial, dtype, writable=True),
            "eta": void(buffers.eta, dtype, writable=True) if plan else ffi.NULL,
        }
        if plan:
            fields["plan"] = plan.fields()
        self.struct = ffi.new("fmf_descent *", fields)

    def dimensions(self, dimensions: Sequence[Dimension]) -> Any:
        """Return the C structs of some dimensions."""
        rows = []
        for k in dimensions:
            l1, l2 = elastic_net(k.part.regularizer)
            strength = void(k.part.strength, self._dtype)
            rows.append(
                {
                    "column": k.column,
                    "slot": k.slot,
                    "l1": l1,
                    "l2": l2,
                    "strength": strength,
                    "growth": self._growth(k),
                    **self._native_T(k.part),
                    "shared_strength": self._shared_strength(k.part),
                }
            )
        return ffi.new("fmf_dimension[]", rows)

    def _native_T(self, part: Part) -> dict[str, Any]:
        """Return pointers to a plugin's T, and keep what they point to."""
        native = None if is_elastic_net(part.regularizer) else native_form(part.regularizer)
        self._kept.append(native)
        return pointers_to(native)

    def _growth(self, k: Dimension) -> Any:
        """Return the growth of a dimension, or for the block kernels that of all, in whole blocks."""
        growth = k.part.growth
        if self._wide:
            growth = np.append(growth, np.ones(-len(growth) % PANEL, self._dtype))
        else:
            growth = growth[k.column - k.part.columns.start :]
        self._kept.append(growth)
        return void(growth, self._dtype)

    def _shared_strength(self, part: Part) -> float:
        return float(part.strength[self._shared].sum(dtype=np.float64)) if self._wide else 0.0

    def descend(self, dimensions: Sequence[Dimension]) -> None:
        """Update every dimension; loss and regularizers are native."""
        self.kernels.descend(self.struct, len(dimensions), self.dimensions(dimensions), self.team)

    def begin(self, before: int, slot: int) -> None:
        """Bring scores up to date with the dimension before, and G and H to this one (native losses)."""
        self.kernels.begin(self.struct, before, slot, self.team)

    def accumulate(self, beta: float) -> None:
        """Make G and H from the gradients of an external loss."""
        self.struct.beta = beta
        self.kernels.accumulate(self.struct, self.team)

    def measure(self) -> None:
        """Measure eta."""
        self.kernels.measure(self.struct, self.team)

    def sweep(self, dimension: Dimension) -> None:
        """Update all features of a dimension with a native regularizer."""
        self.kernels.sweep(self.struct, self.dimensions([dimension]), self.team)

    def set_sums(self, index: int) -> None:
        """Leave gradient and curvature of a set's features in ``sums``."""
        self.kernels.set_sums(self.struct, index, self.team)

    def set_apply(self, index: int) -> None:
        """Apply the steps of a set, given in ``delta``, to G and to the embedding's change."""
        self.kernels.set_apply(self.struct, index, self.team)

    def naive(self, dimensions: Sequence[Dimension]) -> None:
        """Algorithm 1 over every coordinate; loss and regularizers are native."""
        self.kernels.naive(self.struct, len(dimensions), self.dimensions(dimensions))

    def naive_sums(self, slot: int, feature: int, beta: float) -> tuple[float, float]:
        """Return gradient and curvature of one coordinate over all pairs it touches."""
        self.struct.beta = beta
        sums = ffi.new("double[2]")
        self.kernels.naive_sums(self.struct, slot, feature, sums)
        return sums[0], sums[1]

    def naive_apply(self, slot: int, feature: int, delta: float) -> None:
        """Bring the scores of all touched pairs up to date with a step."""
        self.kernels.naive_apply(self.struct, slot, feature, delta)
