"""The search for good settings: random steps from the best so far, judged on a validation part."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TextIO

import attrs
import numpy as np

from fmfkit.checks import whole
from fmfkit.data.dataset import Dataset
from fmfkit.data.encoder import Encoder
from fmfkit.fitting import RoundEvent
from fmfkit.recommender import better, default_metrics
from fmfkit.registry import resolve

if TYPE_CHECKING:
    from fmfkit.front import FMF

WIDEST, NARROWEST, NARROWING = 1.5, 0.3, 0.97
"""The spread of a step, in powers of e: at first, at last, and from one to the next."""
MOST_GROWTH = 4.0
"""An exponent: beyond it only the first dimension is left, and numbers become too large."""


@attrs.frozen
class Trial:
    """One setting, and how good it was."""

    settings: FMF
    """With ``rounds`` the round that was best."""
    value: float
    """The metric on the validation part."""


@attrs.frozen
class Tuned:
    """What a search found."""

    metric: str
    trials: tuple[Trial, ...]
    """All settings, in the order in which they were tried; the first has the strengths that the search began with."""

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
        best = self.trials[0]
        for trial in self.trials[1:]:
            if better(self.metric, trial.value, best.value):
                best = trial
        return best


def search(
    front: FMF, data: Dataset, *, trials: int, validate: Dataset | float, metric: str | None, progress: bool | None,
    callbacks: Sequence[Callable[[RoundEvent], None]],
) -> Tuned:  # fmt: skip
    """Try ``l2``, ``bias_l2``, the blocks' strengths, growth and balance; see ``FMF.tune``."""
    trials = whole("trials", trials, least=1)
    if front.regularizer is not None:
        raise ValueError("tune: it searches l2, bias_l2 and strengths, which a regularizer replaces; leave it out")
    train, held_out = front.parts(data, validate)
    metric = metric or default_metrics(resolve("loss", front.loss))[0]
    stream = sys.stderr if (sys.stderr.isatty() if progress is None else progress) else None
    rng = np.random.default_rng([front.seed, 3])
    settings = _settings(front, Encoder.learn(train))
    found: list[Trial] = []
    watch = _Stopped(callbacks)
    for n in range(trials):
        tried = settings if n == 0 else _step(Tuned(metric, tuple(found)).best, rng, n)
        trained = attrs.evolve(tried, rounds=front.rounds).fit(
            train, validate=held_out, metric=metric, progress=False, callbacks=watch
        )
        values = np.array(trained.validation)
        place = int(np.nanargmin(values) if better(metric, 0, 1) else np.nanargmax(values))
        found.append(Trial(attrs.evolve(tried, rounds=max(place, 1)), float(values[place])))
        if stream is not None:
            _show(stream, n + 1, trials, metric, found[-1].value, Tuned(metric, tuple(found)).value)
        if watch.stopped:
            break
    return Tuned(metric, tuple(found))


class _Stopped:
    """Calls callbacks, and notes whether one of them stopped the fit."""

    def __init__(self, callbacks: Sequence[Callable[[RoundEvent], None]]) -> None:
        self.callbacks, self.stopped = callbacks, False

    def __call__(self, event: RoundEvent) -> None:
        before = event.stopped
        for callback in self.callbacks:
            callback(event)
        self.stopped |= before is None and event.stopped is not None


def _settings(front: FMF, encoder: Encoder) -> FMF:
    """Return the settings with all strengths said; but for the indicators of a side that has no other block."""
    strengths = {
        f"{side}.{name}": strength
        for side, blocks in zip(("query", "target"), encoder.strengths(front.strengths), strict=True)
        for name, strength in blocks.items()
        if len(blocks) > 1 or f"{side}.{name}" in front.strengths
    }
    return attrs.evolve(front, strengths=strengths)


def _step(best: FMF, rng: np.random.Generator, n: int) -> FMF:
    """Return settings some steps away from the best: one to three of them, by a factor each."""
    spread = max(NARROWEST, WIDEST * NARROWING**n)
    numbers = {name: getattr(best, name) for name in ("l2", "bias_l2", "growth", "balance")}
    names = [*(name for name, value in numbers.items() if value or name.endswith("l2")), *best.strengths]
    chosen = rng.choice(names, size=min(len(names), int(rng.integers(1, 4))), replace=False)
    factor = {str(name): float(np.exp(spread * rng.normal())) for name in chosen}
    strengths = {name: value * factor.get(name, 1.0) for name, value in best.strengths.items()}
    changed = {name: value * factor.get(name, 1.0) for name, value in numbers.items()}
    most = {"growth": max(best.growth, MOST_GROWTH), "balance": 1.0}
    kept = {name: min(value, most.get(name, np.inf)) for name, value in changed.items()}
    return attrs.evolve(best, strengths=strengths, **kept)


def _show(stream: TextIO, n: int, trials: int, metric: str, value: float, best: float) -> None:
    line = f"tune  trial {n}/{trials}  {metric} {value:.4f}  best {best:.4f}"
    stream.write(f"\r\x1b[K{line}" + ("\n" if n == trials else "") if stream.isatty() else line + "\n")
    stream.flush()


__all__ = ["Trial", "Tuned"]
