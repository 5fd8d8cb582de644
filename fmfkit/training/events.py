"""What a callback sees."""

from __future__ import annotations

from collections.abc import Callable

import attrs

from fmfkit.model.model import Model
from fmfkit.problem.problem import Problem
from fmfkit.training.records import RoundRecord
from fmfkit.training.state import State
from fmfkit.typing import Reals

INTERRUPTED = "interrupted"
"""The reason of a stop that ends all work that would follow."""


@attrs.define(eq=False)
class RoundEvent:
    """What a callback sees after each round (and at the start: round 0)."""

    problem: Problem
    state: State
    record: RoundRecord
    rounds: int
    """How many rounds the fit was asked for; ``record.round`` may start above 0 when it goes on from another."""
    last: int
    """The number of the last round."""
    stopped: str | None = None
    measured: dict[str, float] = attrs.field(factory=dict)
    """What callbacks measured, by name: ``callbacks.Progress`` shows what those before it found."""
    embeddings: tuple[Reals, Reals] | None = attrs.field(default=None, repr=False)
    """The embeddings of both sides, where they are known."""

    def stop(self, reason: str) -> None:
        """End the fit after this round; the reason stands in ``model.stopped``."""
        self.stopped = self.stopped or reason

    def model(self) -> Model:
        """Return the model as it is now; it shares the parameters, which the next round changes."""
        return Model.of(self.problem, self.state, embeddings=self.embeddings)


Callback = Callable[[RoundEvent], None]

__all__ = ["Callback", "RoundEvent"]
