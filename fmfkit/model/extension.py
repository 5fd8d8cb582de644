"""Models with further instances, and with the features that are theirs alone, whose parameters are zero."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np
import scipy.sparse as sp

from fmfkit._kernels import scoring
from fmfkit.model.intervals import Observed
from fmfkit.model.own import INDICATOR, Own
from fmfkit.problem.features import FeatureRows, rows_of
from fmfkit.typing import Reals, SideName

if TYPE_CHECKING:
    from fmfkit.model.model import Model


def with_rows(model: Model, side: SideName, blocks: Mapping[str, sp.csr_array], count: int) -> Model:
    """Return the model with further instances of a side after its own; blocks that are not given are zero for them."""
    features = model.X if side == "query" else model.Z
    grown = {}
    for name, part in features.blocks.items():
        width = part.stop - part.start
        new = blocks.get(name, sp.csr_array((count, width), dtype=features.dtype))
        if name == INDICATOR:
            old = _wider(features.block(name), count)
            new = sp.csr_array(sp.eye_array(count, width + count, k=width, dtype=features.dtype))
        else:
            old = features.block(name)
        grown[name] = sp.csr_array(sp.vstack([old, new.astype(features.dtype)], format="csr"))
    return _relaid(model, side, grown, INDICATOR, count)


def with_columns(model: Model, side: SideName, block: str, count: int) -> Model:
    """Return the model with further features of a block, which no instance has."""
    features = model.X if side == "query" else model.Z
    grown = {name: features.block(name) for name in features.blocks}
    grown[block] = _wider(grown[block], count)
    return _relaid(model, side, grown, block, count)


def _wider(matrix: sp.csr_array, count: int) -> sp.csr_array:
    return sp.csr_array((matrix.data, matrix.indices, matrix.indptr), shape=(matrix.shape[0], matrix.shape[1] + count))


def _relaid(model: Model, side: SideName, blocks: Mapping[str, sp.csr_array], block: str, count: int) -> Model:
    """Return the model with other rows of features; ``count`` columns are new at the end of one block."""
    query = side == "query"
    before = model.X if query else model.Z
    features = rows_of("X" if query else "Z", blocks)
    place = before.blocks[block].stop if block in before.blocks else None

    def longer(W: Reals) -> Reals:
        return W if place is None else np.ascontiguousarray(np.insert(W, [place] * count, 0, axis=0))

    W, name = longer(model.P if query else model.Q), "P" if query else "Q"
    moved: dict[str, Any] = {name: longer(getattr(model.state, name))}
    state = attrs.evolve(model.state, **moved, arrays={})
    if state.mean is not None:
        mean = state.mean.joined()
        kept = tuple((longer(P), Q) if query else (P, longer(Q)) for P, Q in mean.kept)
        moved = {name: longer(getattr(mean, name))}
        state = attrs.evolve(state, mean=attrs.evolve(mean, **moved, kept=kept))
    embedding = scoring.embed_rows(features, W, model.rank, model.biases, side == "target", state.threads)
    changes: dict[str, Any] = {
        name: W,
        "X" if query else "Z": features,
        "queries" if query else "targets": embedding,
        "state": state,
        "observed": None if model.observed is None else _observed(model.observed, side, longer),
        "own": None if model.own is None else _own(model.own, side, features),
    }
    return attrs.evolve(model, **changes)


def _observed(observed: Observed, side: SideName, longer: Callable[[Reals], Reals]) -> Observed:
    if side == "query":
        return attrs.evolve(observed, X=longer(observed.X))
    return attrs.evolve(observed, Z=longer(observed.Z))


def _own(own: Own, side: SideName, features: FeatureRows) -> Own:
    """Return what is kept of the objective; the cells of further instances count nothing."""
    if own.cells is None:
        return own
    weight = own.cells.queries if side == "query" else own.cells.targets
    weight = np.append(weight, np.zeros(features.rows - len(weight), weight.dtype))
    changes: Any = {"queries" if side == "query" else "targets": weight}
    return attrs.evolve(own, cells=attrs.evolve(own.cells, **changes))


__all__ = ["with_columns", "with_rows"]
