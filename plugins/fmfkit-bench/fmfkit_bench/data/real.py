"""Real data: .npz files with a test part, or any file that fmfkit reads, of which a tenth is held out.

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
from fmfkit_bench import core
from fmfkit_bench.core import HISTORY, INDICATOR
from fmfkit_bench.data.draws import eye
from fmfkit_bench.data.pairs import Blocks, Pairs
from fmfkit_bench.data.shapes import Shape
from numpy.typing import NDArray

from fmfkit import Dataset

FROM_TRAINING = (HISTORY, "implicit", "train_links")
"""Blocks of files that were made from the training pairs. They are replaced by history features of the pairs that are
trained on, so that no feature shows what is in a validation part."""


@attrs.frozen
class Real:
    """A data set with its test part."""

    name: str
    train: Dataset
    test: Dataset

    @property
    def plain_train(self) -> Dataset:
        """The training part without features."""
        return core.without_features(self.train)

    @property
    def plain_test(self) -> Dataset:
        """The test part without features."""
        return core.without_features(self.test)

    @property
    def positives_only(self) -> bool:
        """Whether the y of all pairs is 1."""
        return bool((core.y_of(self.train) == 1).all())

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
        """Return a training and a validation part, split as the test part was split off."""
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


def load(path: str | os.PathLike[str], seed: int = 0) -> Real:
    """Read an .npz file, a MovieLens folder, a file of SVDFeature (.feature), or a table of pairs."""
    where = Path(path)
    if where.suffix == ".npz":
        return _load_npz(where)
    if where.is_dir():
        data = core.movielens(where)
    else:
        data = core.svdfeature(where) if where.suffix == ".feature" else core.dataset(where, history=True)
    return Real(where.stem, *data.split_random(0.1, seed))


def write(shape: Shape, folder: Path) -> Path:
    """Write generated data to an .npz file."""
    arrays: dict[str, Any] = {}
    for part, pairs in (("train", shape.train), ("test", shape.test)):
        arrays |= {f"{part}_rows": pairs.query, f"{part}_cols": pairs.target, f"{part}_vals": pairs.y}
    for side, blocks, rows in (("X", shape.X, shape.queries), ("Z", shape.Z, shape.targets)):
        named = blocks or {INDICATOR: eye(rows)}
        matrix = sp.csr_array(sp.hstack(list(named.values()), format="csr"))
        arrays |= {f"{side}_{part}": getattr(matrix, part) for part in ("data", "indices", "indptr", "shape")}
        identity = [name for name, block in named.items() if block.shape == (rows, rows) and block.nnz == rows]
        arrays[f"{side}_block_names"] = np.array([INDICATOR if name in identity else name for name in named])
        arrays[f"{side}_block_offsets"] = np.cumsum([0, *(block.shape[1] for block in named.values())])
    path = folder / f"{shape.name}.npz"
    np.savez(path, **arrays)
    return path


PAIRS = ("rows", "cols", "vals")
"""What a file calls queries, targets and y."""


def _load_npz(path: Path) -> Real:
    with np.load(path) as file:
        given = dict(file)
    X, Z = (_matrix(given, side) for side in ("X", "Z"))
    query, target, y = (np.concatenate([given[f"{part}_{what}"] for part in ("train", "test")]) for what in PAIRS)
    history = any(name in FROM_TRAINING for name in given["X_block_names"])
    pairs, shape = Pairs(query, target, y.astype(np.float64)), (X.shape[0], Z.shape[0])
    whole = core.numbered(pairs, shape, _blocks(given, "X", X), _blocks(given, "Z", Z), history=history)
    test = np.arange(len(pairs)) >= len(given["train_rows"])
    return Real(path.stem, whole.only(~test), whole.only(test))


def _matrix(given: dict[str, Any], side: str) -> sp.csr_array:
    data, indices, indptr, shape = (given[f"{side}_{part}"] for part in ("data", "indices", "indptr", "shape"))
    return sp.csr_array((data, indices, indptr), shape=tuple(shape))


def _blocks(given: dict[str, Any], side: str, matrix: sp.csr_array) -> Blocks:
    """Return the blocks except for indicators and those made from training pairs."""
    names, begin = [str(name) for name in given[f"{side}_block_names"]], given[f"{side}_block_offsets"]
    return {
        name: matrix[:, begin[k] : begin[k + 1]]
        for k, name in enumerate(names)
        if name not in (INDICATOR, *FROM_TRAINING)
    }


__all__ = ["Real", "links", "load", "write"]
