"""Real data in .npz files: pairs of training and test, and feature blocks of both sides.

A file holds ``{train,test}_{rows,cols,vals}``, the sparse matrices X and Z in rows (``X_indptr``, ``X_indices``,
``X_data``, ``X_shape``), and the names and first columns of their blocks (``X_block_names``, ``X_block_offsets``).
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Literal

import attrs
import numpy as np
import scipy.sparse as sp

from fmfkit import Dataset
from fmfkit.data import Block, Precomputed

FROM_TRAINING = ("implicit", "train_links")
"""Blocks that are made from the training pairs: made anew, so that none tells of a validation part."""


@attrs.frozen
class Real:
    """A data set with its test part."""

    name: str
    train: Dataset
    test: Dataset
    plain_train: Dataset
    """The training part without features."""
    plain_test: Dataset

    @property
    def positives_only(self) -> bool:
        """Whether all scores are 1."""
        return bool((self.train.score == 1).all())

    @property
    def cold(self) -> Literal["query", "target"] | None:
        """The side whose instances in the test part are new, if most of its pairs have such."""
        sides: tuple[Literal["query", "target"], ...] = ("query", "target")
        for side in sides:
            known = np.unique(getattr(self.train, side))
            if np.isin(getattr(self.test, side), known).mean() < 0.5:
                return side
        return None

    def parts(self, data: Dataset, seed: int) -> tuple[Dataset, Dataset]:
        """Return a training and a validation part, apart as the test part is."""
        side = self.cold
        return data.split_random(0.1, seed) if side is None else data.split_cold(side, 0.1, seed)


def load(path: str | os.PathLike[str]) -> Real:
    """Read a file."""
    with np.load(path) as file:
        given = dict(file)
    matrices = {side: _matrix(given, side) for side in ("X", "Z")}
    blocks = {side: _blocks(given, side, matrices[side]) for side in matrices}
    pairs = {
        "query": np.concatenate([given["train_rows"], given["test_rows"]]),
        "target": np.concatenate([given["train_cols"], given["test_cols"]]),
        "score": np.concatenate([given["train_vals"], given["test_vals"]]).astype(np.float64),
    }
    tables: dict[str, Any] = {
        "queries": {"query": np.arange(matrices["X"].shape[0])},
        "targets": {"target": np.arange(matrices["Z"].shape[0])},
    }
    test = np.arange(len(pairs["query"])) >= len(given["train_rows"])
    implicit = any(name in FROM_TRAINING for name in given["X_block_names"])
    whole = Dataset.of(pairs, **tables, query_blocks=blocks["X"], target_blocks=blocks["Z"], implicit=implicit)
    plain = Dataset.of(pairs, **tables, query_blocks=[], target_blocks=[])
    return Real(Path(path).stem, whole.only(~test), whole.only(test), plain.only(~test), plain.only(test))


def _matrix(given: dict[str, Any], side: str) -> sp.csr_array:
    data, indices, indptr, shape = (given[f"{side}_{part}"] for part in ("data", "indices", "indptr", "shape"))
    return sp.csr_array((data, indices, indptr), shape=tuple(shape))


def _blocks(given: dict[str, Any], side: str, matrix: sp.csr_array) -> list[Block]:
    """Return the blocks but for indicators and those made from training pairs."""
    names, begin = [str(name) for name in given[f"{side}_block_names"]], given[f"{side}_block_offsets"]
    return [
        Precomputed(matrix[:, begin[k] : begin[k + 1]], name=name)
        for k, name in enumerate(names)
        if name not in ("indicator", *FROM_TRAINING)
    ]


__all__ = ["Real", "load"]
