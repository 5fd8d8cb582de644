"""fmfkit itself, by ``fmfkit.FMF``."""

from __future__ import annotations

from typing import Any

import attrs
import scipy.sparse as sp
from fmfkit_bench import core
from fmfkit_bench.peers.interface import Choice, Knobs, Note, Number, Peer, Rows, Settings, Task
from numpy.typing import NDArray

from fmfkit import FMF, Dataset, Model, RoundEvent


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


SETTINGS = ("balance", "bias_l2", "growth", "loss", "scale")
"""What the search finds under the name that ``FMF`` has for it."""


class Fmfkit(Peer):
    """fmfkit with all features."""

    takes_features = True

    def knobs(self, task: Task) -> Knobs:
        """Return what makes the penalty, and for ranking the loss, how many negatives are drawn, and the balance."""
        strengths: dict[str, Number | Choice] = {
            f"{side}.{name}": Number(start)
            for side, blocks in core.strengths_of(_without_new_ids(task)).items()
            for name, start in blocks.items()
            if len(blocks) > 1
        }
        if not task.ranking:
            ratings: dict[str, Number | Choice] = {
                "l2": Number(0.5),
                "bias_l2": Number(5.0),
                "scale": Choice(("observations", "uniform")),
                "growth": Choice((0.0, 0.5, 1.0)),
            }
            return ratings | strengths
        most = min(100.0, task.data.shape[0] * task.data.shape[1] / len(task.data))
        ranking: dict[str, Number | Choice] = {
            "loss": Choice(("logistic", "square")),
            "ratio": Number(min(most, 6e6 / len(task.data)), 1.0, most),
            "l2": Number(10.0),
            "bias_l2": Number(5.0),
            "balance": Number(0.3, 0.01, 1.0),
        }
        return ranking | strengths

    def train(self, task: Task, settings: Settings, note: Note) -> None:
        """Fit, with a callback."""
        front = FMF(
            rank=task.rank,
            rounds=task.rounds,
            threads=task.threads,
            seed=task.seed,
            l2=_l2(task, settings),
            strengths={name: value for name, value in settings.items() if "." in name},
            negatives=settings["ratio"] if task.ranking else 0.0,
            **{"scale": "uniform"} | {name: value for name, value in settings.items() if name in SETTINGS},
        )

        def after(event: RoundEvent) -> None:
            if event.record.round > 0 and note(lambda: FmfkitModel(event.model())):
                event.stop("enough")

        front.fit(_without_new_ids(task), progress=False, callbacks=after)


def _l2(task: Task, settings: Settings) -> float:
    """Return the penalty of the factors. For ratings, it is searched per observation, whatever its scale."""
    uniform = settings.get("scale") == "uniform"
    return float(settings["l2"] * (task.pairs_of_each if uniform else 1.0))


def _without_new_ids(task: Task) -> Dataset:
    """Return the data; its queries have no feature of their own where the queries to be judged by are new."""
    return core.without_query_ids(task.data) if task.new_queries else task.data


__all__ = ["Fmfkit"]
