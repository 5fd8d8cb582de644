"""Folds and repeated splits: how good a recipe is, whatever part of the data is held out."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr, stdtrit

from fmfkit.arguments import whole
from fmfkit.data.dataset import Dataset, Halves
from fmfkit.data.positives import recognise, usual_split
from fmfkit.data.splits import SPLITS, Split
from fmfkit.errors import DataError
from fmfkit.recommend.evaluation import metric_of
from fmfkit.recommend.recipe import Recipe
from fmfkit.recommend.resampling import LEVEL, Estimate
from fmfkit.training.checkpoint import checkpoint_of
from fmfkit.training.events import AnyCallback


@attrs.frozen(kw_only=True)
class Plan:
    """What is held out, one after another: two recipes that had the same plan can be compared."""

    split: Split
    folds: int
    repeats: int
    test: float | None
    seed: int
    pairs: int

    @property
    def ratio(self) -> float:
        """The number of pairs that are held out to that of the others."""
        share = 1 / self.folds if self.test is None else self.test
        return share / (1 - share)

    @property
    def parts(self) -> int:
        """How many parts are held out."""
        return self.repeats * (self.folds if self.test is None else 1)


@attrs.frozen(kw_only=True)
class Folds:
    """What ``cross_validate`` measured."""

    plan: Plan
    values: Mapping[str, tuple[float, ...]]
    """By metric, the value on each part that was held out."""

    def estimates(self, level: float = LEVEL) -> dict[str, Estimate]:
        """Return the means with intervals, by metric.

        Training parts overlap, so that their values are more alike than chance makes them: intervals are corrected for
        it (Nadeau and Bengio, 2003).
        """
        return {name: _mean(np.array(values), self.plan.ratio, level)[0] for name, values in self.values.items()}

    def against(self, other: Folds, level: float = LEVEL) -> dict[str, tuple[Estimate, float]]:
        """Return, by metric, by how much this is above another on the same folds, and the p value of a paired test."""
        if self.plan != other.plan:
            raise ValueError(f"against: expected the same folds of the same data, {self.plan}, got {other.plan}")
        both = [name for name in self.values if name in other.values]
        apart = {name: np.subtract(self.values[name], other.values[name]) for name in both}
        return {name: _mean(values, self.plan.ratio, level) for name, values in apart.items()}

    def to_json(self, level: float = LEVEL) -> dict[str, Any]:
        """Return what was held out, and of each metric the mean, its interval and all values."""
        found = {name: one.to_json() | {"values": self.values[name]} for name, one in self.estimates(level).items()}
        return attrs.asdict(self.plan) | {"metrics": found}

    def __str__(self) -> str:
        """Return it in a few lines."""
        return self.summary()

    def summary(self, level: float = LEVEL) -> str:
        """Return the means in a few lines, with intervals of another level."""
        lines = [f"{name} {found}" for name, found in self.estimates(level).items()]
        return "\n".join([f"{self.plan.parts} parts held out ({self.plan.split}):", *lines])


def _mean(values: NDArray[np.float64], ratio: float, level: float) -> tuple[Estimate, float]:
    """Return the mean with its interval, and how probable one so far from 0 is by chance."""
    freedom, mean = len(values) - 1, float(values.mean())
    error = math.sqrt((1 / len(values) + ratio) * float(values.var(ddof=1)))
    reach = float(stdtrit(freedom, (1 + level) / 2)) * error
    p = float(2 * stdtr(freedom, -abs(mean) / error)) if error else float(mean == 0)
    return Estimate(mean, mean - reach, mean + reach), p


def cross_validate(
    recipe: Recipe,
    data: Dataset,
    *,
    folds: int = 5,
    repeats: int = 1,
    test: float | None = None,
    seed: int = 0,
    progress: bool | None = False,
    callbacks: AnyCallback | Sequence[AnyCallback] = (),
    on_measured: Callable[[int, int, Mapping[str, float]], None] | None = None,
) -> Folds:
    """Run a recipe on several parts of the data, each time measuring it on the rest.

    Args:
        recipe: how a model is made; its ``split`` says how parts are held out, its ``metrics`` what is measured.
        data: all pairs.
        folds: how many parts the data is divided into; each of them is held out once.
        repeats: how often that is done, each time divided anew.
        test: instead of folds, the share that each of ``repeats`` splits holds out.
        seed: of the parts.
        progress: whether fits show it, as for ``Recipe.run``.
        callbacks: as for ``Recipe.run``, of all fits; a ``Checkpoint`` is refused, for it keeps the fits of one recipe.
        on_measured: called after each part with its number, from 1 on, how many there are, and what was measured.
    """
    if recipe.test:
        raise ValueError("cross_validate: the parts that are held out are chosen here; leave out the recipe's test")
    if checkpoint_of(callbacks) is not None:
        raise ValueError("callbacks: a Checkpoint keeps where one recipe stands, not several; leave it out")
    recipe.check()
    split = recipe.split or usual_split(data, positives=recognise(data, recipe.settings.data).positives)
    if split not in SPLITS:
        raise ValueError(f"split: expected one of {list(SPLITS)}, got {split!r}")
    if split in ("time", "last-per-query"):
        raise DataError(
            f"split: the latest pairs are always the same; hold them out once, by Recipe(split={split!r}, test=0.1) or "
            f"fmfkit fit --split {split} --test 0.1"
        )
    plan = Plan(
        split=split,
        folds=whole("folds", folds, least=2),
        repeats=whole("repeats", repeats, least=1),
        test=test,
        seed=seed,
        pairs=len(data),
    )
    if test is not None and plan.repeats < 2:
        raise ValueError(f"repeats: expected at least 2 where a share is held out by test, got {repeats}")
    wanted = [metric_of(metric) for metric in recipe.metrics] or None
    found: dict[str, list[float]] = {}
    for n, (train, held_out) in enumerate(_parts(data, plan), 1):
        options: Any = {"progress": progress, "callbacks": callbacks, "on_report": lambda report: None}
        measured = recipe.run(train, **options).recommender.evaluate(held_out, wanted)
        for name, value in measured.items():
            found.setdefault(name, []).append(value)
        if on_measured is not None:
            on_measured(n, plan.parts, measured)
    return Folds(plan=plan, values={name: tuple(values) for name, values in found.items()})


def _parts(data: Dataset, plan: Plan) -> Iterator[Halves]:
    """Return what to train on and what is held out, one after another."""
    for n in range(plan.repeats):
        if plan.test is not None:
            yield data.split(plan.split, plan.test, plan.seed + n)
            continue
        number = fold_numbers(data, plan.split, plan.folds, plan.seed + n)
        for fold in range(plan.folds):
            yield data.only(number != fold), data.only(number == fold)


def fold_numbers(data: Dataset, split: Split, folds: int, seed: int) -> NDArray[np.int64]:
    """Return which fold each pair is in."""
    rng = np.random.default_rng(seed)
    role = {"cold-query": "query", "cold-target": "target"}.get(split, "")
    divided = len(np.unique(getattr(data, role))) if role else len(data)
    if folds > divided:
        what = f"each {role} with pairs is" if role else "each pair is"
        raise DataError(f"folds: {what} in one fold, and there are {divided}: expected at most as many, got {folds}")
    if split == "random":
        number = rng.permutation(len(data)) % folds
    elif split == "per-query":  # in turn: a query's pairs are in all folds, or each in another
        order = np.lexsort((rng.random(len(data)), rng.permutation(data.shape[0])[data.query]))
        number = np.empty(len(data), np.int64)
        number[order] = np.arange(len(data)) % folds
    else:
        rows = getattr(data, role)
        met = np.unique(rows)
        of_row = np.zeros(rows.max() + 1, np.int64)
        of_row[met] = rng.permutation(len(met)) % folds
        number = of_row[rows]
    return number


__all__ = ["Folds", "cross_validate"]
