"""irspack: alternating least squares over all cells, with features."""

from __future__ import annotations

import importlib
from typing import Any

import attrs
import numpy as np
import scipy.sparse as sp
from fmfkit_bench.peers.interface import Choice, Factors, Knobs, Note, Number, Peer, Rows, Settings, Task
from numpy.typing import NDArray

SIDES = ("user", "item")


@attrs.frozen(eq=False)
class Side:
    """Queries or targets: those with pairs are trained, the others get what their features say."""

    name: str
    rows: Rows
    """Those with pairs."""
    features: sp.csr_matrix | None
    """Of all."""
    size: int

    @classmethod
    def of(cls, task: Task, side: int, *, features: bool) -> Side:
        """Look at one side of a task."""
        given = task.features(side, identity=False, history=False) if features else None
        rows = np.unique(task.data.target if side else task.data.query)
        return cls(SIDES[side], rows, given, task.data.shape[side])

    def options(self, weight: float) -> dict[str, Any]:
        """Return what irspack is given of the features."""
        if self.features is None:
            return {}
        return {f"{self.name}_features": self.features[self.rows], f"lambda_{self.name}_feature": weight}

    def embedding(self, model: Any) -> NDArray[Any]:
        """Return the embedding of all instances; zeros where nothing is known of one."""
        trained = getattr(model, f"get_{self.name}_embedding")()
        whole = np.zeros((self.size, trained.shape[1]), np.float32)
        if self.features is not None:
            whole[:] = getattr(model, f"compute_{self.name}_embedding_from_features")(self.features)
        whole[self.rows] = trained
        return whole


class Irspack(Peer):
    """irspack's alternating least squares over all cells, with features where there are any."""

    rates = False
    takes_features = True

    def knobs(self, task: Task) -> Knobs:
        """Return the penalty, the weight of the other cells, the penalty's power of frequency, and features."""
        knobs: dict[str, Number | Choice] = {
            "reg": Number(1e-3, stride=3.0),
            "alpha0": Number(0.1, stride=3.0),
            "nu": Number(1.0, 0.1, 1.5),
            "lambda_feature": Number(1.0),
        }
        return knobs if task.new_queries else knobs | {"features": Choice((False, True))}

    def train(self, task: Task, settings: Settings, note: Note) -> None:
        """Train an epoch at a time."""
        sides = [Side.of(task, side, features=settings.get("features", True)) for side in (0, 1)]
        more = {name: value for side in sides for name, value in side.options(settings["lambda_feature"]).items()}
        model = importlib.import_module("irspack").IALSRecommender(
            sp.csr_matrix(task.matrix[sides[0].rows][:, sides[1].rows], dtype=np.float64),
            n_components=task.rank,
            alpha0=settings["alpha0"],
            reg=settings["reg"],
            nu=settings["nu"],
            n_threads=task.threads,
            random_seed=task.seed,
            **more,
        )
        model.start_learning()
        for _ in range(task.rounds):
            model.run_epoch()
            if note(lambda: Factors(*(side.embedding(model) for side in sides))):
                break


__all__ = ["Irspack"]
