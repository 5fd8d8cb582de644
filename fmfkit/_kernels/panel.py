"""The panel solver's part of the door to C."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fmfkit._core import ffi, lib
from fmfkit._kernels.buffers import lines, pointer, void
from fmfkit._kernels.components import EXTERNAL, beta_or_curvature, loss_code
from fmfkit._kernels.descent import PANEL, Descent, SideBuffers, dimensions
from fmfkit._kernels.plan import Plan
from fmfkit._kernels.scoring import new_embedding
from fmfkit.arguments import check_batch, frozen
from fmfkit.interfaces import Partition
from fmfkit.problem.features import Features
from fmfkit.problem.problem import Problem
from fmfkit.problem.strengths import Side
from fmfkit.typing import Reals

WIDE = PANEL * (PANEL // 2 + 1)
"""Numbers that hold a symmetric PANEL x PANEL matrix, as the kernels keep it."""

ROWS_AT_ONCE = 65536
"""Rows whose values are added up at a time."""
PAIRS_AT_ONCE = 32768
"""Pairs that a loss in Python sees at a time: long for NumPy, short for the caches."""
LINES_BYTES = 8 * 2**20
"""What a thread may use to keep the embeddings of a row's partners side by side."""


def without_owned(partition: Partition, features: Features) -> Partition:
    """Return the partition of the shared features that a partition of all makes."""
    keep = features.shared[partition.order]
    before = np.concatenate([[0], np.cumsum(keep)])
    return Partition(partition.order[keep], np.unique(before[partition.offsets]))


def shared_sums(features: Features) -> Reals:
    """Return, for each row, the sum of its values of shared features; 0 where it is but rounding of what it adds up."""
    if features.row_scale is not None:
        return features.row_scale * (np.diff(features.row_ptr) - (features.own >= 0)).astype(features.own_value.dtype)
    sums = np.zeros(features.rows, features.own_value.dtype)
    least = 1e3 * np.finfo(sums.dtype).eps
    for first in range(0, features.rows, ROWS_AT_ONCE):
        end = min(first + ROWS_AT_ONCE, features.rows)
        values = features.values_by_row(first, end).astype(np.float64)
        ptr = features.row_ptr[first : end + 1] - features.row_ptr[first]
        values[ptr[:-1][features.own[first:end] >= 0]] = 0
        rows = np.repeat(np.arange(end - first), np.diff(ptr))
        total, absolute = (np.bincount(rows, weights=w, minlength=end - first) for w in (values, np.abs(values)))
        sums[first:end] = np.where(np.abs(total) > least * absolute, total, 0)
    return sums


def lines_room(longest: int, line: int) -> int:
    """Return for how many pairs, of at most ``longest``, a thread keeps lines of ``line`` bytes side by side."""
    return min(longest | 1, max(1, LINES_BYTES // line))


class _Calls:
    """Serves the callbacks for a loss written in Python."""

    def __init__(self, problem: Problem) -> None:
        self.loss, self.dtype = problem.loss, problem.dtype
        self.error: BaseException | None = None

    def bend(self, score: Reals, y: Reals, g: Reals, h: Reals) -> None:
        given, targets = frozen(score), frozen(y)
        g[:] = check_batch(self.loss, "gradient", self.loss.gradient(given, targets), g.shape)
        curvature = self.loss.curvature(given, targets)
        h[:] = check_batch(self.loss, "curvature", curvature, () if np.ndim(curvature) == 0 else h.shape, scalar=True)


def _views(calls: _Calls, n: int, *pointers: Any) -> list[Reals]:
    return [np.frombuffer(ffi.buffer(pointer, n * calls.dtype.itemsize), calls.dtype) for pointer in pointers]


def _keep_error(exception: Any, error: BaseException, traceback: Any) -> None:
    """Keep what a callback raised, an interrupt too: C goes on with no gradients, and it is raised when C returns."""
    given = traceback.tb_frame.f_locals
    calls: _Calls = ffi.from_handle(given["python"])
    calls.error = calls.error or error
    g, h = _views(calls, given["n"], given["g"], given["h"])
    g[:], h[:] = 0, 1


@ffi.def_extern(onerror=_keep_error)  # type: ignore[untyped-decorator]
def fmf_python_bend(python: Any, score: Any, y: Any, g: Any, h: Any, n: int) -> None:
    """Gradients and curvatures of some pairs."""
    calls: _Calls = ffi.from_handle(python)
    if calls.error is not None:
        raise calls.error
    calls.bend(*_views(calls, n, score, y, g, h))


DOUBLES = ("weights", "row_sums", "feature_sums", "row_common", "feature_common", "chunk_loss")
"""Members of the C struct that are double whatever the precision of the problem."""


class PanelDescent:
    """One side's coordinate descent by panels of dimensions: buffers for all rounds, and the C struct of each.

    Where every feature is some row's own, each row is taken by itself. Else shared features move together along a few
    conjugate ``directions``, or, where those are 0, set by set of a partition.
    """

    def __init__(self, problem: Problem, side: Side, other_rows: int, directions: int) -> None:
        """Reserve the buffers: proportional to rows, features and the other side's rows."""
        self.problem, self.directions = problem, directions
        self.called = loss_code(problem.loss) == EXTERNAL
        self.alone = not self.called and not side.features.shared.any()
        self.side = side if self.alone or directions else attrs.evolve(side, features=side.features.with_values())
        self.embedding = new_embedding(problem, side)
        self.plan: Plan | None = None
        self.rho: Reals | None = None
        self._kept: tuple[int, dict[str, NDArray[Any]]] | None = None
        dtype, rows, cols = problem.dtype, side.pairs.rows, side.features.cols
        widths = {"G": PANEL, "A": WIDE, "view": 2 * PANEL, "move": PANEL, "u": PANEL, "Au": PANEL}
        shapes = {name: (0 if self.alone else rows, width) for name, width in widths.items()}
        if directions and not self.alone:
            shapes |= dict.fromkeys(("residual", "diagonal", "scaled", "direction"), (cols, PANEL))
            shapes |= {"push": (rows, PANEL)} if side.features.row_scale is not None else {}
            self.plan = Plan.of_one_set(side.features)
            self.rho = shared_sums(side.features)
        elif not self.alone:
            self.plan = Plan.allocate(self.side.features)
        self.wide = {name: lines(shape, dtype) for name, shape in shapes.items()}
        self.buffers = SideBuffers(
            np.zeros((0 if directions or self.alone else rows, 2), dtype),
            np.zeros(0, dtype),
            lines((0 if self.alone else other_rows, 2 * PANEL), dtype),
            np.ones(0 if self.moves_together else cols, dtype),
        )

    def descend(
        self, partition: Partition | None, W: Reals, other: Reals, score: Reals, threads: int, *, scored: bool
    ) -> float | None:
        """Update the bias and every panel of factors; loss and regularizers are native.

        Returns the weighted loss where it is known. ``scored`` says that ``score`` is up to date.
        """
        side, dtype = self.side, self.problem.dtype
        if self.plan is not None and partition is not None:
            self.plan.lay_out(without_owned(partition, side.features), threads, runs=True)
        calls = _Calls(self.problem) if self.called else None
        handle = None if calls is None else ffi.new_handle(calls)
        descent = Descent(
            self.problem,
            side,
            W,
            other,
            score,
            self.buffers,
            plan=self.plan,
            gradient=None,
            curvature=None,
            beta=1.0 if calls else float(beta_or_curvature(self.problem)),
            threads=threads,
            wide=PANEL,
            called=handle,
        )
        scratch = self._scratch(descent.team)
        pointers = {name: void(array, dtype, writable=True) for name, array in self.wide.items()}
        pointers.setdefault("push", pointers["Au"])
        block = ffi.new(
            "fmf_block *",
            {
                "d": descent.struct[0],
                "rank": self.problem.rank,
                "offset": self.problem.offset,
                "mine": void(self.embedding, dtype, writable=True),
                "scored": scored,
                "directions": self.directions,
                "rho": void(self.rho, dtype),
                **pointers,
                **{
                    name: pointer("double *", array, np.float64, writable=True)
                    if name in DOUBLES
                    else void(array, dtype, writable=True)
                    for name, array in scratch.items()
                },
                "lines_room": self.lines_room,
                "longest": self.longest,
                "called_room": self.called_room,
            },
        )
        every = dimensions(self.problem, side)
        bias = descent.dimensions(every[:1]) if side.bias is not None else ffi.NULL
        factors = descent.dimensions(every[-1:])
        if not self.alone:
            descent.kernels.block_descend(block, bias, factors, descent.team)
            if calls is not None and calls.error is not None:
                raise calls.error
            return None
        loss: float = descent.kernels.block_rows(block, bias, factors, descent.team)
        return loss

    @property
    def moves_together(self) -> bool:
        """Whether shared features move along directions."""
        return bool(self.directions) and not self.alone

    @property
    def longest(self) -> int:
        """The largest number of pairs of a row."""
        return int(np.diff(self.side.pairs.ptr).max(initial=0))

    @property
    def lines_room(self) -> int:
        """For how many pairs a thread keeps the other side's embeddings side by side."""
        line = -(-self.problem.rank // PANEL) * PANEL * self.problem.dtype.itemsize
        return lines_room(self.longest, line)

    def _scratch(self, team: int) -> dict[str, NDArray[Any]]:
        """Return what threads need for themselves, kept from round to round."""
        if self._kept is None or self._kept[0] != team:
            self._kept = team, self._alone(team) if self.alone else self._sums() | self._called(team)
        return self._kept[1]

    def _alone(self, team: int) -> dict[str, NDArray[Any]]:
        """Return the scratch of rows by themselves."""
        blocks, dtype = -(-self.problem.rank // PANEL), self.problem.dtype
        return {
            "lines": lines((team * blocks * self.lines_room, PANEL), dtype),
            "row_score": np.empty(team * self.longest, dtype),
            "chunk_loss": np.empty(len(self.side.pairs.chunk) - 1),
        }

    @property
    def called_room(self) -> int:
        """For how many pairs at a time a loss in Python is called: those of one chunk at least."""
        pairs = self.side.pairs
        return int(np.diff(pairs.ptr[pairs.chunk]).max(initial=PAIRS_AT_ONCE)) if self.called else 0

    def _called(self, team: int) -> dict[str, NDArray[Any]]:
        """Return the room for gradients and curvatures of a loss that is called."""
        return {"called": np.empty(team * 2 * self.called_room, self.problem.dtype)}

    def _sums(self) -> dict[str, NDArray[Any]]:
        """Return the scratch of line searches."""
        shared = int(self.side.features.shared.sum())
        portions = [-(-n // lib.FMF_PORTION) for n in (self.side.features.rows, shared)]
        return {
            "row_sums": np.zeros((portions[0], 2)),
            "feature_sums": np.zeros((portions[1] if self.directions else shared, 2)),
            "weights": np.zeros(portions[1]),
            "row_common": np.zeros((portions[0], PANEL + WIDE)),
            "feature_common": np.zeros((portions[1], PANEL)),
        }
