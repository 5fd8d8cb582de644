"""The only door to C: checks every array, hands raw buffers over, turns status codes into exceptions.

``block`` has the part that only the block solver needs, ``stochastic`` that of stochastic gradient descent.
"""

from __future__ import annotations

import functools
import os
import warnings
from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

import fmfkit
from fmfkit._core import ffi, lib
from fmfkit.checks import check_batch, frozen
from fmfkit.interfaces import Loss, Partition, Reals, Regularizer
from fmfkit.losses import Logistic, Square
from fmfkit.problem import Features, Pairs, Part, Problem, Side
from fmfkit.regularizers import ElasticNet

LINE = 64
"""Bytes of a cache line."""
LANES_BYTES = 32
"""Embedding rows are padded with zeros to a multiple of this many bytes."""
MOST_THREADS = 1024
"""More are refused: OpenMP ends the process when it cannot start its threads."""
CUT: int = lib.FMF_CUT
"""Columns with more non-zeros are summed in pieces of this size."""
BLOCK: int = lib.FMF_BLOCK
"""Latent dimensions that the block kernels update together."""
WIDE = BLOCK * (BLOCK // 2 + 1)
"""Numbers that hold a symmetric BLOCK x BLOCK matrix, as the kernels keep it."""
SMALL_SET: int = lib.FMF_SMALL_SET
"""Sets with fewer non-zeros are swept by one thread."""

SQUARE: int = lib.FMF_SQUARE
LOGISTIC: int = lib.FMF_LOGISTIC
EXTERNAL: int = lib.FMF_EXTERNAL
NATIVE: int = lib.FMF_NATIVE


def _start() -> None:
    if (built := ffi.string(lib.fmf_version()).decode()) != fmfkit.__version__:
        raise ImportError(
            f"fmfkit {fmfkit.__version__} found a compiled core of version {built}: two installations are mixed up; "
            "uninstall fmfkit, then install it again"
        )
    wanted = os.environ.get("FMFKIT_ISA")
    if wanted and not lib.fmf_choose_isa(wanted.encode()):
        raise ImportError(f"FMFKIT_ISA={wanted!r}: this build on this processor has {', '.join(isa_available())}")


def isa_available() -> list[str]:
    """Return the instruction sets that this build and this processor have, best last."""
    names: list[str] = []
    while (name := lib.fmf_isa_available(len(names))) != ffi.NULL:
        names.append(ffi.string(name).decode())
    return names


def build_info() -> dict[str, Any]:
    """Return how the core was built and what it uses here."""
    return {
        "version": ffi.string(lib.fmf_version()).decode(),
        "isa": ffi.string(lib.fmf_isa()).decode(),
        "isa_available": isa_available(),
        "openmp": lib.fmf_openmp() or None,
        "compiler": ffi.string(lib.fmf_compiler()).decode(),
        "threads": resolve_threads(None),
    }


def resolve_threads(threads: int | None) -> int:
    """Return the number of threads to use: as asked, else OMP_NUM_THREADS, else the processors this process may use."""
    if threads is not None:
        if isinstance(threads, bool) or not isinstance(threads, int | np.integer) or not 1 <= threads <= MOST_THREADS:
            raise ValueError(f"threads: expected a whole number from 1 to {MOST_THREADS}, or None, got {threads!r}")
        return int(threads)
    asked = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    if asked.isascii() and asked.isdigit() and int(asked) > 0:
        return min(int(asked), MOST_THREADS)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


_warned: set[int] = set()  # processes that were told


def _team(threads: int) -> int:
    safe: int = lib.fmf_safe_threads(threads)
    if safe < threads and lib.fmf_openmp() and os.getpid() not in _warned:
        _warned.add(os.getpid())
        warnings.warn(
            "this process was forked after its parent used several OpenMP threads: fmfkit runs on one thread here; "
            "start processes with the 'spawn' or 'forkserver' method to use more",
            RuntimeWarning,
            stacklevel=4,
        )
    return safe


def _kernels(dtype: np.dtype[Any]) -> Any:
    return lib.fmf_kernels_for(dtype.itemsize)


def _buffer(array: NDArray[Any], dtype: Any, *, writable: bool = False) -> Any:
    """Return a pointer to the array, which must be C-ordered and of exactly this dtype."""
    if array.dtype != dtype:
        raise TypeError(f"expected an array of {np.dtype(dtype)}, got {array.dtype}")
    return ffi.from_buffer(array, require_writable=writable)


def _pointer(ctype: str, array: NDArray[Any], dtype: Any, *, writable: bool = False) -> Any:
    return ffi.cast(ctype, _buffer(array, dtype, writable=writable))


def _int64(array: NDArray[Any]) -> Any:
    return _pointer("const int64_t *", array, np.int64)


def _int32(array: NDArray[Any]) -> Any:
    return _pointer("const int32_t *", array, np.int32)


def _void(array: Reals | None, dtype: np.dtype[Any], *, writable: bool = False) -> Any:
    return ffi.NULL if array is None else _pointer("void *", array, dtype, writable=writable)


def _lines(shape: tuple[int, int], dtype: np.dtype[Any]) -> Reals:
    """Return zeros that begin with a cache line, so that a row of 32 or 64 bytes lies in one."""
    size = shape[0] * shape[1] * dtype.itemsize
    memory = np.zeros(size + LINE, np.uint8)
    begin = -memory.ctypes.data % LINE
    return memory[begin : begin + size].view(dtype).reshape(shape)


def _pairs(pairs: Pairs) -> dict[str, Any]:
    dtype = pairs.y.dtype
    return {
        "rows": pairs.rows,
        "ptr": _int64(pairs.ptr),
        "other": _int32(pairs.other),
        "y": _void(pairs.y, dtype),
        "weight": _void(pairs.weight, dtype),
        "chunks": len(pairs.chunk) - 1,
        "chunk": _int64(pairs.chunk),
    }


def _features(features: Features) -> dict[str, Any]:
    dtype = features.own_value.dtype
    return {
        "rows": features.rows,
        "cols": features.cols,
        "row_ptr": _int64(features.row_ptr),
        "row_index": _int32(features.row_index),
        "row_value": _void(features.row_value, dtype),
        "col_ptr": _int64(features.col_ptr),
        "col_index": _int32(features.col_index),
        "col_value": _void(features.col_value, dtype),
        "row_scale": _void(features.row_scale, dtype),
        "own": _int32(features.own),
        "own_value": _void(features.own_value, dtype),
    }


def loss_code(loss: Loss) -> int:
    """Return the native code of a loss, EXTERNAL for one that only Python has (a subclass may differ in anything)."""
    codes: dict[type, int] = {Square: SQUARE, Logistic: LOGISTIC}
    return codes.get(type(loss), EXTERNAL if native_form(loss) is None else NATIVE)


def native_form(component: Loss | Regularizer) -> Any:
    """Return the native functions of a loss or regularizer, kept: C points to them while it runs."""
    try:
        return _kept_native_form(component)
    except TypeError:  # it has no hash
        return component.native


@functools.lru_cache(maxsize=256)
def _kept_native_form(component: Loss | Regularizer) -> Any:
    return component.native


def loss_fields(loss: Loss) -> dict[str, Any]:
    """Return the members of C's fmf_loss; the loss keeps what it points to alive."""
    code = loss_code(loss)
    native = native_form(loss) if code == NATIVE else None
    if native is None:
        return {"code": code, "beta": 0.0, "native": ffi.NULL, "params": ffi.NULL}
    return {
        "code": code, "beta": native.beta, "native": ffi.cast("void *", native.address),
        "params": ffi.cast("void *", native.params_address),
    }  # fmt: skip


def curvature_of_first(problem: Problem) -> Any:
    """Return the loss's curvature at the first pair: a number, or an array if it has one for each."""
    if loss_code(problem.loss) == NATIVE:
        return native_form(problem.loss).beta
    y = problem.query.pairs.y[:1]
    return problem.loss.curvature(np.zeros_like(y), frozen(y))


def is_native(regularizer: Regularizer) -> bool:
    """Tell whether the kernels can call this regularizer's T."""
    return is_elastic_net(regularizer) or native_form(regularizer) is not None


def is_elastic_net(regularizer: Regularizer) -> bool:
    """Tell whether the kernels know this regularizer by heart (a subclass may differ in anything)."""
    return type(regularizer) is ElasticNet


def takes_blocks(side: Side) -> bool:
    """Tell whether a side can be updated by blocks of dimensions."""
    return all(is_elastic_net(part.regularizer) for part in side.parts)


def all_native(problem: Problem, side: Side) -> bool:
    """Tell whether a side can be updated without calling Python: the kernels know its loss and its regularizers."""
    return loss_code(problem.loss) != EXTERNAL and all(is_native(part.regularizer) for part in side.parts)


def elastic_net(regularizer: Regularizer) -> tuple[float, float]:
    """Return l1 and l2 of the elastic net; zeros for another regularizer, whose T is called."""
    return (regularizer.l1, regularizer.l2) if isinstance(regularizer, ElasticNet) else (0.0, 0.0)


def _own_T(regularizer: Regularizer) -> dict[str, Any]:
    """Return the members of C's fmf_dimension that tell of a plugin's T."""
    native = None if is_elastic_net(regularizer) else native_form(regularizer)
    if native is None:
        return {"native": ffi.NULL, "params": ffi.NULL}
    return {
        "native": ffi.cast("void *", native.address), "params": ffi.cast("void *", native.params_address)
    }  # fmt: skip


def stride(problem: Problem) -> int:
    """Return the length of an embedding row: rank, biases, zeros up to whole vectors."""
    return _stride(problem.rank + problem.query_bias + problem.target_bias, problem.dtype)


def _stride(used: int, dtype: np.dtype[Any]) -> int:
    lanes = LANES_BYTES // dtype.itemsize
    return -(-used // lanes) * lanes


def new_embedding(problem: Problem, side: Side) -> Reals:
    """Return a zeroed embedding for a side, 1 where the other side's bias stands."""
    E = np.zeros((side.pairs.rows, stride(problem)), problem.dtype)
    other = problem.target if side.name == "query" else problem.query
    if other.bias_slot is not None:
        E[:, other.bias_slot] = 1
    return E


def embed(problem: Problem, side: Side, W: Reals, threads: int, out: Reals | None = None) -> Reals:
    """Return the side's features times parameters, in ``out`` if given."""
    out = new_embedding(problem, side) if out is None else out
    _embed(side.features, W, problem.rank, out, -1 if side.bias_slot is None else side.bias_slot, threads)
    return out


def embed_features(features: Features, W: Reals, rank: int, biases: Sequence[bool], which: int, threads: int) -> Reals:
    """Return features times parameters; ``biases`` tells which of the two sides have one, ``which`` the side it is."""
    out = np.zeros((features.rows, _stride(rank + sum(biases), W.dtype)), W.dtype)
    slots = [rank, rank + biases[0]]
    if biases[1 - which]:
        out[:, slots[1 - which]] = 1
    _embed(features, W, rank, out, slots[which] if biases[which] else -1, threads)
    return out


def _embed(features: Features, W: Reals, rank: int, out: Reals, bias_slot: int, threads: int) -> None:
    panel = _lines((features.cols, LINE // out.dtype.itemsize), out.dtype)
    _kernels(out.dtype).embed(
        ffi.new("fmf_features *", _features(features)), _void(W, out.dtype), rank, _void(out, out.dtype, writable=True),
        out.shape[1], bias_slot, _void(panel, out.dtype, writable=True), _team(threads),
    )  # fmt: skip


def scores(problem: Problem, side: Side, own: Reals, other: Reals, score: Reals | None, threads: int) -> float:
    """Fill ``score`` in the side's order of pairs (less y for the square loss); return the weighted loss.

    Without ``score``, which only a native loss can do without, the loss alone.
    """
    dtype, pairs = problem.dtype, side.pairs
    chunk_loss = np.empty(len(pairs.chunk) - 1)
    code = loss_code(problem.loss)
    longest = int(np.diff(pairs.ptr).max(initial=0))
    row_score = np.empty(_team(threads) * longest if score is None else 0, dtype)
    total: float = _kernels(dtype).scores(
        ffi.new("fmf_pairs *", _pairs(pairs)), ffi.new("fmf_loss *", loss_fields(problem.loss)), _void(own, dtype),
        _void(other, dtype), own.shape[1], problem.offset, _void(score, dtype, writable=True),
        _void(row_score, dtype, writable=True), longest,
        _pointer("double *", chunk_loss, np.float64, writable=True), _team(threads),
    )  # fmt: skip
    if code == EXTERNAL and score is not None:
        total = 0.0
        for part in blocks(len(pairs)):
            given = frozen(score[part]), frozen(pairs.y[part])
            value = check_batch(problem.loss, "value", problem.loss.value(*given), score[part].shape)
            weighted = value if pairs.weight is None else value * pairs.weight[part]
            total += float(np.sum(weighted, dtype=np.float64))
    return total


def blocks(n: int, size: int = 131072) -> list[slice]:
    """Return the slices by which a loss written in NumPy sees n pairs: long for NumPy, short for the caches."""
    return [slice(begin, min(begin + size, n)) for begin in range(0, n, size)]


def pair_scores(
    rows: NDArray[np.int32], others: NDArray[np.int32], own: Reals, other: Reals, offset: float, threads: int
) -> Reals:
    """Return the scores of pairs given as index arrays."""
    score = np.empty(len(rows), own.dtype)
    _kernels(own.dtype).pair_scores(
        len(rows), _int32(rows), _int32(others), _void(own, own.dtype), _void(other, own.dtype), own.shape[1], offset,
        _void(score, own.dtype, writable=True), _team(threads),
    )  # fmt: skip
    return score


def padded(embedding: Reals) -> Reals:
    """Return the rows with zeros up to whole vectors."""
    lanes = LANES_BYTES // embedding.dtype.itemsize
    return np.pad(embedding, ((0, 0), (0, -embedding.shape[1] % lanes)))


def top(
    own: Reals, other: Reals, offset: float, k: int, exclude: Any | None, threads: int
) -> tuple[NDArray[np.int32], Reals]:
    """Return, for each row of ``own``, the ``k`` rows of ``other`` with the highest scores, and these.

    ``exclude`` is a csr matrix with sorted indices: what is stored in it is left out.
    """
    if own.ndim != 2 or other.ndim != 2 or own.shape[1] != other.shape[1]:
        raise ValueError(f"top: expected embeddings of one width, got shapes {own.shape} and {other.shape}")
    dtype, queries = own.dtype, len(own)
    targets, scores = np.empty((queries, k), np.int32), np.empty((queries, k), dtype)
    pack = 2 * LANES_BYTES // dtype.itemsize
    packed = _lines((-(-len(other) // pack) * own.shape[1], pack), dtype)
    team, kernels = _team(threads), _kernels(dtype)
    own, other = np.ascontiguousarray(own), np.ascontiguousarray(other)
    kernels.pack_targets(
        len(other), _void(other, dtype), own.shape[1], _void(packed, dtype, writable=True), team
    )  # fmt: skip
    skip_ptr, skip = (None, None) if exclude is None else (exclude.indptr.astype(np.int64), exclude.indices)
    skip = None if skip is None else skip.astype(np.int32, copy=False)
    struct = ffi.new("fmf_top *", {
        "queries": queries, "own": _void(own, dtype), "stride": own.shape[1],
        "targets": len(other), "packed": _void(packed, dtype), "offset": offset, "k": k,
        "skip_ptr": ffi.NULL if skip_ptr is None else _int64(skip_ptr),
        "skip": ffi.NULL if skip is None else _int32(skip),
        "target": _pointer("int32_t *", targets, np.int32, writable=True),
        "score": _void(scores, dtype, writable=True),
    })  # fmt: skip
    kernels.top(struct, team)
    targets[scores == -np.inf] = -1
    return targets, scores


def penalty(part: Part, W: Reals, threads: int) -> float:
    """Return the penalty of one part of a side's parameters."""
    if not is_elastic_net(part.regularizer):
        w, strength = frozen(W[:, part.columns]), frozen(part.strength[:, None] * part.growth)
        native = native_form(part.regularizer)
        values = part.regularizer.penalty(w, strength) if native is None else native.penalty(w, strength)
        return float(np.sum(check_batch(part.regularizer, "penalty", values, w.shape), dtype=np.float64))
    l1, l2 = elastic_net(part.regularizer)
    total: float = _kernels(W.dtype).elastic_net_penalty(
        W.shape[0], W.shape[1], part.columns.start, part.columns.stop - part.columns.start, _void(W, W.dtype),
        _void(part.strength, W.dtype), _void(part.growth, W.dtype), l1, l2, _team(threads),
    )  # fmt: skip
    return total


def number_keys(keys: NDArray[np.uint64]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return the number of each key, different ones being numbered as they come, and where each came first."""
    keys = np.ascontiguousarray(keys, np.uint64)
    number_of, first = np.empty(len(keys), np.int32), np.empty(len(keys), np.int64)
    count = lib.fmf_number_keys(
        len(keys), _pointer("uint64_t *", keys, np.uint64), _pointer("int32_t *", number_of, np.int32),
        _pointer("int64_t *", first, np.int64),
    )  # fmt: skip
    _succeed(lib.FMF_OUT_OF_MEMORY if count < 0 else lib.FMF_OK)
    return number_of, first[:count].copy()


def balance(order: NDArray[np.int32], sizes: NDArray[np.int64], sets: int) -> NDArray[np.int32]:
    """Return the set of each feature: in the given order, each joins the set with the least total size so far."""
    set_of = np.empty(len(order), np.int32)
    _succeed(lib.fmf_balance(len(order), _int32(order), _int64(sizes), sets, _pointer("int32_t *", set_of, np.int32)))
    return set_of


def _succeed(status: int) -> None:
    if status == lib.FMF_OUT_OF_MEMORY:
        raise MemoryError("fmfkit's kernels could not allocate their scratch space")


@attrs.define(eq=False)
class Plan:
    """A partition laid out for the sweep; its large buffers serve every round."""

    features: Features
    conflict: Reals
    entry_row: NDArray[np.int32]
    entry_place: NDArray[np.int32]
    entry_value: Reals
    partition: Partition = attrs.field(init=False)
    start: NDArray[np.int64] = attrs.field(init=False)
    cut: NDArray[np.int64] = attrs.field(init=False)
    set_run: NDArray[np.int64] = attrs.field(init=False, factory=lambda: np.zeros(1, np.int64))
    run_row: NDArray[np.int32] = attrs.field(init=False, factory=lambda: np.zeros(0, np.int32))
    run_ptr: NDArray[np.int64] = attrs.field(init=False, factory=lambda: np.zeros(1, np.int64))

    @classmethod
    def allocate(cls, features: Features) -> Plan:
        """Reserve what a round needs: proportional to the non-zeros of the features."""
        n, dtype = features.nonzeros, features.own_value.dtype
        return cls(features, np.empty(n, dtype), np.empty(n, np.int32), np.empty(n, np.int32), np.empty(n, dtype))

    @classmethod
    def of_one_set(cls, features: Features) -> Plan:
        """Return the plan for all shared features at once, which needs no more than their order."""
        none = np.empty(0, features.own_value.dtype)
        plan = cls(features, none, np.empty(0, np.int32), np.empty(0, np.int32), none)
        plan._count(Partition(np.flatnonzero(features.shared).astype(np.int32), [0, int(features.shared.sum())]))
        return plan

    def _count(self, partition: Partition) -> None:
        """Find where columns begin, and which are cut."""
        sizes = self.features.column_sizes[partition.order]
        self.partition = partition
        self.start = np.concatenate([[0], np.cumsum(sizes)])
        self.cut = np.concatenate([[0], np.cumsum(np.where(sizes > CUT, -(-sizes // CUT), 0))])

    def lay_out(self, partition: Partition, threads: int, *, runs: bool = False) -> None:
        """Lay out a (checked) partition, of all features or of some; with its runs for the block kernels."""
        self._count(partition)
        X = ffi.new("fmf_features *", _features(self.features))
        plan = ffi.new("fmf_plan *", self.fields())
        kernels = _kernels(self.conflict.dtype)
        _succeed(kernels.plan(X, plan, _team(threads)))
        if runs:
            counts = np.zeros(len(partition), np.int64)
            kernels.runs(plan, _pointer("int64_t *", counts, np.int64, writable=True), _team(threads))
            self.set_run = np.concatenate([[0], np.cumsum(counts)])
            self.run_row = np.empty(self.set_run[-1], np.int32)
            self.run_ptr = np.empty(self.set_run[-1] + 1, np.int64)
            kernels.runs(ffi.new("fmf_plan *", self.fields()), ffi.NULL, _team(threads))

    def fields(self) -> dict[str, Any]:
        """Return the members of the C struct."""
        dtype = self.conflict.dtype
        return {
            "sets": len(self.partition),
            "order": _int32(self.partition.order),
            "set_ptr": _int64(self.partition.offsets),
            "start": _int64(self.start),
            "cut": _int64(self.cut),
            "conflict": _void(self.conflict, dtype, writable=True),
            "entry_row": _pointer("int32_t *", self.entry_row, np.int32, writable=True),
            "entry_place": _pointer("int32_t *", self.entry_place, np.int32, writable=True),
            "entry_value": _void(self.entry_value, dtype, writable=True),
            "set_run": _int64(self.set_run),
            "run_row": _pointer("int32_t *", self.run_row, np.int32, writable=True),
            "run_ptr": _pointer("int64_t *", self.run_ptr, np.int64, writable=True),
        }

    def _largest(self, running: NDArray[np.int64]) -> int:
        at = running[self.partition.offsets]
        return int(np.diff(at).max(initial=0))

    @property
    def largest_set(self) -> int:
        """The number of features of the largest set."""
        return int(np.diff(self.partition.offsets).max(initial=0))

    @property
    def most_pieces(self) -> int:
        """The largest number of pieces of cut columns in a set."""
        return self._largest(self.cut)

    def imbalance(self, threads: int, wide: int = 1) -> float:
        """Return the paper's sigma: the busiest thread's non-zeros over the mean, all sets together.

        ``wide`` is the number of dimensions that are swept at once: the more, the smaller the sets that are shared out.
        """
        if threads == 1 or self.start[-1] == 0:
            return 1.0
        begin, end = self.start[self.partition.offsets[:-1]], self.start[self.partition.offsets[1:]]
        lines = begin[:, None] + (end - begin)[:, None] * np.arange(threads + 1) // threads  # (sets, threads + 1)
        pieces = self._piece_starts()
        load = np.diff(pieces[np.searchsorted(pieces, lines)], axis=1)
        small = (end - begin) * wide < SMALL_SET
        load[small, 0], load[small, 1:] = (end - begin)[small], 0
        return float(load.max(axis=1).sum() / load.mean(axis=1).sum())

    def _piece_starts(self) -> NDArray[np.int64]:
        """Return where the columns, and the pieces of cut ones, begin: a thread takes those that begin in its share."""
        cut = np.flatnonzero(np.diff(self.cut))
        inner = [np.arange(self.start[t], self.start[t + 1], CUT) for t in cut]
        return np.unique(np.concatenate([self.start, *inner]))


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
            np.zeros((rows, 2), dtype), np.zeros(rows, dtype), np.zeros((other_rows, 2), dtype),
            np.ones(side.features.cols, dtype),
        )  # fmt: skip


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
        self, problem: Problem, side: Side, W: Reals, other: Reals, score: Reals, buffers: SideBuffers, *,
        plan: Plan | None, gradient: Reals | None, curvature: Reals | None, beta: float, threads: int, wide: int = 1,
        called: Any = None,
    ) -> None:  # fmt: skip
        """Point C at the arrays.

        ``plan`` None means Algorithm 2 or 1; gradient and curvature serve external losses, ``called``, a handle, those
        of them that C calls back.
        """
        dtype = problem.dtype
        room = plan.largest_set if plan else 1
        self.delta, self.sums = np.zeros(room * wide, dtype), np.zeros((room, 2), dtype)
        self._partial = np.zeros((plan.most_pieces if plan else 0, 2 * wide), dtype)
        self.beta, self._dtype, self.team, self.kernels = beta, dtype, _team(threads), _kernels(dtype)
        self._kept: list[Any] = [W, other, score, buffers, plan, gradient, curvature]
        self._wide, self._shared = wide > 1, side.features.shared
        fields = {
            "pairs": _pairs(side.pairs),
            "features": _features(side.features),
            "loss": loss_fields(problem.loss) if called is None else {"code": lib.FMF_CALLED, "python": called},
            "beta": beta,
            "other": _void(other, dtype),
            "other_rows": other.shape[0],
            "stride": other.shape[1],
            "parameters": _void(W, dtype, writable=True),
            "width": W.shape[1],
            "score": _void(score, dtype, writable=True),
            "gradient": _void(gradient, dtype),
            "curvature": _void(curvature, dtype),
            "GH": _void(buffers.GH, dtype, writable=True),
            "step": _void(buffers.step, dtype, writable=True),
            "VV": _void(buffers.VV, dtype, writable=True),
            "delta": _void(self.delta, dtype, writable=True),
            "sums": _void(self.sums, dtype, writable=True),
            "partial": _void(self._partial, dtype, writable=True),
            "eta": _void(buffers.eta, dtype, writable=True) if plan else ffi.NULL,
        }
        if plan:
            fields["plan"] = plan.fields()
        self.struct = ffi.new("fmf_descent *", fields)

    def dimensions(self, dimensions: Sequence[Dimension]) -> Any:
        """Return the C structs of some dimensions."""
        rows = []
        for k in dimensions:
            l1, l2 = elastic_net(k.part.regularizer)
            strength = _void(k.part.strength, self._dtype)
            rows.append(
                {
                    "column": k.column,
                    "slot": k.slot,
                    "l1": l1,
                    "l2": l2,
                    "strength": strength,
                    "growth": self._growth(k),
                    **_own_T(k.part.regularizer),
                    "shared_strength": self._shared_strength(k.part),
                }
            )
        return ffi.new("fmf_dimension[]", rows)

    def _growth(self, k: Dimension) -> Any:
        """Return the growth of a dimension, or for the block kernels that of all, in whole blocks."""
        growth = k.part.growth
        if self._wide:
            growth = np.append(growth, np.ones(-len(growth) % BLOCK, self._dtype))
        else:
            growth = growth[k.column - k.part.columns.start :]
        self._kept.append(growth)
        return _void(growth, self._dtype)

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


_start()
