"""How accurate models are on real data, with features and without, after the same search for settings."""

from __future__ import annotations

import time
from collections.abc import Callable

import attrs
from fmfkit_bench.real import Real

from fmfkit import FMF, Dataset, Negatives

METRICS = {True: "precision@1", False: "rmse"}
"""By whether data has positives only."""


@attrs.frozen
class Outcome:
    """One model on one data set."""

    data: str
    features: bool
    metric: str
    validation: float
    test: float
    """The metric on the test part, for the settings that were best on the validation part, trained on both."""
    settings: FMF
    search_seconds: float
    train_seconds: float


def measure(
    real: Real, *, rank: int, trials: int, rounds: int, ratio: float, seed: int, threads: int | None,
    say: Callable[[str], None],
) -> list[Outcome]:  # fmt: skip
    """Search settings on a part of the training pairs, train on all of them, and look at the test part once."""
    front = FMF(rank=rank, rounds=rounds, seed=seed, threads=threads)
    if real.positives_only:
        front = attrs.evolve(
            front, loss="logistic", scale="uniform", l2=0.3, bias_l2=1.0, negatives=Negatives(ratio=ratio)
        )
    outcomes = []
    for features, train, test in ((False, real.plain_train, real.plain_test), (True, real.train, real.test)):
        outcomes.append(_one(real, front, features, train, test, trials, seed))
        say(
            f"{real.name}, {'with' if features else 'without'} features: {outcomes[-1].metric} "
            f"{outcomes[-1].test:.4f}, {outcomes[-1].settings}"
        )
    return outcomes


def _one(real: Real, front: FMF, features: bool, train: Dataset, test: Dataset, trials: int, seed: int) -> Outcome:
    metric = METRICS[real.positives_only]
    part, held_out = real.parts(train, seed)
    began = time.perf_counter()
    tuned = front.tune(part, trials=trials, validate=held_out, metric=metric, progress=False)
    searched = time.perf_counter()
    trained = tuned.best.fit(train, progress=False)
    done = time.perf_counter()
    return Outcome(
        data=real.name, features=features, metric=metric, validation=tuned.value,
        test=trained.evaluate(test, metric)[metric], settings=tuned.best, search_seconds=searched - began,
        train_seconds=done - searched,
    )  # fmt: skip


def table(outcomes: list[Outcome]) -> str:
    """Return the outcomes for people."""
    lines = [f"{'data':22}{'features':>9}  {'metric':12}{'validation':>11}{'test':>9}{'search s':>10}{'train s':>9}"]
    for one in outcomes:
        lines.append(
            f"{one.data:22}{'yes' if one.features else 'no':>9}  {one.metric:12}{one.validation:>11.4f}{one.test:>9.4f}"
            f"{one.search_seconds:>10.1f}{one.train_seconds:>9.2f}"
        )
    return "\n".join(lines)


__all__ = ["Outcome", "measure", "table"]
