"""From a data set to features: blocks look at the training data once, and then turn any instances into features."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np
import polars as pl
import scipy.sparse as sp
from numpy.typing import NDArray

from fmfkit.data import blocks as block_kinds
from fmfkit.data import text
from fmfkit.data.blocks import Block, Instances, Learnt
from fmfkit.data.ids import Ids
from fmfkit.data.sides import HISTORY, INDICATOR, IS_LABEL, Attributes
from fmfkit.errors import DataError
from fmfkit.sections import Section

if TYPE_CHECKING:
    from fmfkit.data.dataset import Dataset

Sides = tuple[dict[str, sp.csr_array], dict[str, sp.csr_array]]
"""The feature blocks of the queries and of the targets, by name."""
Arrays = dict[str, NDArray[Any]]


@attrs.frozen(eq=False)
class SideEncoder:
    """One side's ids and blocks."""

    ids: Ids
    key: str
    """The column of the table with the ids."""
    indicator: bool
    blocks: tuple[Learnt, ...]
    label: str | None
    labels: pl.Series = attrs.field(repr=False)
    """What people read, row by row."""

    @classmethod
    def learn(cls, side: Attributes) -> SideEncoder:
        """Let the blocks look at the table."""
        return cls(side.ids, side.table.columns[0], side.indicator, side.learnt, side.label, side.labels())

    def continued(self, side: Attributes) -> Attributes:
        """Return further instances with these blocks and this label, where their table has the columns.

        However few they are, what was guessed of them does not count for columns that are known. Blocks and a label
        that are given do.
        """
        columns = side.table.columns
        label = self.label if "label" in side.guessed and self.label in columns else side.label
        mine = {one.block.title: one.block for one in self.blocks if {*one.block.columns} <= {*columns}}
        mine = {title: block for title, block in mine.items() if block.columns}
        known = {label, *(column for one in self.blocks for column in one.block.columns)}
        given = {block.title: block for block in side.blocks}
        if "blocks" in side.guessed:
            given = {title: block for title, block in given.items() if not {*block.columns} <= known}
        blocks = mine | given
        used = {label, *(column for block in blocks.values() for column in block.columns)}
        left_out = {name: why for name, why in side.left_out.items() if name not in used and why != IS_LABEL}
        return attrs.evolve(side, blocks=tuple(blocks.values()), label=label, left_out=left_out)

    def extended(self, side: Attributes) -> SideEncoder:
        """Return it with the ids and features of further instances after its own."""
        ids = self.ids.followed_by(side.ids)
        blocks = {block.title: block for block in side.blocks}
        learnt = []
        for before in self.blocks:
            block = blocks.pop(before.block.title, None)
            if block is not None and type(block) is not type(before.block):
                raise DataError(f"block {block.title!r} is {block.kind}, in the model it is {before.block.kind}")
            learnt.append(before if block is None else block.learn_more(before, side.instances))
        learnt += [block.learn(side.instances) for block in blocks.values()]
        new = np.flatnonzero(self.ids.rows_of(side.ids) < 0)
        labels = pl.concat([self.labels.alias("label"), side.labels().gather(new).alias("label")])
        return SideEncoder(ids, self.key, self.indicator, tuple(learnt), self.label or side.label, labels)

    def features(self, side: Attributes) -> dict[str, sp.csr_array]:
        """Return the indicators and the blocks' features of a side with these ids."""
        known = self.ids is side.ids and self.blocks is side.learnt  # made once, for all parts of a data set
        return self.indicators() | (side.matrices if known else self.matrices(side.instances))

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

    def names(self) -> dict[str, Sequence[str]]:
        """Return what each feature of each block is called."""
        named: dict[str, Any] = {INDICATOR: self.labels} if self.indicator else {}
        return named | {learnt.block.title: learnt.features for learnt in self.blocks}

    def to_parts(self, origin: Callable[[Block], Mapping[str, Any]]) -> tuple[dict[str, Any], Arrays]:
        """Return it as JSON and arrays; ``origin`` is what is said of the class of a block."""
        kind, ids = self.ids.to_arrays()
        about: dict[str, Any] = {"ids": kind, "key": self.key, "indicator": self.indicator, "label": self.label}
        arrays = {f"ids.{name}": array for name, array in ids.items()}
        if self.label is not None:
            arrays |= {f"labels.{name}": array for name, array in text.pack(self.labels).items()}
        about["blocks"] = []
        for n, learnt in enumerate(self.blocks):
            described, names = block_kinds.to_parts(learnt)
            about["blocks"].append({**origin(learnt.block), **described})
            arrays |= {f"block{n}.{name}": array for name, array in names.items()}
        return about, arrays

    @classmethod
    def from_section(cls, section: Section, class_of: Callable[[str, Mapping[str, Any]], type[Block]]) -> SideEncoder:
        """Return what ``to_parts`` took apart; ``class_of`` finds the class of a block by its kind, and what was said
        of it."""
        ids = Ids.from_arrays(section.text("ids"), section.within("ids."))
        label = section.text_or_none("label")
        labels = ids.names if label is None else text.unpack(section.within("labels."))
        if len(labels) != len(ids):
            raise ValueError(f"labels: {len(labels)} for {len(ids)} ids")
        learnt = tuple(
            block_kinds.from_section(class_of(one.text("kind"), one.about), one, one.within(f"block{n}."))
            for n, one in enumerate(section.parts("blocks"))
        )
        return cls(ids, section.text("key"), section.flag("indicator"), learnt, label, labels)

    def widths(self) -> dict[str, int]:
        """Return the number of features of each block, by name."""
        own = {INDICATOR: len(self.ids)} if self.indicator else {}
        return own | {learnt.block.title: len(learnt.features) for learnt in self.blocks}


@attrs.frozen(eq=False)
class Encoder:
    """Both sides."""

    queries: SideEncoder
    """What encodes the queries."""
    targets: SideEncoder
    """What encodes the targets."""
    history: bool
    """Whether queries have history features."""

    @classmethod
    def learn(cls, data: Dataset) -> Encoder:
        """Let all blocks look at the training data."""
        return cls(SideEncoder.learn(data.queries), SideEncoder.learn(data.targets), data.history)

    def continued(self, data: Dataset) -> Dataset:
        """Return further data with these blocks and labels, where its tables have the columns."""
        queries, targets = self.queries.continued(data.queries), self.targets.continued(data.targets)
        return attrs.evolve(data, queries=queries, targets=targets)

    def extended(self, data: Dataset) -> Encoder:
        """Return it with the ids and features of further data after its own."""
        return Encoder(self.queries.extended(data.queries), self.targets.extended(data.targets), self.history)

    def features(self, data: Dataset) -> Sides:
        """Return X and Z of a data set with these ids.

        History features are made from the pairs of ``data``: give the training part.
        """
        X, Z = self.queries.features(data.queries), self.targets.features(data.targets)
        if self.history:
            X[HISTORY] = history_features(data.matrix)
        return X, Z

    def strengths(self, more: Mapping[str, float]) -> tuple[dict[str, float], dict[str, float]]:
        """Return the factors of the penalty of the queries' and the targets' blocks.

        ``more`` has others, named "query." or "target." and the name of the block, which override the blocks' own.
        """
        sides = self.queries.strengths(), self.targets.strengths()
        if self.history:
            sides[0][HISTORY] = 1.0
        known = {f"{side}.{name}" for side, names in zip(("query", "target"), sides, strict=True) for name in names}
        if unknown := sorted(set(more) - known):
            raise ValueError(f"strengths: there is no {unknown[0]!r}; there are {sorted(known)}")
        for full, strength in more.items():
            side, _, name = full.partition(".")
            sides[side == "target"][name] = strength
        return sides

    def described(self) -> list[str]:
        """Return the blocks that describe instances beside their indicators, named as ``strengths`` takes them."""
        sides = (("query", self.queries), ("target", self.targets))
        return [f"{name}.{one.block.title}" for name, side in sides if side.indicator for one in side.blocks]


def history_features(known: sp.csr_array) -> sp.csr_array:
    """Return SVD++'s features: 1/√n for each of the n targets that a query is paired with."""
    counts = np.diff(known.indptr)
    value = np.repeat(1 / np.sqrt(np.maximum(counts, 1)), counts).astype(np.float32)
    return sp.csr_array((value, known.indices, known.indptr), shape=known.shape)


__all__ = ["Encoder", "SideEncoder", "Sides", "history_features"]
