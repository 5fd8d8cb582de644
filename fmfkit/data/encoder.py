"""From a data set to a problem: blocks look at the training data once, and then turn any instances into features."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs
import numpy as np
import scipy.sparse as sp

from fmfkit.data import blocks as block_kinds
from fmfkit.data.blocks import Instances, Learnt
from fmfkit.data.dataset import IMPLICIT, INDICATOR, Attributes, Dataset
from fmfkit.data.ids import Ids
from fmfkit.errors import DataError

Sides = tuple[dict[str, sp.csr_array], dict[str, sp.csr_array]]
"""The feature blocks of the queries and of the targets, by name."""


@attrs.frozen(eq=False)
class SideEncoder:
    """One side's ids and blocks."""

    ids: Ids
    key: str
    """The column of the table with the ids."""
    indicator: bool
    blocks: tuple[Learnt, ...]
    label: str | None
    labels: tuple[str, ...]
    """What people read, row by row."""

    @classmethod
    def learn(cls, side: Attributes) -> SideEncoder:
        """Let the blocks look at the table."""
        learnt = tuple(block.learn(side.instances) for block in side.blocks)
        return cls(
            side.ids,
            side.table.columns[0],
            side.indicator,
            learnt,
            side.label,
            tuple(side.labels(np.arange(len(side.ids)))),
        )

    def grown(self, side: Attributes) -> SideEncoder:
        """Return it with the ids and features of further instances after its own."""
        ids = self.ids.followed_by(side.ids)
        blocks = {block.title: block for block in side.blocks}
        learnt = []
        for before in self.blocks:
            block = blocks.pop(before.block.title, None)
            if block is not None and block.kind != before.block.kind:
                raise DataError(f"block {block.title!r} is {block.kind}, in the model it is {before.block.kind}")
            learnt.append(before if block is None else block.learn_more(before, side.instances))
        learnt += [block.learn(side.instances) for block in blocks.values()]
        new = np.flatnonzero(self.ids.rows_of(side.ids) < 0)
        return SideEncoder(
            ids, self.key, self.indicator, tuple(learnt), self.label or side.label, (*self.labels, *side.labels(new))
        )

    def matrices(self, given: Instances) -> dict[str, sp.csr_array]:
        """Return the blocks' features of instances."""
        return {learnt.block.title: learnt.matrix(given) for learnt in self.blocks}

    def indicators(self) -> dict[str, sp.csr_array]:
        """Return a feature of its own for each id, unless refused."""
        return {INDICATOR: sp.eye_array(len(self.ids), dtype=np.float32, format="csr")} if self.indicator else {}

    def strengths(self) -> dict[str, float]:
        """Return the blocks' factors of the penalty."""
        own = {INDICATOR: 1.0} if self.indicator else {}
        return own | {learnt.block.title: learnt.block.strength for learnt in self.blocks}

    def names(self) -> dict[str, list[str]]:
        """Return what each feature of each block is called."""
        named = {INDICATOR: list(self.labels)} if self.indicator else {}
        return named | {learnt.block.title: list(learnt.features) for learnt in self.blocks}

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        return {
            "ids": self.ids.to_json(), "key": self.key, "indicator": self.indicator, "label": self.label,
            "labels": list(self.labels), "blocks": [block_kinds.to_json(learnt) for learnt in self.blocks],
        }  # fmt: skip

    @classmethod
    def from_json(cls, given: Mapping[str, Any]) -> SideEncoder:
        """Return what ``to_json`` told."""
        return cls(
            Ids.from_json(given["ids"]), given["key"], given["indicator"],
            tuple(map(block_kinds.from_json, given["blocks"])), given["label"], tuple(given["labels"]),
        )  # fmt: skip


@attrs.frozen(eq=False)
class Encoder:
    """Both sides."""

    queries: SideEncoder
    targets: SideEncoder
    implicit: bool

    @classmethod
    def learn(cls, data: Dataset) -> Encoder:
        """Let all blocks look at the training data."""
        return cls(SideEncoder.learn(data.queries), SideEncoder.learn(data.targets), data.implicit)

    def grown(self, data: Dataset) -> Encoder:
        """Return it with the ids and features of further data after its own."""
        return Encoder(self.queries.grown(data.queries), self.targets.grown(data.targets), self.implicit)

    def features(self, data: Dataset) -> Sides:
        """Return X and Z of a data set with these ids.

        Implicit feedback is made from the pairs of ``data``: give the training part.
        """
        X = self.queries.indicators() | self.queries.matrices(data.queries.instances)
        Z = self.targets.indicators() | self.targets.matrices(data.targets.instances)
        if self.implicit:
            X[IMPLICIT] = implicit_feedback(data.matrix)
        return X, Z

    def strengths(self, more: Mapping[str, float]) -> tuple[dict[str, float], dict[str, float]]:
        """Return the factors of the penalty of the queries' and the targets' blocks.

        ``more`` has others, called "query." or "target." and the name of the block, which go before the blocks' own.
        """
        sides = self.queries.strengths(), self.targets.strengths()
        if self.implicit:
            sides[0][IMPLICIT] = 1.0
        known = {f"{side}.{name}" for side, names in zip(("query", "target"), sides, strict=True) for name in names}
        if unknown := sorted(set(more) - known):
            raise ValueError(f"strengths: there is no {unknown[0]!r}; there are {sorted(known)}")
        for full, strength in more.items():
            side, _, name = full.partition(".")
            sides[side == "target"][name] = strength
        return sides


def implicit_feedback(known: sp.csr_array) -> sp.csr_array:
    """Return SVD++'s features: 1/√n for each of the n targets that a query is paired with."""
    counts = np.diff(known.indptr)
    value = np.repeat(1 / np.sqrt(np.maximum(counts, 1)), counts).astype(np.float32)
    return sp.csr_array((value, known.indices, known.indptr), shape=known.shape)


__all__ = ["Encoder", "SideEncoder", "implicit_feedback"]
