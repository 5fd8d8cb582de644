"""From a data set to a problem: blocks look at the training data once, and then turn any instances into features."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs
import numpy as np
import polars as pl
import scipy.sparse as sp

from fmfkit.data import blocks as block_kinds
from fmfkit.data.blocks import Learnt
from fmfkit.data.dataset import Attributes, Dataset
from fmfkit.data.ids import Ids

INDICATOR = "indicator"
IMPLICIT = "implicit"


@attrs.frozen(eq=False)
class SideEncoder:
    """One side's ids and blocks."""

    ids: Ids
    indicator: bool
    blocks: tuple[Learnt, ...]
    label: str | None
    labels: tuple[str, ...]
    """What people read, row by row."""

    @classmethod
    def learn(cls, side: Attributes) -> SideEncoder:
        """Let the blocks look at the table."""
        learnt = tuple(block.learn(side.table) for block in side.blocks)
        return cls(side.ids, side.indicator, learnt, side.label, tuple(side.labels(np.arange(len(side.ids)))))

    def matrices(self, table: pl.DataFrame) -> dict[str, sp.csr_array]:
        """Return the blocks' features of the table's rows."""
        return {learnt.block.title: learnt.matrix(table) for learnt in self.blocks}

    def strengths(self) -> dict[str, float]:
        """Return the blocks' factors of the penalty that are not 1."""
        return {learnt.block.title: learnt.block.strength for learnt in self.blocks if learnt.block.strength != 1}

    def names(self) -> dict[str, list[str]]:
        """Return what each feature of each block is called."""
        named = {INDICATOR: list(self.labels)} if self.indicator else {}
        return named | {learnt.block.title: list(learnt.features) for learnt in self.blocks}

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        return {
            "ids": self.ids.to_json(), "indicator": self.indicator, "label": self.label, "labels": list(self.labels),
            "blocks": [block_kinds.to_json(learnt) for learnt in self.blocks],
        }  # fmt: skip

    @classmethod
    def from_json(cls, given: Mapping[str, Any]) -> SideEncoder:
        """Return what ``to_json`` told."""
        return cls(
            Ids.from_json(given["ids"]), given["indicator"], tuple(map(block_kinds.from_json, given["blocks"])),
            given["label"], tuple(given["labels"]),
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

    def features(self, data: Dataset) -> tuple[dict[str, sp.csr_array] | None, dict[str, sp.csr_array] | None]:
        """Return X and Z of a data set with these ids; None stands for indicators alone.

        Implicit feedback is made from the pairs of ``data``: give the training part.
        """
        made = []
        for encoder, side in ((self.queries, data.queries), (self.targets, data.targets)):
            matrices = (
                {INDICATOR: sp.eye_array(len(side.ids), dtype=np.float32, format="csr")} if encoder.indicator else {}
            )
            made.append(matrices | encoder.matrices(side.table))
        if self.implicit:
            made[0][IMPLICIT] = implicit_feedback(data.matrix)
        X, Z = (None if list(matrices) == [INDICATOR] else matrices for matrices in made)
        return X, Z

    def strengths(self) -> dict[str, float]:
        """Return all blocks' factors of the penalty that are not 1."""
        return self.queries.strengths() | self.targets.strengths()


def implicit_feedback(known: sp.csr_array) -> sp.csr_array:
    """Return SVD++'s features: 1/√n for each of the n targets that a query is paired with."""
    counts = np.diff(known.indptr)
    value = np.repeat(1 / np.sqrt(np.maximum(counts, 1)), counts).astype(np.float32)
    return sp.csr_array((value, known.indices, known.indptr), shape=known.shape)


__all__ = ["Encoder", "SideEncoder", "implicit_feedback"]
