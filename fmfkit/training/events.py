"""What a callback sees."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal

import attrs

from fmfkit.model.model import Model
from fmfkit.problem.problem import Problem
from fmfkit.training.records import RoundRecord
from fmfkit.training.state import State
from fmfkit.typing import Reals

INTERRUPTED = "interrupted"
"""The reason of a stop that ends all work that would follow."""

Moment = Literal["start", "round", "end"]


@attrs.define(eq=False)
class RoundEvent:
    """What a callback sees at the start, after each round, and, in its method ``end``, at the end."""

    problem: Problem
    """What is trained."""
    state: State
    """Where the training stands."""
    record: RoundRecord
    """What the round reports."""
    rounds: int
    """How many rounds the fit was asked for; ``record.round`` may start above 0 when it goes on from another."""
    last: int
    """The number of the last round."""
    moment: Moment
    """"start", before the first round; "round", after a round; or "end", when there will be no more."""
    stopped: str | None = None
    """Why the fit ends, if it does."""
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
"""Called at the start of a fit and after each round; its method ``end``, if it has one, is called at the end."""
AnyCallback = Callback | str
"""A callback, or the name of one: it is then made anew for each fit."""


def notify(callbacks: Iterable[Callback], event: RoundEvent) -> None:
    """Call callbacks with an event; at the end, those that have a method for it."""
    for callback in callbacks:
        if event.moment != "end":
            callback(event)
        elif (end := getattr(callback, "end", None)) is not None:
            end(event)


__all__ = ["AnyCallback", "Callback", "RoundEvent", "notify"]
