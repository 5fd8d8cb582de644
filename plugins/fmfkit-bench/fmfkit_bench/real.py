"""Real data: .npz files with a test part, or whatever fmfkit reads, of which a tenth is held out.

An .npz file holds ``{train,test}_{rows,cols,vals}``, the sparse matrices X and Z in rows (``X_indptr``, ``X_indices``,
``X_data``, ``X_shape``), and the names and first columns of their blocks (``X_block_names``, ``X_block_offsets``).
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Literal

import attrs
import numpy as np
import scipy.sparse as sp
from fmfkit_bench.shapes import Shape
from numpy.typing import NDArray

from fmfkit import Dataset
from fmfkit.data import Block, Precomputed
from fmfkit.data.loaders import load_movielens, read_svdfeature

FROM_TRAINING = ("implicit", "train_links")
"""Blocks that are made from the training pairs: made anew, so that none tells of a validation part."""


@attrs.frozen
class Real:
    """A data set with its test part."""

    name: str
    train: Dataset
    test: Dataset

    @property
    def plain_train(self) -> Dataset:
        """The training part without features."""
        return _plain(self.train)

    @property
    def plain_test(self) -> Dataset:
        """The test part without features."""
        return _plain(self.test)

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
        if side is not None:
            return data.split_cold(side, 0.1, seed)
        link = links(data)
        if link is None:
            return data.split_random(0.1, seed)
        different, place = np.unique(link, return_inverse=True)
        held_out = (np.random.default_rng(seed).random(len(different)) < 0.1)[place]
        return data.only(~held_out), data.only(held_out)


def links(data: Dataset) -> NDArray[np.int64] | None:
    """Return the number of each pair's link, the same in both directions; None unless all pairs go both ways."""
    sides = [side.ids.at(rows) for side, rows in ((data.queries, data.query), (data.targets, data.target))]
    names, code = np.unique(np.concatenate(sides), return_inverse=True)
    one, other = np.split(code.astype(np.int64), 2)
    there, back = one * len(names) + other, other * len(names) + one
    return np.minimum(there, back) if np.array_equal(np.sort(there), np.sort(back)) else None


def _plain(data: Dataset) -> Dataset:
    """Return data without features."""
    sides = {name: attrs.evolve(getattr(data, name), blocks=()) for name in ("queries", "targets")}
    return attrs.evolve(data, implicit=False, **sides)


def load(path: str | os.PathLike[str], seed: int = 0) -> Real:
    """Read an .npz file, a MovieLens folder, a file of SVDFeature (.feature), or a table of pairs."""
    where = Path(path)
    if where.suffix == ".npz":
        return _load_npz(where)
    if where.is_dir():
        data = load_movielens(where, implicit=True)
    else:
        data = _of_svdfeature(where) if where.suffix == ".feature" else Dataset.of(where, implicit=True)
    return Real(where.stem, *data.split_random(0.1, seed))


def _of_svdfeature(path: Path) -> Dataset:
    read = read_svdfeature(path)
    return Dataset.of(
        {"query": read.query, "target": read.target, "score": read.score},
        queries={"query": np.arange(read.X.shape[0])}, targets={"target": np.arange(read.Z.shape[0])},
        query_blocks=[Precomputed(read.X, name="features")], target_blocks=[Precomputed(read.Z, name="features")],
    )  # fmt: skip


def write(shape: Shape, folder: Path) -> Path:
    """Write generated data as such a file."""
    arrays: dict[str, Any] = {}
    for part, pairs in (("train", shape.train), ("test", shape.test)):
        arrays |= {f"{part}_rows": pairs.query, f"{part}_cols": pairs.target, f"{part}_vals": pairs.score}
    for side, blocks, rows in (("X", shape.X, shape.queries), ("Z", shape.Z, shape.targets)):
        named = blocks or {"indicator": sp.eye_array(rows, dtype=np.float32, format="csr")}
        matrix = sp.csr_array(sp.hstack(list(named.values()), format="csr"))
        arrays |= {f"{side}_{part}": getattr(matrix, part) for part in ("data", "indices", "indptr", "shape")}
        identity = [name for name, block in named.items() if block.shape == (rows, rows) and block.nnz == rows]
        arrays[f"{side}_block_names"] = np.array(["indicator" if name in identity else name for name in named])
        arrays[f"{side}_block_offsets"] = np.cumsum([0, *(block.shape[1] for block in named.values())])
    path = folder / f"{shape.name}.npz"
    np.savez(path, **arrays)
    return path


def _load_npz(path: Path) -> Real:
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
    return Real(path.stem, whole.only(~test), whole.only(test))


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


__all__ = ["Real", "links", "load", "write"]
