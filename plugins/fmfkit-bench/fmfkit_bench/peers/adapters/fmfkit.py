"""fmfkit itself, by ``fmfkit.FMF``."""

from __future__ import annotations

from typing import Any

import attrs
import scipy.sparse as sp
from fmfkit_bench import core
from fmfkit_bench.peers.interface import Choice, Knobs, Note, Number, Peer, Rows, Settings, SideName, Task
from numpy.typing import NDArray

from fmfkit import FMF, Dataset, Model, Recipe, RoundEvent
from fmfkit.data.splits import Split
from fmfkit.solvers import Gibbs


@attrs.frozen(eq=False)
class FmfkitModel:
    """A model of fmfkit's."""

    model: Model

    def score(self, query: Rows, target: Rows) -> NDArray[Any]:
        """Return scores."""
        return self.model.score(query, target)

    def top(self, queries: Rows, k: int, known: sp.csr_matrix) -> NDArray[Any]:
        """Return the best targets."""
        return self.model.recommend(queries, k, exclude=known).targets


FEATURES = "features"
"""What the strengths of all blocks that describe instances are multiplied by."""
SPLITS: dict[SideName | None, Split | None] = {None: None, "query": "cold-query", "target": "cold-target"}
LEARNT = ("shrink", "spread")
"""What multiplies strengths that are learnt."""
SETTINGS = ("l2", "balance", "cells", *LEARNT)
"""What the search finds under the name that ``FMF`` has for it."""


class Fmfkit(Peer):
    """fmfkit with all features."""

    takes_features = True

    def knobs(self, task: Task) -> Knobs:
        """Return what multiplies learnt strengths; for ranking the penalty, the weight of all cells, the balance."""
        if not task.ranking:
            return {name: Number(1.0, stride=1.5) for name in LEARNT}  # as FMF.tune searches
        strengths: dict[str, Number | Choice] = {
            f"{side}.{name}": Number(start, stride=3.0)
            for side, blocks in core.strengths_of(_without_new_ids(task)).items()
            for name, start in blocks.items()
            if len(blocks) > 1
        }
        ranking: dict[str, Number | Choice] = {"l2": Number(0.5, stride=2.0)}  # where FMF begins too
        if len(core.described(_without_new_ids(task))) > 1:
            ranking[FEATURES] = Number(1.0, stride=4.0)
        ranking |= {"cells": Number(30.0, stride=3.0), "balance": Number(0.3, 0.01, 1.0, stride=1.5)}
        return ranking | strengths

    def train(self, task: Task, settings: Settings, note: Note) -> None:
        """Fit, with a callback."""
        front = FMF(
            rank=task.rank,
            rounds=task.rounds,
            threads=task.threads,
            seed=task.seed,
            strengths=_strengths(task, settings),
            **{name: value for name, value in settings.items() if name in SETTINGS},
        )

        def after(event: RoundEvent) -> None:
            if event.record.round > 0 and note(lambda: FmfkitModel(event.model())):
                event.stop("enough")

        front.fit(_without_new_ids(task), progress=False, callbacks=after)


class Untuned(Fmfkit):
    """fmfkit as it is for users who give no setting but the rank: what ``fmfkit fit`` does, validation included."""

    def knobs(self, task: Task) -> Knobs:
        """Return none."""
        return {}

    def train(self, task: Task, settings: Settings, note: Note) -> None:
        """Run the recipe; it holds out from the training pairs as the test part was held out."""
        front = FMF(rank=task.rank, threads=task.threads, seed=task.seed)
        recipe = Recipe(settings=front, split=SPLITS[task.cold])
        trained = recipe.run(_without_new_ids(task), progress=False).recommender
        note(lambda: FmfkitModel(trained.model))


class Sampled(Fmfkit):
    """fmfkit's Gibbs sampler."""

    ranks = False

    def knobs(self, task: Task) -> Knobs:
        """Return the number of samples: from how many on it is good, as myFM's."""
        return {"samples": Number(60, least=30, most=300, whole=True)}

    def train(self, task: Task, settings: Settings, note: Note) -> None:
        """Sample."""
        front = FMF(rank=task.rank, threads=task.threads, seed=task.seed, solver=Gibbs(samples=settings["samples"]))
        trained = front.fit(task.data, progress=False)
        note(lambda: FmfkitModel(trained.model))


def _strengths(task: Task, settings: Settings) -> dict[str, float]:
    """Return the strength of each block; one knob multiplies those that describe instances."""
    found = {name: value for name, value in settings.items() if "." in name}
    described = core.described(_without_new_ids(task)) if FEATURES in settings else []
    return found | {name: found[name] * settings[FEATURES] for name in described}


def _without_new_ids(task: Task) -> Dataset:
    """Return the data; its queries have no feature of their own where the queries to be judged by are new."""
    return core.without_query_ids(task.data) if task.new_queries else task.data


__all__ = ["Fmfkit", "Sampled", "Untuned"]
