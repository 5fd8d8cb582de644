"""Embeddings, scores, the loss, penalties, and the best targets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fmfkit._core import ffi, lib
from fmfkit._kernels.buffers import (
    LANES_BYTES,
    LINE,
    Array,
    Table,
    aligned,
    allocate,
    doubles,
    integers,
    padded_width,
    pointers,
    reals,
)
from fmfkit._kernels.components import LossForm, PenaltyForm, is_elastic_net, raise_errors
from fmfkit._kernels.library import kernels, team
from fmfkit._kernels.structs import features_fields, longest_chunk, new_embedding, pairs_fields
from fmfkit.arguments import check_batch, frozen
from fmfkit.problem.features import FeatureRows
from fmfkit.problem.pairs import Pairs, chunks
from fmfkit.problem.problem import Problem
from fmfkit.problem.strengths import Part, Side
from fmfkit.training.state import State
from fmfkit.typing import Reals


def embed(problem: Problem, side: Side, W: Reals, threads: int, out: Reals | None = None) -> Reals:
    """Return the side's features times parameters, in ``out`` if given."""
    out = new_embedding(problem, side) if out is None else out
    _embed(side.features, W, problem.rank, out, -1 if side.bias_slot is None else side.bias_slot, threads)
    return out


def embed_both(problem: Problem, state: State) -> tuple[Reals, Reals]:
    """Return the embeddings of both sides."""
    U, V = (embed(problem, side, state.parameters(side.name), state.threads) for side in problem.sides)
    return U, V


def embed_mean(problem: Problem, P: Reals, Q: Reals, threads: int) -> tuple[Reals, Reals]:
    """Return the embeddings of the mean of samples, which may have other dimensions than the problem."""
    biases, rank = (problem.query_bias, problem.target_bias), P.shape[1] - problem.query_bias
    X, Z = problem.X.by_row, problem.Z.by_row
    return embed_rows(X, P, rank, biases, 0, threads), embed_rows(Z, Q, rank, biases, 1, threads)


def embed_rows(features: FeatureRows, W: Reals, rank: int, biases: Sequence[bool], which: int, threads: int) -> Reals:
    """Return features times parameters; ``biases`` says which of the two sides have one, ``which`` the side it is."""
    out = aligned((features.rows, padded_width(rank + sum(biases), W.dtype)), W.dtype)
    slots = [rank, rank + biases[0]]
    if biases[1 - which]:
        out[:, slots[1 - which]] = 1
    _embed(features, W, rank, out, slots[which] if biases[which] else -1, threads)
    return out


def strip_table(features: FeatureRows, dtype: np.dtype[Any]) -> Table:
    """Return what embedding needs beside the embedding: some columns of the parameters, packed."""
    return {"strip": Array((features.cols, LINE // dtype.itemsize), dtype)}


def _embed(features: FeatureRows, W: Reals, rank: int, out: Reals, bias_slot: int, threads: int) -> None:
    dtype = out.dtype
    strip = allocate(strip_table(features, dtype))["strip"]
    struct = ffi.new(
        "fmf_embedding *",
        {
            "features": features_fields(features),
            "parameters": reals(W, dtype),
            "rank": rank,
            "embedding": reals(out, dtype, writable=True),
            "stride": out.shape[1],
            "bias_slot": bias_slot,
            "strip": reals(strip, dtype, writable=True),
        },
    )
    kernels(dtype).embed(struct, team(threads))


@attrs.frozen(eq=False)
class Scored:
    """Pairs to be scored: those of a problem, or whatever has pairs, a loss and an offset."""

    pairs: Pairs
    loss: LossForm
    chunk: NDArray[np.int64]
    offset: float

    @classmethod
    def of(cls, pairs: Pairs, loss: LossForm, offset: float) -> Scored:
        """Choose the chunks that suit the loss."""
        return cls(pairs, loss, pairs.chunk if loss.chunk is None else chunks(pairs.ptr, loss.chunk), offset)

    def table(self, threads: int, *, stored: bool) -> Table:
        """Return what scoring needs beside the scores; ``stored`` says whether there is room for these."""
        dtype = self.pairs.y.dtype
        longest = 0 if stored else longest_chunk(self.pairs, self.chunk)
        return {
            "chunk_score": Array((threads, longest), dtype),
            "value": Array((threads, self.loss.batch if self.loss.table != ffi.NULL else 0), dtype),
            "chunk_loss": Array((len(self.chunk) - 1,), np.float64),
        }

    def scores(self, mine: Reals, theirs: Reals, score: Reals | None, threads: int) -> float:
        """Fill ``score`` in the order of the pairs (less y for the square loss), if given; return the weighted loss."""
        dtype, threads = self.pairs.y.dtype, team(threads)
        scratch = allocate(self.table(threads, stored=score is not None))
        side = ffi.new(
            "fmf_side *",
            {
                "pairs": pairs_fields(self.pairs, self.chunk),
                "loss": self.loss.fields(),
                "offset": self.offset,
                "mine": reals(mine, dtype),
                "theirs": reals(theirs, dtype),
                "their_rows": len(theirs),
                "stride": mine.shape[1],
                "score": reals(score, dtype, writable=True),
            },
        )
        longest = scratch["chunk_score"].shape[1]
        filled = pointers(scratch, dtype, frozenset(["chunk_loss"]))
        struct = ffi.new("fmf_scoring *", {**filled, "longest": longest})
        total: float = kernels(dtype).scores(side, struct, threads)
        raise_errors([self.loss])
        return total


def loss_of(problem: Problem, U: Reals, V: Reals, threads: int) -> float:
    """Return the weighted loss of embeddings."""
    scored = Scored.of(problem.query.pairs, LossForm.of(problem.loss, problem.dtype), problem.offset)
    return scored.scores(U, V, None, threads)


def pair_scores(
    rows: NDArray[np.int32], others: NDArray[np.int32], mine: Reals, theirs: Reals, offset: float, threads: int
) -> Reals:
    """Return the scores of pairs given as index arrays."""
    dtype = mine.dtype
    score = np.empty(len(rows), dtype)
    struct = ffi.new(
        "fmf_pair_list *",
        {
            "n": len(rows),
            "row": integers(rows, np.int32),
            "other": integers(others, np.int32),
            "mine": reals(mine, dtype),
            "theirs": reals(theirs, dtype),
            "stride": mine.shape[1],
            "offset": offset,
            "score": reals(score, dtype, writable=True),
        },
    )
    kernels(dtype).pair_scores(struct, team(threads))
    return score


def penalty(part: Part, W: Reals, threads: int) -> float:
    """Return the penalty of one part of a side's parameters."""
    if part.by_row:
        w = frozen(np.ascontiguousarray(W[:, part.columns]))
        rows = part.regularizer.penalty(w, frozen(part.strength))
        return float(np.sum(check_batch(part.regularizer, "penalty", rows, (len(w),)), dtype=np.float64))
    if not is_elastic_net(part.regularizer):
        w, strength = frozen(W[:, part.columns]), frozen(part.matrix)
        native = part.regularizer.native
        values = part.regularizer.penalty(w, strength) if native is None else native.penalty(w, strength)
        return float(np.sum(check_batch(part.regularizer, "penalty", values, w.shape), dtype=np.float64))
    form = PenaltyForm.of(part)
    portion = np.empty(-(-len(W) // lib.FMF_PENALTY_ROWS))
    first, count = part.columns.start, part.columns.stop - part.columns.start
    struct, parameters = ffi.new("fmf_penalty *", form.fields()), reals(W, W.dtype)
    run = kernels(W.dtype).elastic_net
    total: float = run(struct, *W.shape, first, count, parameters, doubles(portion), team(threads))
    return total


@attrs.frozen(eq=False)
class Skip:
    """What queries are not to be answered with: targets ``index[ptr[q]:ptr[q + 1]]`` of query q, ascending."""

    ptr: NDArray[np.int64]
    index: NDArray[np.int32]

    @classmethod
    def of(cls, matrix: Any) -> Skip:
        """Return what a csr matrix with sorted indices stores: a row for each query that is asked."""
        return cls(matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32, copy=False))

    def among(self, chosen: NDArray[np.int32]) -> Skip:
        """Return the same where only some targets, in ascending order, are asked about, by their places there."""
        place = np.searchsorted(chosen, self.index)
        known = np.append(chosen, -1)[place] == self.index
        before = np.append(0, np.cumsum(known))
        return Skip(before[self.ptr].astype(np.int64), place[known].astype(np.int32))


ALONE = 16
"""So few queries are answered on one thread: starting others takes longer."""


MOST_KEPT = 1024
"""So many targets more than are asked for are kept, at most, until all but the best are dropped."""


class PackedTargets:
    """Targets laid out once for being searched: ``best`` answers as many queries as are asked."""

    def __init__(self, theirs: Reals, offset: float, threads: int) -> None:
        """Pack the embeddings of targets; a score is offset + dot."""
        if theirs.ndim != 2:
            raise ValueError(f"targets: expected embeddings of two axes, got shape {theirs.shape}")
        self.targets, self.stride = theirs.shape
        self.dtype, self.offset, self.threads = theirs.dtype, offset, threads
        pack = 2 * LANES_BYTES // self.dtype.itemsize
        self._packed = aligned((-(-self.targets // pack) * self.stride, pack), self.dtype)
        theirs = np.ascontiguousarray(theirs)
        packed = reals(self._packed, self.dtype, writable=True)
        kernels(self.dtype).pack_targets(self.targets, reals(theirs, self.dtype), self.stride, packed, team(threads))

    def best(self, mine: Reals, k: int, skip: Skip | None = None) -> tuple[NDArray[np.int32], Reals]:
        """Return, for each row of ``mine``, the k targets with the highest scores, and these; -1 past the last."""
        if mine.ndim != 2 or mine.shape[1] != self.stride or mine.dtype != self.dtype:
            wanted, got = f"{self.dtype} of width {self.stride}", f"{mine.dtype} of shape {mine.shape}"
            raise ValueError(f"queries: expected embeddings of {wanted}, got {got}")
        mine = np.ascontiguousarray(mine)
        targets, scores = np.empty((len(mine), k), np.int32), np.empty((len(mine), k), self.dtype)
        threads = team(self.threads if len(mine) > ALONE else 1)
        room = k + min(max(k, lib.FMF_TOP_PACK), MOST_KEPT) + lib.FMF_TOP_PACK
        keys = aligned((threads * min(len(mine), lib.FMF_TOP_QUERIES) * room, 2), self.dtype)
        struct = ffi.new(
            "fmf_top *",
            {
                "queries": len(mine),
                "mine": reals(mine, self.dtype),
                "stride": self.stride,
                "targets": self.targets,
                "packed": reals(self._packed, self.dtype),
                "offset": self.offset,
                "k": k,
                "skip_ptr": ffi.NULL if skip is None else integers(skip.ptr, np.int64),
                "skip": ffi.NULL if skip is None else integers(skip.index, np.int32),
                "room": room,
                "keys": reals(keys, self.dtype, writable=True),
                "target": integers(targets, np.int32, writable=True),
                "score": reals(scores, self.dtype, writable=True),
            },
        )
        kernels(self.dtype).top(struct, threads)
        return targets, scores
