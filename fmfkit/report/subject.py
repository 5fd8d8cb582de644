"""What a report is about: a model, the pairs it is measured on, and what anybody could predict on them."""

from __future__ import annotations

import functools

import attrs
import numpy as np
from numpy.typing import NDArray

from fmfkit.data.dataset import Dataset
from fmfkit.data.report import Report
from fmfkit.recommend.baselines import Biases, Known, baselines
from fmfkit.recommend.evaluation import Judged, Metric, suitable_metrics
from fmfkit.recommend.recommender import Recommender
from fmfkit.recommend.resampling import Estimate, judged_by, on_draws
from fmfkit.recommend.settings import Settings

RESAMPLES = 300
LEVEL = 0.95
MODEL = "the model"


@attrs.frozen(eq=False, kw_only=True)
class Subject:
    """A model, and the pairs it is measured on."""

    trained: Recommender
    on: Judged | None
    """The model on held-out pairs, if there are any."""
    wanted: tuple[Metric, ...]
    """The metrics, the deciding one first."""
    data: Report | None
    """What was found in the data before training, if that is known."""
    command: str | None = None
    """The command line that made the model, if one did."""
    asked: Settings | None = None
    """The settings that were asked for, before any were chosen, if that is known."""

    @classmethod
    def of(
        cls,
        trained: Recommender,
        test: Dataset | None,
        data: Report | None = None,
        command: str | None = None,
        asked: Settings | None = None,
    ) -> Subject:
        """Find what suits a model and held-out pairs."""
        on = None if test is None else judged_by(trained, test)
        wanted = () if on is None else suitable_metrics(trained.model.loss, on.y, positives=trained.positives)
        return cls(trained=trained, on=on, wanted=tuple(wanted), data=data, command=command, asked=asked)

    @functools.cached_property
    def known(self) -> Known:
        """The training pairs."""
        return Known.of(self.trained.seen, self.trained.weight)

    @functools.cached_property
    def popular(self) -> Biases:
        """Who ranks by popularity."""
        return baselines(self.trained.model.loss, self.known, ranks=True)["popularity"]

    @functools.cached_property
    def judged(self) -> dict[str, Judged]:
        """The model, and what anybody could predict, on the held-out pairs, by name."""
        if self.on is None:
            return {}
        others = baselines(self.trained.model.loss, self.known, ranks=self.wanted[0].ranks)
        return {MODEL: self.on, **{name: attrs.evolve(self.on, model=other) for name, other in others.items()}}

    @functools.cached_property
    def draws(self) -> dict[str, NDArray[np.float64]]:
        """The metrics of ``judged`` on draws of queries, the same for all: (draws, judged)."""
        return on_draws(list(self.judged.values()), self.wanted, RESAMPLES, 0)

    def estimates(self, metric: Metric) -> dict[str, Estimate]:
        """Return a metric of the model and of what anybody could predict, with intervals."""
        drawn = self.draws[metric.name]
        return {
            name: Estimate.of(float(metric.measure(on)), drawn[:, n], LEVEL)
            for n, (name, on) in enumerate(self.judged.items())
        }

    @functools.cached_property
    def best_baseline(self) -> str | None:
        """The best of what anybody could predict, by the deciding metric."""
        values = {name: found.value for name, found in self.estimates(self.wanted[0]).items() if name != MODEL}
        if not values:
            return None
        return (max if self.wanted[0].larger else min)(values, key=lambda name: values[name])

    def gain(self) -> Estimate | None:
        """Return how much better the model is than the best baseline by the deciding metric, as a difference."""
        if self.best_baseline is None:
            return None
        metric, names = self.wanted[0], list(self.judged)
        drawn = self.draws[metric.name]
        sign = 1 if metric.larger else -1
        found = self.estimates(metric)
        apart = sign * (drawn[:, 0] - drawn[:, names.index(self.best_baseline)])
        return Estimate.of(sign * (found[MODEL].value - found[self.best_baseline].value), apart, LEVEL)


__all__ = ["MODEL", "Subject"]
