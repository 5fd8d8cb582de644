"""What is shown of a recommender: a few lines, or a table in notebooks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from fmfkit.data.sides import HISTORY, INDICATOR
from fmfkit.notebooks import facts_table

if TYPE_CHECKING:
    from fmfkit.recommend.recommender import Recommender


def facts(of: Recommender) -> dict[str, str]:
    """Return what is shown, by name."""
    model = of.model

    def side(count: int, blocks: Mapping[str, slice]) -> str:
        return f"{count}: " + ", ".join(f"{name} ({part.stop - part.start})" for name, part in blocks.items())

    found = {
        "queries": side(model.X.rows, model.X.blocks),
        "targets": side(model.Z.rows, model.Z.blocks),
        "training pairs": f"{of.seen.nnz}, positives only" if of.positives else str(of.seen.nnz),
        "model": f"rank {model.rank}, {model.loss!r}, offset {model.offset:.4g}",
    }
    if model.history:
        last = model.history[-1]
        found["training"] = f"{last.round} rounds, objective {last.objective:.6g}"
    if of.metric is not None and of.validation:
        chosen = of.validation[min(len(model.history), len(of.validation)) - 1]
        found["validation"] = f"{of.metric} {chosen:.4f}"
    return found


def as_text(of: Recommender) -> str:
    """Return it in a few lines."""
    return "\n".join(["Recommender", *(f"  {name:15} {value}" for name, value in facts(of).items())])


def as_html(of: Recommender) -> str:
    """Return it as a table."""
    return facts_table("Recommender", facts(of).items())


def remaining_features(of: Recommender) -> dict[str, list[str]]:
    """Return the names of the features that remain, of blocks in which some are zero in all dimensions."""
    found: dict[str, list[str]] = {}
    model = of.model
    sides = zip(("query", "target"), (model.X, model.Z), (model.P, model.Q), of.feature_names(), strict=True)
    for side, features, W, names in sides:
        for block, columns in features.blocks.items():
            size = np.abs(W[columns]).max(axis=1, initial=0)
            if block not in (INDICATOR, HISTORY) and not size.all():
                largest = np.argsort(-size, kind="stable")[: np.count_nonzero(size)]
                found[f"{side}.{block}"] = [str(names[block][int(s)]) for s in largest]
    return found


__all__ = ["as_html", "as_text", "facts", "remaining_features"]
