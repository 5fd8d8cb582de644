"""What training returns."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
from numpy.typing import ArrayLike, NDArray

from fmfkit import _native
from fmfkit.interfaces import Loss, Reals
from fmfkit.problem import Problem
from fmfkit.state import RoundRecord, State


@attrs.frozen(eq=False, kw_only=True)
class Model:
    """A trained model.

    ``P`` is n × (rank + 1) where queries have a bias: one row per query feature, the bias's weights in the last column;
    without a query bias it is n × rank. ``Q`` is the same for targets. With U = X P and V = Z Q, the score of a pair is
    offset + the dot product of the first ``rank`` columns of U_i and V_j + the bias columns of both.
    """

    P: Reals
    Q: Reals
    rank: int
    offset: float
    loss: Loss
    history: tuple[RoundRecord, ...]
    """One record per round; the first is the starting point, round 0."""
    stopped: str | None
    """Why the fit ended before its last round, if it did."""
    state: State = attrs.field(repr=False)
    """Where the training stands: pass it, or the model, as ``fit(..., init=...)`` to go on."""
    _queries: Reals = attrs.field(repr=False)
    _targets: Reals = attrs.field(repr=False)

    @classmethod
    def of(
        cls, problem: Problem, state: State, history: tuple[RoundRecord, ...] = (), stopped: str | None = None
    ) -> Model:
        """Make the model that a state stands for."""
        embeddings = [
            _native.embed(problem, side, state.parameters(side.name), state.threads) for side in problem.sides
        ]
        return cls(
            P=state.P, Q=state.Q, rank=problem.rank, offset=problem.offset, loss=problem.loss, history=history,
            stopped=stopped, state=state, queries=embeddings[0], targets=embeddings[1],
        )  # fmt: skip

    def score(self, queries: ArrayLike, targets: ArrayLike) -> Reals:
        """Return the scores of pairs of the problem's queries and targets, by their row numbers; they broadcast."""
        i, j = np.broadcast_arrays(
            _row_numbers("queries", queries, len(self._queries)), _row_numbers("targets", targets, len(self._targets))
        )
        flat = _native.pair_scores(
            np.ascontiguousarray(i.ravel()), np.ascontiguousarray(j.ravel()), self._queries, self._targets, self.offset,
            self.state.threads,
        )  # fmt: skip
        return flat.reshape(i.shape)

    def predict(self, queries: ArrayLike, targets: ArrayLike) -> Reals:
        """Return what the loss predicts for the pairs: their scores through its link."""
        return self.loss.link(self.score(queries, targets))


def _row_numbers(name: str, given: Any, rows: int) -> NDArray[np.int32]:
    array = np.asarray(given)
    if array.dtype.kind not in "iu" and array.size:
        raise TypeError(f"{name}: expected row numbers, got dtype {array.dtype}")
    if array.size and (array.min() < 0 or array.max() >= rows):
        raise ValueError(f"{name}: row numbers run from {array.min()} to {array.max()}, expected 0 to {rows - 1}")
    return array.astype(np.int32)


__all__ = ["Model"]
