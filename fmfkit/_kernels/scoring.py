"""Embeddings, scores of pairs, losses and penalties."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fmfkit._core import ffi
from fmfkit._kernels.buffers import LANES_BYTES, LINE, int32, lines, pointer, void
from fmfkit._kernels.components import EXTERNAL, LossForm, elastic_net, is_elastic_net, native_form
from fmfkit._kernels.library import kernels, team
from fmfkit._kernels.structs import features_fields, pairs_fields
from fmfkit.arguments import check_batch, frozen
from fmfkit.problem.features import FeatureRows
from fmfkit.problem.problem import Problem
from fmfkit.problem.strengths import Part, Side
from fmfkit.training.state import State
from fmfkit.typing import Reals


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


def embed_both(problem: Problem, state: State) -> tuple[Reals, Reals]:
    """Return the embeddings of both sides."""
    U, V = (embed(problem, side, state.parameters(side.name), state.threads) for side in problem.sides)
    return U, V


def embed_rows(features: FeatureRows, W: Reals, rank: int, biases: Sequence[bool], which: int, threads: int) -> Reals:
    """Return features times parameters; ``biases`` says which of the two sides have one, ``which`` the side it is."""
    out = np.zeros((features.rows, _stride(rank + sum(biases), W.dtype)), W.dtype)
    slots = [rank, rank + biases[0]]
    if biases[1 - which]:
        out[:, slots[1 - which]] = 1
    _embed(features, W, rank, out, slots[which] if biases[which] else -1, threads)
    return out


def _embed(features: FeatureRows, W: Reals, rank: int, out: Reals, bias_slot: int, threads: int) -> None:
    dtype = out.dtype
    strip = lines((features.cols, LINE // dtype.itemsize), dtype)
    X, U = ffi.new("fmf_features *", features_fields(features)), void(out, dtype, writable=True)
    room = void(strip, dtype, writable=True)
    kernels(dtype).embed(X, void(W, dtype), rank, U, out.shape[1], bias_slot, room, team(threads))


def loss(problem: Problem, embeddings: tuple[Reals, Reals], threads: int) -> float:
    """Return the weighted loss of all pairs."""
    form = LossForm.of(problem.loss)
    score = np.empty(problem.pairs, problem.dtype) if form.code == EXTERNAL else None
    return scores(problem, problem.query, *embeddings, score, threads)


def scores(problem: Problem, side: Side, mine: Reals, theirs: Reals, score: Reals | None, threads: int) -> float:
    """Fill ``score`` in the side's order of pairs (less y for the square loss); return the weighted loss.

    Without ``score``, which only a native loss can do without, the loss alone.
    """
    dtype, pairs, form = problem.dtype, side.pairs, LossForm.of(problem.loss)
    chunk_loss = np.empty(len(pairs.chunk) - 1)
    longest = int(np.diff(pairs.ptr).max(initial=0))
    row_score = np.empty(team(threads) * longest if score is None else 0, dtype)
    total: float = kernels(dtype).scores(
        ffi.new("fmf_pairs *", pairs_fields(pairs)),
        ffi.new("fmf_loss *", form.fields),
        void(mine, dtype),
        void(theirs, dtype),
        mine.shape[1],
        problem.offset,
        void(score, dtype, writable=True),
        void(row_score, dtype, writable=True),
        longest,
        pointer("double *", chunk_loss, np.float64, writable=True),
        team(threads),
    )
    if form.code != EXTERNAL or score is None:
        return total
    total = 0.0
    for part in batches(len(pairs)):
        given = frozen(score[part]), frozen(pairs.y[part])
        value = check_batch(problem.loss, "value", problem.loss.value(*given), score[part].shape)
        weighted = value if pairs.weight is None else value * pairs.weight[part]
        total += float(np.sum(weighted, dtype=np.float64))
    return total


def batches(n: int, size: int = 131072) -> list[slice]:
    """Return the slices by which a loss written in NumPy sees n pairs: long for NumPy, short for the caches."""
    return [slice(begin, min(begin + size, n)) for begin in range(0, n, size)]


def pair_scores(
    rows: NDArray[np.int32], others: NDArray[np.int32], mine: Reals, theirs: Reals, offset: float, threads: int
) -> Reals:
    """Return the scores of pairs given as index arrays."""
    dtype = mine.dtype
    score = np.empty(len(rows), dtype)
    U, V, out = void(mine, dtype), void(theirs, dtype), void(score, dtype, writable=True)
    kernels(dtype).pair_scores(len(rows), int32(rows), int32(others), U, V, mine.shape[1], offset, out, team(threads))
    return score


def padded(embedding: Reals) -> Reals:
    """Return the rows with zeros up to whole vectors."""
    lanes = LANES_BYTES // embedding.dtype.itemsize
    return np.pad(embedding, ((0, 0), (0, -embedding.shape[1] % lanes)))


def penalty(part: Part, W: Reals, threads: int) -> float:
    """Return the penalty of one part of a side's parameters."""
    if not is_elastic_net(part.regularizer):
        w, strength = frozen(W[:, part.columns]), frozen(part.strength[:, None] * part.growth)
        native = native_form(part.regularizer)
        values = part.regularizer.penalty(w, strength) if native is None else native.penalty(w, strength)
        return float(np.sum(check_batch(part.regularizer, "penalty", values, w.shape), dtype=np.float64))
    l1, l2 = elastic_net(part.regularizer)
    dtype, first = W.dtype, part.columns.start
    count, given = part.columns.stop - first, (void(W, dtype), void(part.strength, dtype), void(part.growth, dtype))
    total: float = kernels(dtype).elastic_net_penalty(*W.shape, first, count, *given, l1, l2, team(threads))
    if np.isnan(total) and not np.isnan(W[:, part.columns]).any():
        raise MemoryError("fmfkit's kernels could not allocate their scratch space")
    return total
