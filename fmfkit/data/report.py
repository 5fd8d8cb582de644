"""What a data set holds, and what is probably wrong with it."""

from __future__ import annotations

import html
import shlex
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from fmfkit.data.blocks import Numeric, Precomputed
from fmfkit.data.blocks.guess import HARDLY
from fmfkit.data.encoder import Encoder, SideEncoder
from fmfkit.data.positives import Recognised, recognise
from fmfkit.data.sides import Attributes
from fmfkit.notebooks import columns_table

if TYPE_CHECKING:
    from fmfkit.data.dataset import Dataset

LARGE = 20.0
"""Values above it, beside indicators of 1, are taken for a feature that nobody scaled."""


@attrs.frozen
class BlockReport:
    """One feature block."""

    side: str
    name: str
    kind: str
    features: int
    nonzeros: int
    density: float
    """The share of its values that are not zero."""
    without: int
    """Instances that have none of its features."""


@attrs.frozen(repr=False)
class Report:
    """What ``Dataset.report`` found; print it."""

    pairs: int
    queries: int
    targets: int
    cold_queries: int
    """Queries without a pair."""
    cold_targets: int
    positives: bool
    """Whether the pairs are taken as positives only."""
    ratings: tuple[float, float, float]
    """The least, the mean and the largest rating."""
    blocks: tuple[BlockReport, ...]
    notes: tuple[str, ...]
    """What was made of the pairs."""
    warnings: tuple[str, ...]
    told: tuple[str, ...] = ()
    """What was warned of while the data was read, which ``print`` does not repeat."""

    def __str__(self) -> str:
        """Return it for people."""
        least, mean, most = self.ratings
        values = "positives only" if self.positives else f"ratings {least:g} to {most:g}, mean {mean:.4g}"
        lines = [
            f"{self.pairs} pairs of {self.queries} queries ({self.cold_queries} without pairs) and "
            f"{self.targets} targets ({self.cold_targets} without); {values}",
            f"{'block':28} {'kind':12} {'features':>9} {'non-zeros':>10} {'density':>9} {'rows without':>13}",
        ]
        for block in self.blocks:
            lines.append(
                f"{block.side + '.' + block.name:28} {block.kind:12} {block.features:9} {block.nonzeros:10} "
                f"{block.density:9.2g} {block.without:13}"
            )
        return "\n".join([*lines, *self.notes, *(f"warning: {warning}" for warning in self.warnings)])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """Return it for notebooks."""
        first, *_ = str(self).split("\n", 1)
        names = [field.name for field in attrs.fields(BlockReport)]
        rows = [[f"{v:.2g}" if isinstance(v, float) else v for v in attrs.astuple(block)] for block in self.blocks]
        said = [*self.notes, *(f"warning: {warning}" for warning in self.warnings)]
        return columns_table(first, names, rows) + "".join(f"<p>{html.escape(line)}</p>" for line in said)


def report(
    data: Dataset, test: Dataset | None = None, recognised: Recognised | None = None, start: Encoder | None = None
) -> Report:
    """Look at a data set, and at the part that it will be tested on; ``start`` is of a model that it goes on from."""
    known = recognise(data) if recognised is None else recognised
    data = data if start is None else start.continued(data)
    encoder = Encoder.learn(data) if start is None else _of_update(start, data)
    sides = encoder.features(data)
    blocks: list[BlockReport] = []
    notes = [*([] if known.note is None else [known.note]), *data.notes]
    if data.counted:
        notes.append(f"{data.counted:,} rows that repeat a pair became weights")
    warnings: list[str] = [] if known.warning is None else [known.warning]
    for side, learnt, matrices in zip(("query", "target"), (encoder.queries, encoder.targets), sides, strict=True):
        kinds = {known.block.title: known.block.kind for known in learnt.blocks}
        for name, matrix in matrices.items():
            blocks.append(_block(side, name, kinds.get(name, name), matrix))
        warnings += _doubts(side, learnt, matrices)
    for side, attributes in (("query", data.queries), ("target", data.targets)):
        if attributes.left_out:
            listed = ", ".join(f"{column} ({reason})" for column, reason in attributes.left_out.items())
            notes.append(f"no features: {side} {listed}")
    text = [column for column, reason in data.targets.left_out.items() if reason == HARDLY]
    if text and data.targets.label is None:
        notes.append(f"answers show ids: --label {shlex.quote(text[0])}, or label=, names the column to show instead")
    if test is not None:
        warnings += _leaks(data, test, encoder, sides[0])
    met = [np.unique(rows) for rows in (data.query, data.target)]
    return Report(
        pairs=len(data),
        queries=data.shape[0],
        targets=data.shape[1],
        cold_queries=data.shape[0] - len(met[0]),
        cold_targets=data.shape[1] - len(met[1]),
        positives=known.positives,
        ratings=(float(data.y.min()), float(data.y.mean()), float(data.y.max())),
        blocks=tuple(blocks),
        notes=tuple(notes),
        warnings=tuple(warnings),
        told=data.told,
    )


def _of_update(start: Encoder, data: Dataset) -> Encoder:
    """Return the encoder of a model with further data, with those blocks that the data says something of."""
    now = start.extended(data)

    def told(encoder: SideEncoder, side: Attributes) -> SideEncoder:
        said = {block.title for block in side.blocks}
        return attrs.evolve(encoder, blocks=tuple(one for one in encoder.blocks if one.block.title in said))

    return Encoder(told(now.queries, data.queries), told(now.targets, data.targets), now.history)


def _block(side: str, name: str, kind: str, matrix: sp.csr_array) -> BlockReport:
    rows, columns = matrix.shape
    without = int((np.diff(matrix.indptr) == 0).sum())
    return BlockReport(side, name, kind, columns, matrix.nnz, matrix.nnz / max(rows * columns, 1), without)


def _doubts(side: str, encoder: SideEncoder, matrices: dict[str, sp.csr_array]) -> list[str]:
    """Return what looks like a mistake in the features of one side."""
    found = []
    if not encoder.indicator:
        found.append(
            f"{side}: no indicators; instances with equal features cannot be distinguished, whatever their pairs"
        )
    for learnt in encoder.blocks:
        block, matrix = learnt.block, matrices[learnt.block.title]
        name = f"{side}.{block.title}"
        if not matrix.nnz:
            found.append(f"{name}: no instance has a feature of it: it is empty, constant, or its ids match none")
            continue
        if constant := _constant(matrix):
            examples = ", ".join(repr(learnt.features[column]) for column in constant[:3])
            found.append(f"{name}: the same for all instances, so it carries no information: {examples}")
        scale = float(np.abs(matrix.data).max())
        if scale > LARGE:
            remedy = "normalise='rows'" if isinstance(block, Precomputed | Numeric) else "normalise='root'"
            found.append(f"{name}: values up to {scale:.4g}, beside indicators of 1; scale them, or use {remedy}")
    return found


def _constant(matrix: sp.csr_array) -> list[int]:
    """Return the columns that have one value in all of several rows."""
    if matrix.shape[0] < 2:
        return []
    columns = matrix.tocsc()
    full = np.flatnonzero(np.diff(columns.indptr) == matrix.shape[0])
    return [int(j) for j in full if np.ptp(columns.data[columns.indptr[j] : columns.indptr[j + 1]]) == 0]


def _leaks(data: Dataset, test: Dataset, encoder: Encoder, X: dict[str, sp.csr_array]) -> list[str]:
    """Return where test pairs are known to training."""
    found = []
    both = _among(data.matrix, test)
    if both:
        also = ", and history features show them" if encoder.history else ""
        found.append(f"{both} of {len(test)} test pairs are in the training data too{also}: take parts that are apart")
    for learnt in encoder.queries.blocks:
        matrix = X[learnt.block.title]
        if isinstance(learnt.block, Precomputed) and matrix.shape[1] == data.shape[1] and len(data):
            known, shown = _among(matrix, data) / len(data), _among(matrix, test)
            if known > 0.5 and shown > 0.1 * len(test):
                found.append(
                    f"query.{learnt.block.title}: looks like history features made from all pairs: it shows {shown} "
                    f"of {len(test)} test pairs; make it from the training pairs alone, as history=True does"
                )
    return found


def _among(matrix: sp.csr_array, data: Dataset) -> int:
    """Return how many pairs of ``data`` a matrix holds."""
    values: NDArray[Any] = np.asarray(matrix[data.query, data.target])
    return int(np.count_nonzero(values))


__all__ = ["BlockReport", "Report", "report"]
