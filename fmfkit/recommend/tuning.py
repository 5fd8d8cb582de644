"""The search for good settings, judged on a validation part; ``fmfkit.search`` says how it goes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TextIO

import attrs
import numpy as np

from fmfkit.data.encoder import Encoder
from fmfkit.problem.objective import LearntPenalty
from fmfkit.recommend.evaluation import Metric
from fmfkit.recommend.prepared import Prepared, with_features
from fmfkit.recommend.settings import LEARNT_SETTINGS
from fmfkit.search import BestSoFar, Knobs, Number, Pace, Search
from fmfkit.training.callbacks import KeepBest
from fmfkit.training.checkpoint import checkpoint_of, tried
from fmfkit.training.events import AnyCallback, RoundEvent
from fmfkit.training.progress import Bar, log
from fmfkit.training.state import State

if TYPE_CHECKING:
    from fmfkit.recommend.fmf import FMF

PACE = Pace(widest=1.5, narrowest=0.3, narrowing=0.97)
FEATURES = "features"
"""What the strengths of all blocks that describe instances are multiplied by: a knob beside those of each block."""
MOST_GROWTH = 4.0
"""An exponent: beyond it only the first dimension is left, and numbers become too large."""


@attrs.frozen
class Trial:
    """One setting, and how good it was."""

    settings: FMF
    """With ``rounds`` the round that was best."""
    value: float
    """The metric on the validation part."""


@attrs.frozen(repr=False)
class Tuned:
    """What a search found."""

    metric: str
    larger: bool
    """Whether larger values of the metric are better."""
    trials: tuple[Trial, ...]
    """All settings, in the order in which they were tried; the first has the strengths that the search began with."""

    def __repr__(self) -> str:
        """Return what was best in a line."""
        return f"Tuned({self.metric} {self.value:.4f} with {self.best!r}, the best of {len(self.trials)} trials)"

    @property
    def best(self) -> FMF:
        """The best settings; its ``rounds`` is the round that was best, so that it can be trained on all data."""
        return self._best.settings

    @property
    def value(self) -> float:
        """The metric that the best settings had on the validation part."""
        return self._best.value

    @property
    def _best(self) -> Trial:
        best = BestSoFar[Trial](self.larger)
        for trial in self.trials:
            best.note(trial.value, trial)
        assert best.item is not None  # a search has at least one trial
        return best.item


def search(
    front: FMF,
    prepared: Prepared,
    *,
    trials: int,
    metric: str | Metric | None,
    stream: TextIO | None,
    callbacks: Sequence[AnyCallback],
) -> Tuned:
    """Try settings; see ``FMF.tune``."""
    if front.regularizer is not None:
        raise ValueError("tune: it searches l2, bias_l2 and strengths, which a regularizer replaces; leave it out")
    watch = prepared.watch(front, metric)
    if watch is None:
        raise ValueError("tune: it needs a validation part: validate=0.1")
    found: list[Trial] = []
    stopped = _Stopped()
    begin = _learnt(front, prepared, [*callbacks, stopped]) if front.l2 == "auto" else None
    before, checkpoint = 0 if begin is None else begin.round, checkpoint_of(callbacks)
    steps = Search(_knobs(front, prepared), np.random.default_rng([front.seed, 3]), larger=watch.larger, pace=PACE)
    bar = None if stream is None else Bar("tune", "trial", trials, stream)
    for n in range(trials):
        values = steps.propose()
        settings, watch = _with(front, values, prepared.encoder), watch.again()
        outcome = tried(checkpoint, partial(_try, prepared, settings, watch, callbacks, begin))
        found.append(Trial(settings.replace(rounds=max(before + outcome["round"], 1)), outcome["value"]))
        steps.tell(values, outcome["value"])
        told = f"{watch.name} {found[-1].value:.4f}  best {steps.best.value:.4f}"
        log.debug("tune: trial %d/%d, %s", n + 1, trials, told)
        if bar is not None:
            bar.show(n + 1, told)
        if stopped.it or outcome["stopped"]:
            break
    if bar is not None:
        bar.close()
    return Tuned(watch.name, watch.larger, tuple(found))


def _try(
    prepared: Prepared, settings: FMF, watch: KeepBest, callbacks: Sequence[AnyCallback], begin: State | None
) -> dict[str, Any]:
    """Train with some settings; return the best value, its round, and whether a callback ended the search."""
    stopped = _Stopped(watch)
    prepared.run(settings, watch, [*callbacks, stopped], begin)
    return {"value": float(watch.best.value), "round": watch.best.place, "stopped": stopped.it}


def _learnt(front: FMF, prepared: Prepared, callbacks: Sequence[AnyCallback]) -> State:
    """Return where the rounds that learn strengths end: all trials go on from there."""
    rounds = LearntPenalty().rounds
    if front.rounds <= rounds:
        raise ValueError(f"tune: strengths are learnt for {rounds} rounds; give more rounds than {front.rounds}, or l2")
    return prepared.run(front.replace(rounds=rounds), None, callbacks).state


def _knobs(front: FMF, prepared: Prepared) -> Knobs:
    """Return what is searched: strengths of the blocks of sides that have more than one, and numbers above 0.

    What decides most has a stride, so that it comes first. Where strengths are learnt there are but two, and those of
    blocks that are asked for.
    """
    if front.l2 == "auto":
        learnt = {name: Number(getattr(front, name), stride=1.5) for name in LEARNT_SETTINGS}
        return learnt | {name: Number(strength) for name, strength in front.strengths.items()}
    numbers = {"l2": Number(front.l2, stride=2.0)}
    if len(prepared.encoder.described()) > 1:
        numbers[FEATURES] = Number(1.0, stride=4.0)
    if front.cells:
        numbers["cells"] = Number(front.cells, stride=3.0)
    else:
        numbers["bias_l2"] = Number(front.bias_l2)
    if front.balance:
        numbers["balance"] = Number(front.balance, most=1.0, stride=1.5 if front.cells else None)
    if front.growth:
        numbers["growth"] = Number(front.growth, most=max(front.growth, MOST_GROWTH))
    for side, blocks in zip(("query", "target"), prepared.encoder.strengths(front.strengths), strict=True):
        for name, strength in blocks.items():
            if len(blocks) > 1 or f"{side}.{name}" in front.strengths:
                numbers[f"{side}.{name}"] = Number(strength, stride=3.0 if front.cells else None)
    return numbers


def _with(front: FMF, values: dict[str, Any], encoder: Encoder) -> FMF:
    """Return settings with the values of the knobs; those of feature blocks have a dot in their name."""
    plain = {name: value for name, value in values.items() if "." not in name and name != FEATURES}
    strengths = {name: value for name, value in values.items() if "." in name}
    return with_features(front.replace(**plain, strengths=strengths), encoder, values.get(FEATURES, 1.0))


@attrs.define(eq=False)
class _Stopped:
    """Notes, after all other callbacks, whether one of them but the watch stopped the fit."""

    watch: KeepBest | None = None
    it: bool = False

    def __call__(self, event: RoundEvent) -> None:
        impatient = self.watch is not None and self.watch.best.since >= self.watch.patience
        self.it |= event.stopped is not None and not impatient

    def memory(self) -> dict[str, Any]:
        """Return whether one did."""
        return {"it": self.it}

    def remember(self, memory: Mapping[str, Any], event: RoundEvent) -> None:
        """Take it back."""
        self.it = memory["it"]


__all__ = ["Trial", "Tuned"]
