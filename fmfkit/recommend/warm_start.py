"""Going on from a trained model with data that has new queries, targets and features."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs
import numpy as np
import polars as pl
import scipy.sparse as sp
from numpy.typing import NDArray

from fmfkit.data.dataset import Dataset
from fmfkit.data.encoder import Encoder, SideEncoder, Sides, history_features
from fmfkit.data.sampling import pair_keys
from fmfkit.data.sides import HISTORY, Attributes
from fmfkit.problem.features import FeatureRows
from fmfkit.problem.observations import Observations
from fmfkit.recommend.recommender import Recommender
from fmfkit.recommend.settings import LEARNT_SETTINGS, PENALTY_SETTINGS, Settings, resolved_loss
from fmfkit.training.state import State
from fmfkit.typing import Reals


@attrs.frozen(eq=False)
class WarmStart:
    """A model's ids and features, with those of further data after them: what was there keeps its place."""

    start: Recommender
    encoder: Encoder
    rows: tuple[NDArray[np.int32], NDArray[np.int32]]
    """Where the further data's queries and targets stand now."""

    @classmethod
    def of(cls, start: Recommender, data: Dataset) -> WarmStart:
        """Look at further data."""
        encoder = start.encoder.extended(start.encoder.continued(data))
        query = encoder.queries.ids.rows_of(data.queries.ids)
        target = encoder.targets.ids.rows_of(data.targets.ids)
        return cls(start, encoder, (query, target))

    def moved(self, data: Dataset) -> Dataset:
        """Return further data with the row numbers that its ids have now, and the model's blocks and labels."""
        data = self.start.encoder.continued(data)
        return attrs.evolve(
            data,
            query=self.rows[0][data.query],
            target=self.rows[1][data.target],
            queries=_moved(data.queries, self.encoder.queries, self.rows[0]),
            targets=_moved(data.targets, self.encoder.targets, self.rows[1]),
        )

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
            data,
            query=np.append(query[kept].astype(np.int32), data.query),
            target=np.append(target[kept], data.target),
            y=np.append(old.data[kept].astype(float), data.y),
            weight=weight,
            time=None,
            sampled=None if data.sampled is None else np.append(np.zeros(int(kept.sum()), bool), data.sampled),
        )

    def features(self, data: Dataset) -> Sides:
        """Return X and Z: the features that ``data`` gives; where it says nothing of a block, those of the model."""
        X = _features(self.encoder.queries, self.start.model.X, data.queries)
        Z = _features(self.encoder.targets, self.start.model.Z, data.targets)
        if self.encoder.history:
            X[HISTORY] = history_features(data.matrix)
        return X, Z

    def state(self, settings: Settings, observations: Observations) -> State:
        """Return the model's parameters, with random ones for new features."""
        model = self.start.model
        rng = np.random.default_rng([settings.seed, 2])
        P = _extended(model.P, model.X, observations.X.blocks, model.rank, rng)
        Q = _extended(model.Q, model.Z, observations.Z.blocks, model.rank, rng)
        strengths = model.state.strengths if settings.l2 == "auto" else None
        if strengths is not None:
            now = observations.X.blocks, observations.Z.blocks
            strengths = strengths.learning_again((model.X.blocks, model.Z.blocks), now)
        return State(P=P, Q=Q, seed=settings.seed, round=model.state.round, strengths=strengths)


def settings_for(start: Recommender, asked: Settings) -> dict[str, Any]:
    """Return the settings of a fit that starts from a model: the model's, but for those that are asked for.

    Its loss, its rank and what its data was taken as cannot be changed.
    """
    loss, rank, data = start.model.loss, start.model.rank, start.settings.data
    if "auto" not in (data, asked.data) and asked.data != data:
        raise ValueError(f"data: the model to start from was trained on {data!r}; asked for {asked.data!r}")
    if "loss" in asked.given and resolved_loss(asked) != loss:
        raise ValueError(f"loss: the model to start from was trained with {loss!r}; asked for {asked.loss!r}")
    if "rank" in asked.given and asked.rank != rank:
        raise ValueError(f"rank: expected {rank}, as the model to start from has, got {asked.rank}")
    if missing := [name for name in start.lost if name not in asked.given]:
        name = missing[0]
        raise ValueError(
            f"{name}: the model to start from was trained with {start.lost[name]}, which no plugin offers; give {name}="
        )
    kept = {name: getattr(start.settings, name) for name in start.settings.given}
    if "regularizer" in asked.given:  # it replaces the model's penalty, whatever that was made of
        kept = {name: value for name, value in kept.items() if name not in PENALTY_SETTINGS}
    elif {"l2", "bias_l2"} & asked.given:
        kept.pop("regularizer", None)
    if "l2" in asked.given:  # strengths are learnt, or given
        kept = {name: value for name, value in kept.items() if name not in (*LEARNT_SETTINGS, "bias_l2")}
    for name, other in (("cells", "negatives"), ("negatives", "cells")):
        if getattr(asked, name):  # it replaces the other
            kept.pop(other, None)
    given = {name: getattr(asked, name) for name in asked.given}
    return kept | given | {"loss": loss, "rank": rank, "data": asked.data if data == "auto" else data}


def _entries(matrix: sp.csr_array) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return row and column of all that is stored, zeros too."""
    return np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr)), matrix.indices


def _moved(side: Attributes, encoder: SideEncoder, rows: NDArray[np.int32]) -> Attributes:
    """Return a side's table in the order of the ids that there are now; empty cells for those it has not."""
    place = np.full(len(encoder.ids), -1)
    place[rows] = np.arange(len(rows))
    source = pl.Series(place).replace(-1, None)
    table = side.table.select(pl.all().gather(source))
    return attrs.evolve(side, ids=encoder.ids, table=table)


def _wider(matrix: sp.csr_array, shape: tuple[int, int]) -> sp.csr_array:
    """Return a matrix with empty rows and columns after its own."""
    ptr = np.concatenate([matrix.indptr, np.full(shape[0] - matrix.shape[0], matrix.indptr[-1])])
    return sp.csr_array((matrix.data, matrix.indices, ptr), shape=shape)


def _features(encoder: SideEncoder, before: FeatureRows, side: Attributes) -> dict[str, sp.csr_array]:
    """Return one side's features, with those of the model where the side says nothing of a block."""
    said = {block.title for block in side.blocks}
    made = encoder.indicators()
    for learnt in encoder.blocks:
        name = learnt.block.title
        empty = sp.csr_array((len(side.ids), len(learnt.features)), dtype=np.float32)
        made[name] = _filled(learnt.matrix(side.instances) if name in said else empty, before, name)
    return made


def _filled(now: sp.csr_array, before: FeatureRows, block: str) -> sp.csr_array:
    """Return a block's features, with those of the model in rows that have none."""
    if block not in before.blocks:
        return now
    old = _wider(before.block(block), now.shape)
    keep = sp.diags_array((np.diff(now.indptr) == 0).astype(np.float32), format="csr")
    return sp.csr_array(now + keep @ old)


def _extended(W: Reals, before: FeatureRows, now: Mapping[str, slice], rank: int, rng: np.random.Generator) -> Reals:
    """Return W with rows for new features; those that were there keep theirs, block by block."""
    parts = []
    for name, columns in now.items():
        width = columns.stop - columns.start
        drawn = np.zeros((width, W.shape[1]), W.dtype)
        drawn[:, :rank] = 0.05 * rng.standard_normal((width, rank))
        if name in before.blocks:
            part = before.blocks[name]
            drawn[: part.stop - part.start] = W[part.start : part.stop]
        parts.append(drawn)
    return np.ascontiguousarray(np.concatenate(parts))


__all__ = ["WarmStart", "settings_for"]
