"""Going on from a trained model with data that has new queries, targets and features."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs
import numpy as np
import polars as pl
import scipy.sparse as sp
from numpy.typing import NDArray

from fmfkit.data.dataset import IMPLICIT, Attributes, Dataset, pair_keys
from fmfkit.data.encoder import Encoder, SideEncoder, Sides, implicit_feedback
from fmfkit.interfaces import Reals
from fmfkit.problem import Features
from fmfkit.recommender import Recommender
from fmfkit.state import State

if TYPE_CHECKING:
    from fmfkit.front import FMF


@attrs.frozen(eq=False)
class Grown:
    """A model's ids and features, with those of further data after them: what was there keeps its place."""

    start: Recommender
    encoder: Encoder
    rows: tuple[NDArray[np.int32], NDArray[np.int32]]
    """Where the further data's queries and targets stand now."""

    @classmethod
    def of(cls, start: Recommender, data: Dataset) -> Grown:
        """Look at further data."""
        encoder = start.encoder.grown(data)
        query = encoder.queries.ids.rows_of(data.queries.ids)
        target = encoder.targets.ids.rows_of(data.targets.ids)
        return cls(start, encoder, (query, target))

    def moved(self, data: Dataset) -> Dataset:
        """Return further data with the row numbers that its ids have now."""
        return attrs.evolve(
            data, query=self.rows[0][data.query], target=self.rows[1][data.target],
            queries=_moved(data.queries, self.encoder.queries, self.rows[0]),
            targets=_moved(data.targets, self.encoder.targets, self.rows[1]),
        )  # fmt: skip

    def with_remembered(self, data: Dataset, held_out: Dataset | None) -> Dataset:
        """Return moved data with the pairs that the model was trained on, but for those it or ``held_out`` has anew."""
        old = self.start.seen
        if data.sampled is not None:  # what was drawn may be a pair that the model knows
            known = pair_keys(*_entries(old), data.shape)
            data = data.only(~(data.sampled & np.isin(pair_keys(data.query, data.target, data.shape), known)))
        query, target = _entries(old)
        anew = [pair_keys(part.query, part.target, data.shape) for part in (data, held_out) if part is not None]
        kept = ~np.isin(pair_keys(query, target, data.shape), np.concatenate(anew))
        weight = None
        if data.weight is not None or self.start.weight is not None:
            before = np.ones(len(target)) if self.start.weight is None else self.start.weight
            weight = np.append(before[kept], np.ones(len(data)) if data.weight is None else data.weight)
        return attrs.evolve(
            data, query=np.append(query[kept].astype(np.int32), data.query),
            target=np.append(target[kept], data.target), score=np.append(old.data[kept].astype(float), data.score),
            weight=weight, time=None,
            sampled=None if data.sampled is None else np.append(np.zeros(int(kept.sum()), bool), data.sampled),
        )  # fmt: skip

    def features(self, data: Dataset) -> Sides:
        """Return X and Z: the features that ``data`` tells; where it tells none of a block, those of the model."""
        made = []
        for encoder, before, side in (
            (self.encoder.queries, self.start.model.X, data.queries),
            (self.encoder.targets, self.start.model.Z, data.targets),
        ):
            told = {learnt.block.title for learnt in encoder.blocks if _can_tell(learnt.block.title, side)}
            now = {
                learnt.block.title: learnt.matrix(side.instances) if learnt.block.title in told
                else sp.csr_array((len(side.ids), len(learnt.features)), dtype=np.float32)
                for learnt in encoder.blocks
            }  # fmt: skip
            made.append(encoder.indicators() | {name: _filled(matrix, before, name) for name, matrix in now.items()})
        if self.encoder.implicit:
            made[0][IMPLICIT] = implicit_feedback(data.matrix)
        return made[0], made[1]

    def state(self, front: FMF, sides: Sides) -> State:
        """Return the model's parameters, with random ones for new features."""
        model = self.start.model
        if front.rank != model.rank:
            raise ValueError(f"rank: expected {model.rank}, as the model to start from has, got {front.rank}")
        rng = np.random.default_rng([front.seed, 2])
        P = _extended(model.P, model.X, sides[0], model.rank, rng)
        Q = _extended(model.Q, model.Z, sides[1], model.rank, rng)
        return State(P=P, Q=Q, seed=front.seed, round=model.state.round)


def _entries(matrix: sp.csr_array) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return row and column of all that is stored, zeros too."""
    return np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr)), matrix.indices


def _can_tell(block: str, side: Attributes) -> bool:
    return any(known.title == block for known in side.blocks)


def _moved(side: Attributes, encoder: SideEncoder, rows: NDArray[np.int32]) -> Attributes:
    """Return a side's table in the order of the ids that there are now; empty cells for those it has not."""
    place = np.full(len(encoder.ids), -1)
    place[rows] = np.arange(len(rows))
    source = pl.Series(place).replace(-1, None)
    table = side.table.select(pl.all().gather(source))
    return attrs.evolve(side, ids=encoder.ids, table=table, label=side.label)


def _wider(matrix: sp.csr_array, shape: tuple[int, int]) -> sp.csr_array:
    """Return a matrix with empty rows and columns after its own."""
    ptr = np.concatenate([matrix.indptr, np.full(shape[0] - matrix.shape[0], matrix.indptr[-1])])
    return sp.csr_array((matrix.data, matrix.indices, ptr), shape=shape)


def _filled(now: sp.csr_array, before: Features, block: str) -> sp.csr_array:
    """Return a block's features, with those of the model in rows that have none."""
    if block not in before.blocks:
        return now
    old = _wider(_block(before, block), now.shape)
    keep = sp.diags_array((np.diff(now.indptr) == 0).astype(np.float32), format="csr")
    return sp.csr_array(now + keep @ old)


def _block(features: Features, name: str) -> sp.csr_array:
    part = features.blocks[name]
    whole = sp.csr_array(
        (features.values_by_row(), features.row_index, features.row_ptr), shape=(features.rows, features.cols)
    )
    return sp.csr_array(whole[:, part.start : part.stop])


def _extended(W: Reals, before: Features, now: dict[str, sp.csr_array], rank: int, rng: np.random.Generator) -> Reals:
    """Return W with rows for new features; those that were there keep theirs, block by block."""
    parts = []
    for name, matrix in now.items():
        drawn = np.zeros((matrix.shape[1], W.shape[1]), W.dtype)
        drawn[:, :rank] = 0.05 * rng.standard_normal((matrix.shape[1], rank))
        if name in before.blocks:
            part = before.blocks[name]
            drawn[: part.stop - part.start] = W[part.start : part.stop]
        parts.append(drawn)
    return np.ascontiguousarray(np.concatenate(parts))


__all__ = ["Grown"]
