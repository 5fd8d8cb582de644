"""The best targets of queries."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fmfkit._core import ffi
from fmfkit._kernels.buffers import LANES_BYTES, int32, int64, lines, pointer, void
from fmfkit._kernels.library import kernels, team
from fmfkit.typing import Reals


@attrs.frozen(eq=False)
class PackedTargets:
    """Embeddings of targets, laid out once for asking many times."""

    targets: int
    stride: int
    packed: Reals

    @classmethod
    def of(cls, embedding: Reals, threads: int) -> PackedTargets:
        """Pack embeddings whose rows are padded to whole vectors."""
        dtype, (targets, stride) = embedding.dtype, embedding.shape
        pack = 2 * LANES_BYTES // dtype.itemsize
        packed = lines((-(-targets // pack) * stride, pack), dtype)
        given = void(np.ascontiguousarray(embedding), dtype)
        kernels(dtype).pack_targets(targets, given, stride, void(packed, dtype, writable=True), team(threads))
        return cls(targets, stride, packed)

    def best(
        self, mine: Reals, offset: float, k: int, skip: Any | None, threads: int
    ) -> tuple[NDArray[np.int32], Reals]:
        """Return, for each row of ``mine``, the ``k`` targets with the highest scores, and these.

        ``skip`` is a csr matrix with as many rows and sorted indices: what is stored in it is left out.
        """
        if mine.ndim != 2 or mine.shape[1] != self.stride:
            raise ValueError(f"best: expected embeddings of width {self.stride}, got shape {mine.shape}")
        dtype, queries = mine.dtype, len(mine)
        target, score = np.empty((queries, k), np.int32), np.empty((queries, k), dtype)
        mine = np.ascontiguousarray(mine)
        ptr = None if skip is None else skip.indptr.astype(np.int64)
        fields = {
            "queries": queries,
            "own": void(mine, dtype),
            "stride": self.stride,
            "targets": self.targets,
            "packed": void(self.packed, dtype),
            "offset": offset,
            "k": k,
            "skip_ptr": ffi.NULL if ptr is None else int64(ptr),
            "skip": ffi.NULL if skip is None else int32(skip.indices.astype(np.int32, copy=False)),
            "target": pointer("int32_t *", target, np.int32, writable=True),
            "score": void(score, dtype, writable=True),
        }
        kernels(dtype).top(ffi.new("fmf_top *", fields), team(threads if queries > ALONE else 1))
        target[score == -np.inf] = -1
        return target, score


ALONE = 16
"""So few queries are answered on one thread: starting others takes longer."""

__all__ = ["PackedTargets"]
